"""Profiles of providers and the endpoints they describe."""
