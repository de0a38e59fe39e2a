"""The cockpit and the dialogs above it."""
