"""Talking to an endpoint: URLs, streaming, usage, failures, prompts of a wanted length."""
