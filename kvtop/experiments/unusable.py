"""Failures that no further request will change."""

from __future__ import annotations

UNUSABLE = frozenset(
    {"auth", "quota", "refused", "dns", "tls", "unreachable", "proxy", "bad_url", "redirected"}
)
"""The endpoint, the way to it or the key is wrong: trying other prompts does not help."""

NOT_SENT = frozenset({"refused", "dns", "tls", "unreachable", "proxy", "bad_url"})
"""No connection came about, so no token was spent."""
