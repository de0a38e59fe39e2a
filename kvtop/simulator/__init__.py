"""The embedded engine and GPU behind --demo, a process of its own; SIMULATED everywhere."""
