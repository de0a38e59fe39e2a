"""`run.toml`: what a run was to do, against what, on which host, and how it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import tomli_w

from kvtop.model.endpoint import Endpoint
from kvtop.model.event import RunState
from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.disk import open_regular, replace_file
from kvtop.runs.foreign import clean_json, typed_fields
from kvtop.runs.layout import RunFolder

SCHEMA = 1

ENDPOINT_KEYS = ("base_url", "model", "dialect", "profile", "key_origin")
"""All that is kept of an endpoint; anything else, a key above all, is not written."""

_USER_INFO = re.compile(r"(?<=//)[^/?#]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of `run.toml`. Tables hold TOML values; None entries are left out when written."""

    schema: int = SCHEMA
    kind: str
    """`scan`, `check`, `concurrency`…"""
    state: RunState
    """As last written; `archive.effective_state` knows whether it is still true."""
    created_ts: float
    ended_ts: float | None = None
    path: Literal["local", "api"]
    plan: dict[str, Any] = field(default_factory=dict)
    endpoint: dict[str, Any] = field(default_factory=dict)
    """Keys of `ENDPOINT_KEYS`, see `endpoint_table`."""
    demo: str | None = None
    """The simulated engine, for a run against the simulator."""
    host: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)
    clock: dict[str, Any] = field(default_factory=dict)
    """`wall_ts` and `monotonic_s` taken at one moment, to line up both clocks."""
    context: dict[str, Any] = field(default_factory=dict)
    """What the runner keeps for a resume, e.g. the length model."""

    @property
    def model(self) -> str | None:
        """The model asked, where the endpoint tells."""
        model = self.endpoint.get("model")
        return model if isinstance(model, str) and model else None

    @property
    def profile(self) -> str | None:
        """The profile the endpoint came from, None for one given by flags."""
        profile = self.endpoint.get("profile")
        return profile if isinstance(profile, str) and profile else None


def endpoint_table(endpoint: Endpoint) -> dict[str, str]:
    """Return what a run folder keeps of `endpoint`: no key, and a URL without user, password or query."""
    return {
        "base_url": _bare_url(endpoint.base_url),
        "model": endpoint.model,
        "dialect": endpoint.dialect,
        "profile": endpoint.name,
        "key_origin": endpoint.key_origin,
    }


def write_manifest(folder: RunFolder, manifest: Manifest) -> None:
    """Replace `run.toml` atomically. Raises KvtopError: `disk_full`, `write_failed`."""
    table = {f.name: getattr(manifest, f.name) for f in fields(manifest)}
    endpoint = {key: manifest.endpoint[key] for key in ENDPOINT_KEYS if key in manifest.endpoint}
    if "base_url" in endpoint:
        endpoint["base_url"] = _bare_url(str(endpoint["base_url"]))
    text = tomli_w.dumps(_without_none({**table, "endpoint": endpoint}))
    replace_file(folder.run_toml, text.encode("utf-8", "replace"))


def read_manifest(folder: RunFolder) -> Manifest:
    """Return the manifest; unknown keys are ignored, strings are safe to show.

    Raises KvtopError: `newer_run` for a later schema, `unreadable_run` when missing, cut or invalid.
    """
    try:
        with open_regular(folder.run_toml) as file:
            table = clean_json(tomllib.load(file))
    except OSError as error:
        raise _unreadable(folder, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(folder, f"not valid TOML ({error})") from error
    _check_schema(folder, table.get("schema"))
    try:
        values, dropped = typed_fields(Manifest, table)
    except ValueError as error:
        raise _unreadable(folder, str(error)) from error
    if dropped:
        raise _unreadable(folder, f"`{dropped[0]}` has a wrong type")
    return Manifest(**values)


def _check_schema(folder: RunFolder, schema: object) -> None:
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise _unreadable(folder, "`schema` is missing")
    if schema > SCHEMA:
        text = f"Run {folder.id} was written by a newer kvtop (schema {schema}, this one reads {SCHEMA})."
        raise KvtopError(Failure.of("newer_run", text, "Upgrade kvtop to read it."))


def _unreadable(folder: RunFolder, reason: str) -> KvtopError:
    hint = "Its other files may still be readable; the run cannot be resumed."
    return KvtopError(Failure.of("unreadable_run", f"run.toml of {folder.id}: {reason}.", hint))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value if item is not None]
    return value


def _bare_url(url: str) -> str:
    return _USER_INFO.sub("", re.split(r"[?#]", url)[0])
