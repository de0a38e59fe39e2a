"""Requests as rows: where they come from, which are shown, what their cells say. Nothing here draws."""
