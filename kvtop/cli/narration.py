"""Events of a run as lines for people."""

from __future__ import annotations

from typing import Any

from kvtop.cli.wrapping import wrapped
from kvtop.model.event import Event
from kvtop.model.quantity import UNKNOWN, format_seconds, format_tokens
from kvtop.runner.watching import ENGINE_NOTE, MEMORY_NOTE

HEADER = "   length  prefix    #   prompt   cached     TTFT     decode   latency"

_PLAIN_NOTES = (ENGINE_NOTE, MEMORY_NOTE)
_WARNINGS = ("model_not_listed",)


class Narrator:
    """Tells events one by one. Notes are wrapped at `width` columns; None keeps each on one line."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width
        self._header_due = False
        self._tellers = {
            "started": self._started,
            "request": self._request,
            "note": self._note,
            "finished": _finished,
        }

    def tell(self, event: Event) -> str | None:
        """Return the line or lines that tell `event`, or None for one that needs no words."""
        teller = self._tellers.get(event.type)
        return teller(event.data) if teller else None

    def _started(self, data: Any) -> str:
        self._header_due = True
        mark = "  SIMULATED" if data.get("simulated") else ""
        cells = data.get("cells")
        return (
            f"run {data.get('run')}  {data.get('model')}  {cells} {'cell' if cells == 1 else 'cells'}{mark}"
        )

    def _request(self, data: Any) -> str:
        """The table's header comes with its first row, so that notes before it do not part them."""
        row = _row(data)
        header = f"{HEADER}\n" if self._header_due else ""
        self._header_due = False
        return header + row

    def _note(self, data: Any) -> str | None:
        code, text = data.get("code"), str(data.get("text"))
        if code == "base":
            return None
        if code in _PLAIN_NOTES:
            return self._paragraph(text, "  ")
        return self._paragraph(text, "  warning: " if code in _WARNINGS else "  note: ")

    def _paragraph(self, text: str, first: str) -> str:
        return "\n".join(wrapped(text, self._width, first=first, rest="    "))


def _row(data: Any) -> str:
    failure = data.get("failure")
    head = f"{_length(data):>9}  {data.get('tag', '')!s:<9}"
    if isinstance(failure, dict):
        return f"{head}  {failure.get('code')}: {failure.get('text')}"
    repeat = str(data.get("cell", "")).rpartition("/")[2] if data.get("target_tokens") else ""
    decode = _number(data.get("decode_tok_s"))
    speed = f"{decode:,.0f} tok/s" if decode is not None else UNKNOWN
    ttft, latency = (format_seconds(_number(data.get(name))) for name in ("ttft_s", "latency_s"))
    return (
        f"{head}{repeat:>2}  {_count(data.get('prompt_tokens')):>7}  {_count(data.get('cached_tokens')):>7}  "
        f"{ttft:>8}  {speed:>9}  {latency:>8}"
    )


def _finished(data: Any) -> str:
    text = data.get("text")
    return f"run {data.get('state')}" + (f": {text}" if text else "")


def _length(data: Any) -> str:
    target = _number(data.get("target_tokens"))
    return format_tokens(target) if target else ""


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else UNKNOWN
