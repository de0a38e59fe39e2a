"""Events of a run as lines for people."""

from __future__ import annotations

from typing import Any

from kvtop.model.event import Event
from kvtop.model.quantity import UNKNOWN, format_seconds, format_tokens

HEADER = "   length  prefix    #   prompt   cached     TTFT     decode   latency"


def narrate(event: Event) -> str | None:
    """Return the line that tells `event`, or None for one that needs no words."""
    tell = _TELLERS.get(event.type)
    return tell(event.data) if tell else None


def _started(data: Any) -> str:
    mark = "  SIMULATED" if data.get("simulated") else ""
    return f"run {data.get('run')}  {data.get('model')}  {data.get('cells')} cells{mark}\n{HEADER}"


def _request(data: Any) -> str:
    failure = data.get("failure")
    head = f"{_length(data):>9}  {data.get('tag', ''):<9}"
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


def _note(data: Any) -> str | None:
    return None if data.get("code") == "base" else f"  note: {data.get('text')}"


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


_TELLERS = {"started": _started, "request": _request, "note": _note, "finished": _finished}
