"""Carries out one experiment and writes its run folder."""
