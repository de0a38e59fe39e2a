"""The commands: arguments in, text or JSON out, exit code."""
