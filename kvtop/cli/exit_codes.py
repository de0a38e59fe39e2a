"""What the exit code of a command means. A contract: scripts depend on it."""

from __future__ import annotations

DONE = 0
MEASURED_WITH_FAILURES = 1
WRONG_USE = 2
"""Wrong arguments, settings or files; nothing was sent."""
ENDPOINT_UNUSABLE = 3
"""The provider refused or could not be reached."""
INTERRUPTED = 130
"""Stopped by the user; what was measured is kept."""
