"""Requests for the tests of the log, and an app with nothing but a log in it."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from textual._compositor import CompositorUpdate
from textual.app import App

from kvtop.model.failure import Failure
from kvtop.model.record import RequestRecord
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.theme_files import load_themes
from kvtop.ui.widgets.request_log import RequestLog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.pilot import Pilot
    from textual.screen import Screen

    from kvtop.model.endpoint import Price

HOSTILE = (
    "\x1b]0;owned\x07",
    "\x1b]52;c;ZXZpbA==\x1b\\",
    "\x1b[2J\x1b[H",
    "\x1b[31mred",
    "\x9b2J\x9d0;owned\x9c",
    "a\x00b\x07\x08\x7f",
    "[/]",
    "[/data/models] [bold]x[/bold] [@click=app.bell]y[/]",
    "[$error]z [link=http://x/]",
    "safe\u202egnp.exe \u2066iso\u2069",
    "多字节模型名称" * 20,
    "e" + "\u0301" * 400,
    "👩\u200d💻👍🏽🇩🇪" * 30,
    "line\r\nfeed\u2028para\ttab lone\ud800" + "x" * 5000,
)


def sample(number: int, **changes: Any) -> RequestRecord:
    values: dict[str, Any] = {
        "id": f"{number:05}",
        "cell": f"4096/{('cold', 'reused')[number % 2]}/{number}",
        "tag": ("cold", "reused")[number % 2],
        "ts": 1764600000.0 + number,
        "end_ts": 1764600003.0 + number,
        "dialect": "openai-chat",
        "model": "qwen3-8b",
        "target_tokens": 4096,
        "prompt_tokens": 4000 + number,
        "cached_tokens": 1024,
        "completion_tokens": 64,
        "usage_source": "usage",
        "ttft_s": 0.5 + number,
        "last_token_s": 2.5 + number,
        "latency_s": 2.75 + number,
        "decode_tok_s": 31.5,
        "status": 200,
        "usage_raw": {"prompt_tokens": 4000 + number, "completion_tokens": 64},
    }
    return RequestRecord(**{**values, **changes})


def samples(count: int, start: int = 0) -> tuple[RequestRecord, ...]:
    return tuple(sample(number) for number in range(start, start + count))


def failed(number: int, **changes: Any) -> RequestRecord:
    values: dict[str, Any] = dict.fromkeys(
        ("prompt_tokens", "cached_tokens", "completion_tokens", "ttft_s", "last_token_s", "latency_s")
    )
    values["failure"] = Failure.of("rate_limit", "Too many requests.", "Wait a minute.", status=429)
    return sample(number, decode_tok_s=None, status=429, **{**values, **changes})


def running(number: int) -> RequestRecord:
    ts = 1764600000.0 + number
    return RequestRecord(
        f"{number:05}", "4096/cold/1", "cold", ts, ts, "openai-chat", "m", target_tokens=4096
    )


def write_log(path: Path, records: Iterable[RequestRecord], *, end: str = "\n") -> None:
    text = "\n".join(json.dumps(record.to_json(), separators=(",", ":")) for record in records)
    path.write_text(text + end if text else "")


class LogApp(App[None]):
    """A log alone. Keeps what it asked to be shown and what it would have written to a terminal."""

    def __init__(self, price: Price | None = None, *, ascii_only: bool = False) -> None:
        super().__init__()
        theme, _ = load_themes({}).choose(None)
        self.register_theme(theme)
        self.theme = theme.name
        self.requests = RequestLog(Glyphs(ascii_only), price)
        self.chosen: list[RequestRecord] = []
        self.written: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.requests

    def on_mount(self) -> None:
        self.requests.focus()

    def on_request_log_chosen(self, event: RequestLog.Chosen) -> None:
        self.chosen.append(event.record)

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate):
            self.written.append(renderable.render_segments(Console(color_system="256")))
        super()._display(screen, renderable)

    @property
    def lines(self) -> list[str]:
        return shown_lines(self)

    async def settle(self, pilot: Pilot[None]) -> None:
        """Wait until threads have ended and what they told is drawn."""
        await pilot.pause()
        await self.workers.wait_for_complete()
        await pilot.pause()
        await pilot.pause()


def shown_lines(app: App[Any]) -> list[str]:
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


def unsafe_in(text: str) -> list[str]:
    return [hex(ord(c)) for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
