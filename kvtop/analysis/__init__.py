"""Pure functions: tables of a run in, points and findings out."""
