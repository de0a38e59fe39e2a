"""The times of one request on a line: connect, first token, last token, end."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtop.model.record import RequestRecord
    from kvtop.ui.drawing.glyphs import Glyphs


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of time, in seconds from the sending of the request."""

    name: str
    glyph: Glyph
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it took."""
        return self.end_s - self.start_s


def phases_of(record: RequestRecord) -> tuple[Phase, ...]:
    """Return the phases between the instants that are known, in their order."""
    return tuple(phase for phase in _phases(record) if isfinite(phase.length_s) and phase.length_s >= 0)


def draw_timeline(record: RequestRecord, width: int, glyphs: Glyphs) -> tuple[str, ...]:
    """Return a bar of `width` characters and a line for each of its parts; nothing without any time."""
    phases = phases_of(record)
    if not phases:
        return ()
    widths = _shares([phase.length_s for phase in phases], width)
    bar = "".join(glyphs[phase.glyph] * share for phase, share in zip(phases, widths, strict=True))
    arrow = glyphs[Glyph.HINT]
    return (
        bar,
        *(
            f"{glyphs[phase.glyph] * 2} {phase.name:<26}{exact_seconds(phase.length_s):>11}   "
            f"{exact_seconds(phase.start_s)} {arrow} {exact_seconds(phase.end_s)}"
            for phase in phases
        ),
    )


def exact_seconds(seconds: float) -> str:
    """Return a duration to the tenth of a millisecond below a second, else to the millisecond."""
    return f"{seconds * 1000:,.1f} ms" if abs(seconds) < 1 else f"{seconds:,.3f} s"


def _phases(record: RequestRecord) -> Iterator[Phase]:
    end_s = _end_s(record)
    first_s, last_s = record.ttft_s, record.last_token_s
    if record.connect_s is not None:
        yield Phase("connect", Glyph.BAND, -record.connect_s, 0.0)
    if first_s is None:
        if end_s is not None:
            yield Phase("wait, no token came", Glyph.BAR_EMPTY, 0.0, end_s)
        return
    yield Phase("wait for the first token", Glyph.BAR_EMPTY, 0.0, first_s)
    reached_s = first_s
    if last_s is not None:
        yield Phase("first to last token", Glyph.BAR_FULL, first_s, last_s)
        reached_s = last_s
    if end_s is not None:
        yield Phase("to the end", Glyph.BAR_UNKNOWN, reached_s, max(end_s, reached_s))


def _end_s(record: RequestRecord) -> float | None:
    if record.latency_s is not None:
        return record.latency_s
    return record.end_ts - record.ts if record.end_ts > record.ts else None


def _shares(lengths: list[float], width: int) -> list[int]:
    """Cut `width` characters by length, with one at least for each that has any."""
    total = sum(lengths)
    if total <= 0:
        return [0] * len(lengths)
    shares = [max(round(width * length / total), 1 if length else 0) for length in lengths]
    shares[shares.index(max(shares))] -= sum(shares) - width
    return shares
