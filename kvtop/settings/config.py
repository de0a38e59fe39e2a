"""The settings of this user, each with where its value came from: flag > environment > file > default."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtop.model.plan import DEFAULT_LENGTHS, Prefix
from kvtop.settings import keys
from kvtop.settings.paths import config_file, expand_home, runs_dir
from kvtop.settings.sources import Sources, sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunsSettings:
    """`[runs]`."""

    dir: Path
    """Folder that run folders are written to."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """`[sampling]`."""

    interval_s: float = 0.1
    """Time between two memory samples, in seconds (`interval` in the file: "100ms")."""


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """`[requests]`."""

    timeout_s: float = 300.0
    """Longest time that one request may take, in seconds (`timeout` in the file: "300s")."""
    max_tokens: int | None = None
    """Answer length in tokens, or None to leave it to the command."""
    temperature: float = 0.0
    """Sampling temperature sent with each request."""


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """`[scan]`."""

    lengths: tuple[int, ...] = DEFAULT_LENGTHS
    """Prompt lengths of a scan in tokens, ascending."""
    repeats: int = 3
    """How often each length is measured."""
    prefix: Prefix = "cold"
    """Whether prompts are new to the server (`cold`), sent before (`reused`) or both."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings."""

    profile: str | None
    """Name of the profile to use where none is named, or None."""
    runs: RunsSettings
    """Where results are kept."""
    sampling: SamplingSettings = SamplingSettings()
    """How memory is read."""
    requests: RequestSettings = RequestSettings()
    """What each request is sent with."""
    scan: ScanSettings = ScanSettings()
    """What a length scan measures."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value came from, by the key's name in the file, e.g. `scan.lengths`."""

    def origin_of(self, key: str) -> str:
        """Return `flag --interval`, `env KVTOP_…`, `file PATH:LINE` or `default`.

        Raises KeyError for a name that is no setting.
        """
        return self.origins[key]


def load_settings(environ: Mapping[str, str], flags: Mapping[str, object] | None = None) -> Settings:
    """Return the settings of this user.

    `flags` holds what the command line gave, by the key's name in the file (`sampling.interval`);
    None counts as not given, and so does an empty variable. Raises KvtopError `bad_toml`,
    `unknown_key` or `bad_value`, and KeyError for a flag that is no setting.
    """
    found = sources(environ, flags or {}, config_file(environ))
    folder = found.value(keys.RUNS_DIR, runs_dir(environ))
    return Settings(
        profile=found.value(keys.PROFILE, None),
        runs=RunsSettings(expand_home(str(folder), environ)),
        sampling=SamplingSettings(found.value(keys.INTERVAL, SamplingSettings().interval_s)),
        requests=_requests(found),
        scan=_scan(found),
        origins=found.origins,
    )


def _requests(found: Sources) -> RequestSettings:
    default = RequestSettings()
    return RequestSettings(
        timeout_s=found.value(keys.TIMEOUT, default.timeout_s),
        max_tokens=found.value(keys.MAX_TOKENS, default.max_tokens),
        temperature=found.value(keys.TEMPERATURE, default.temperature),
    )


def _scan(found: Sources) -> ScanSettings:
    default = ScanSettings()
    return ScanSettings(
        lengths=found.value(keys.LENGTHS, default.lengths),
        repeats=found.value(keys.REPEATS, default.repeats),
        prefix=found.value(keys.PREFIX, default.prefix),
    )
