"""Readings of this host: GPUs and process memory, and the clock that takes them."""
