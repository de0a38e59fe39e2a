"""Widgets: plain values in, intents out as messages."""
