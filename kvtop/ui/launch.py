"""What happens before Textual is loaded and after it has ended: refusals, its environment, the last words."""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure
from kvtop.ui.terminal_kind import FEW_COLORS, color_system, speaks_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from typing import TextIO

    from kvtop.settings.config import Settings
    from kvtop.telemetry.gpu.source import GpuSource


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything that the app is started with."""

    settings: Settings
    open_source: Callable[[], GpuSource]
    """Opens the source of GPU readings; may take long, so it is called in a thread."""
    engine_url: Callable[[], str | None] | None = None
    """Tells the engine's address where no profile does, e.g. the simulator's; may take long, as above."""
    demo: str | None = None
    """Kind of the simulated engine, or None."""
    notices: tuple[Failure, ...] = ()
    """What went wrong before the app could say so."""
    color: str = "auto"
    """`auto`, `truecolor`, `256`, `16` or `none`."""
    legacy_keys: bool = False
    """Whether the kitty keyboard protocol is left alone."""
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


@dataclass(frozen=True, slots=True)
class Ended:
    """How the app ended."""

    exit_code: int
    last_words: tuple[str, ...] = ()
    """What ran, where its data is and how to attach again, line by line."""


def refusal(environ: Mapping[str, str], stdin: TextIO | None, stderr: TextIO | None) -> Failure | None:
    """Return why the app cannot be drawn here, or None. It is drawn on `stderr` and reads keys on `stdin`."""
    if not _is_tty(stdin):
        text = "The app reads keys, but standard input is not a terminal."
        return Failure("no_terminal", text, "Start kvtop without `<` or a pipe, or use `kvtop status`.")
    if not _is_tty(stderr):
        text = "The app draws on standard error, which is redirected."
        return Failure("no_terminal", text, "Start kvtop without `2>`, or use `kvtop status`.")
    if environ.get("TERM", "") in ("", "dumb", "unknown"):
        text = f"A terminal of the kind TERM={environ.get('TERM', '') or '(unset)'} cannot show the app."
        return Failure.of("dumb_terminal", text, "Use `kvtop status`, or set TERM to what the terminal is.")
    return None


def prepare_environment(launch: Launch, environ: MutableMapping[str, str]) -> None:
    """Set the variables that Textual reads once, when it is imported."""
    if not environ.get("NO_COLOR"):
        environ.pop("NO_COLOR", None)  # Textual takes an empty one for a set one
    if launch.color == "none":
        environ["NO_COLOR"] = "1"
    environ["TEXTUAL_COLOR_SYSTEM"] = color_system(launch.color, environ)
    environ["TEXTUAL_FPS"] = str(launch.settings.ui.max_fps)
    environ["TEXTUAL_ANIMATIONS"] = "none"
    environ["TEXTUAL_SMOOTH_SCROLL"] = "0"
    environ["TEXTUAL_THEME"] = "textual-dark"  # ours are registered when the app exists
    environ.pop("TEXTUAL", None)
    if launch.legacy_keys:
        environ["TEXTUAL_DISABLE_KITTY_KEY"] = "1"


def wants_ascii(settings: Settings, environ: Mapping[str, str]) -> bool:
    """Return whether only ASCII may be drawn: as the user says, else as the locale does."""
    if settings.origins.get("ui.ascii", "default") != "default":
        return settings.ui.ascii
    return settings.ui.ascii or not speaks_utf8(environ)


def has_few_colors(environ: Mapping[str, str]) -> bool:
    """Return whether a theme of the terminal's own colours suits best. For a prepared environment."""
    return bool(environ.get("NO_COLOR")) or environ.get("TEXTUAL_COLOR_SYSTEM") == FEW_COLORS


def run_app(launch: Launch) -> Ended:
    """Prepare the environment of this process, run the app, and return how it ended."""
    prepare_environment(launch, os.environ)
    gc.disable()  # modules and the first screen are all kept; looking through them costs a tenth of the start
    from kvtop.ui.app import KvtopApp

    app = KvtopApp(launch)
    app.run(mouse=launch.settings.ui.mouse)
    gc.freeze()  # the process ends: nothing needs to be taken apart, and that would take longer than quitting
    return Ended(app.return_code or 0, app.session.last_words())


def _is_tty(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (ValueError, OSError):
        return False
