"""The archive: run folders, written by the runner and read by everything else."""
