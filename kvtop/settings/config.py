"""The settings of this user, each with where its value came from: flag > environment > file > default."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtop.model.plan import DEFAULT_LENGTHS, Prefix
from kvtop.settings import keys
from kvtop.settings.key_map import read_key_map
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
class UiSettings:
    """`[ui]`."""

    theme: str | None = None
    """Name of the theme, or None to choose one that suits the terminal."""
    ascii: bool = False
    """Whether the app draws with ASCII characters only."""
    mouse: bool = True
    """Whether the app asks the terminal for mouse events."""
    max_fps: int = 20
    """Most screen updates per second, 1 to 60."""


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
    ui: UiSettings = UiSettings()
    """How the app looks and behaves."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """`[keys]`: keys of the app's actions by action id, each one or more with commas between."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value came from, by the key's name in the file, e.g. `scan.lengths` or `keys.quit`."""

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
    return _settings(sources(environ, flags or {}, config_file(environ)))


def settings_without_file(environ: Mapping[str, str], flags: Mapping[str, object] | None = None) -> Settings:
    """Return what flags, environment and defaults give, for an app that starts beside a broken file.

    Raises KvtopError `bad_value` for a flag or variable.
    """
    return _settings(Sources(flags or {}, environ, None))


def _settings(found: Sources) -> Settings:
    environ = found.environ
    folder = found.value(keys.RUNS_DIR, runs_dir(environ))
    key_map = read_key_map(found.file)
    return Settings(
        profile=found.value(keys.PROFILE, None),
        runs=RunsSettings(expand_home(str(folder), environ)),
        sampling=SamplingSettings(found.value(keys.INTERVAL, SamplingSettings().interval_s)),
        requests=_requests(found),
        scan=_scan(found),
        ui=_ui(found),
        keys=key_map.keys,
        origins={**found.origins, **key_map.origins},
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


def _ui(found: Sources) -> UiSettings:
    default = UiSettings()
    return UiSettings(
        theme=found.value(keys.THEME, default.theme),
        ascii=found.value(keys.ASCII, default.ascii),
        mouse=found.value(keys.MOUSE, default.mouse),
        max_fps=found.value(keys.MAX_FPS, default.max_fps),
    )
