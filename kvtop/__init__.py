"""kvtop: what a token of context costs, in memory on a GPU host and on the bill."""

__version__ = "0.1.0"
