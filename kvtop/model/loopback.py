"""Whether an endpoint runs on this host, as far as its address tells."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether `url` names this host by a loopback (or unspecified) address or as `localhost`."""
    host = (_host(url) or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or address.is_unspecified or bool(mapped and mapped.is_loopback)


def is_local(base_url: str, *, pid: int | None, metrics_url: str | None) -> bool:
    """Whether memory can tell what a request costs: the engine is on this host or shows its counters."""
    return pid is not None or metrics_url is not None or is_loopback(base_url)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
