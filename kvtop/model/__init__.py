"""Frozen types that every layer shares, and the cleaning of foreign text."""
