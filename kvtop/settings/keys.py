"""Every setting: its name in config.toml, its flag, its environment variable, how its value is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kvtop.settings import values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kvtop.model.plan import Prefix

T = TypeVar("T")

PREFIXES = ("cold", "reused", "both")


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """One setting."""

    name: str
    """Its place in config.toml, e.g. `sampling.interval`."""
    flag: str
    """The flag that overrides it."""
    read: Callable[[object], T]
    """Turns what a person gave into the value; raises ValueError with the rest of a sentence."""

    @property
    def variable(self) -> str:
        """The environment variable that overrides the file, e.g. `KVTOP_SAMPLING_INTERVAL`."""
        return f"KVTOP_{self.name.upper().replace('.', '_')}"

    @property
    def path(self) -> tuple[str, ...]:
        """The name in parts."""
        return tuple(self.name.split("."))


PROFILE: Key[str | None] = Key("profile", "--profile", values.as_name)
RUNS_DIR: Key[Path] = Key("runs.dir", "--runs-dir", values.as_folder)
INTERVAL: Key[float] = Key("sampling.interval", "--interval", values.as_duration)
TIMEOUT: Key[float] = Key("requests.timeout", "--timeout", values.as_duration)
MAX_TOKENS: Key[int | None] = Key("requests.max_tokens", "--max-tokens", values.as_count)
TEMPERATURE: Key[float] = Key("requests.temperature", "--temperature", values.as_number)
LENGTHS: Key[tuple[int, ...]] = Key("scan.lengths", "--lengths", values.as_lengths)
REPEATS: Key[int] = Key("scan.repeats", "--repeats", values.as_count)
PREFIX: Key[Prefix] = Key("scan.prefix", "--prefix", values.as_choice(PREFIXES))
THEME: Key[str | None] = Key("ui.theme", "--theme", values.as_name)
ASCII: Key[bool] = Key("ui.ascii", "--ascii", values.as_switch)
MOUSE: Key[bool] = Key("ui.mouse", "--no-mouse", values.as_switch)
MAX_FPS: Key[int] = Key("ui.max_fps", "--max-fps", values.as_rate)

KEYS: tuple[Key[Any], ...] = (
    PROFILE,
    RUNS_DIR,
    INTERVAL,
    TIMEOUT,
    MAX_TOKENS,
    TEMPERATURE,
    LENGTHS,
    REPEATS,
    PREFIX,
    THEME,
    ASCII,
    MOUSE,
    MAX_FPS,
)
