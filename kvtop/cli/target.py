"""From arguments, settings and profiles to the endpoint that is measured and what can be seen of it here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from kvtop.cli.doubts import warn_of_flags, warn_of_profile
from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.loopback import is_local, is_loopback
from kvtop.model.plan import RunPath
from kvtop.providers.endpoint import endpoint_from_flags, endpoint_of
from kvtop.providers.store import load_profile
from kvtop.settings.config import Settings
from kvtop.telemetry.processes import find_listener

_NO_TARGET = Failure(
    "no_profile",
    "No endpoint: neither --profile nor --base-url is given, and config.toml names no default profile.",
    "Try --base-url http://127.0.0.1:8000, a profile (docs/profiles.md), or --demo.",
)


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint, whether its engine runs on this host, and the engine's process if known."""

    endpoint: Endpoint
    path: RunPath
    engine_pid: int | None
    engine_found: str = ""
    """How that process became known, in words."""


def choose_target(options: argparse.Namespace, settings: Settings, environ: Mapping[str, str]) -> Target:
    """Return what the options name. Raises KvtopError for a missing, unknown or contradicting choice."""
    if options.base_url and options.profile:
        text = "--profile and --base-url contradict each other."
        raise KvtopError(Failure("contradiction", text, "Give one of them."))
    if options.base_url:
        endpoint = endpoint_from_flags(
            options.base_url, options.model, options.key_env, options.dialect, environ
        )
        warn_of_flags(endpoint)
    else:
        endpoint = _from_profile(options, settings, environ)
    return target_of(endpoint, options.pid)


def target_of(endpoint: Endpoint, pid: int | None) -> Target:
    """Return how `endpoint` is seen from here: its memory is read where its engine runs on this host."""
    found = "given by --pid" if pid else "named by the profile" if endpoint.engine.pid else ""
    pid = pid or endpoint.engine.pid
    local = is_local(endpoint.base_url, pid=pid, metrics_url=endpoint.engine.metrics_url)
    if pid is None and is_loopback(endpoint.base_url):
        port = urlsplit(endpoint.base_url).port
        pid = find_listener(port) if port else None
        found = f"found by port {port}" if pid else ""
    return Target(endpoint, "local" if local else "api", pid, found)


def _from_profile(options: argparse.Namespace, settings: Settings, environ: Mapping[str, str]) -> Endpoint:
    name = options.profile or settings.profile
    if not name:
        raise KvtopError(_NO_TARGET)
    if options.key_env:
        text = "--key-env goes with --base-url; a profile names its own key."
        raise KvtopError(Failure("contradiction", text, "Leave it out or give --base-url and --model."))
    profile = load_profile(name, environ)
    endpoint = endpoint_of(profile, environ, dialect=options.dialect)
    warn_of_profile(profile, environ)
    return replace(endpoint, model=options.model) if options.model else endpoint
