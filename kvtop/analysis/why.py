"""A verdict on memory in words: how it moved, and why it says no more than it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kvtop.analysis.plateau import Void
from kvtop.analysis.verdict import GOOD_R2, WOBBLE_BYTES, Kind, Verdict
from kvtop.model.quantity import format_bytes

_VOIDS: Mapping[Void, str] = {
    "no_times": "no request has a first and a last token",
    "few_samples": "fewer than three samples between first and last token",
    "others_moved": "other processes' GPU memory moved",
    "shadowed": "a longer request before kept its memory",
    "no_base": "no idle samples of this engine process before the request",
}
_KINDS: Mapping[Kind, str] = {
    "stayed": "taken at start: it did not move",
    "noisy": "the rise is lost in what the idle memory does",
    "drifts": "it grew from request to request of one length",
    "one_length": "it was read at one length only",
    "unclear": "it rose, but not with the tokens",
}


def reason_of(verdict: Verdict) -> str:
    """Return why memory says no more than it does; empty where it grew with the tokens and was read."""
    if verdict.kind == "unread":
        return _unread(verdict)
    if verdict.kind == "small":
        return f"it {moved_words(verdict)}, {why_not_kv(verdict)}"
    return _KINDS.get(verdict.kind, "")


def moved_words(verdict: Verdict) -> str:
    """Return how memory moved at the length that moved it most: `rose by 25.2 MiB (from … to …)`."""
    rise, base = verdict.rise_bytes or 0.0, verdict.watched.base_bytes or 0.0
    verb = "rose" if rise >= 0 else "fell"
    return f"{verb} by {format_bytes(abs(rise))} (from {format_bytes(base)} to {format_bytes(base + rise)})"


def why_not_kv(verdict: Verdict) -> str:
    """Return why a small rise is not taken for the KV cache."""
    fit = verdict.fit
    if fit is not None and fit.lengths > 2 and not (fit.rises and (fit.r2 or 0.0) >= GOOD_R2):
        return "which does not follow the tokens"
    return f"less than the {format_bytes(WOBBLE_BYTES)} that caches and newly touched pages may take"


def _unread(verdict: Verdict) -> str:
    voids = Counter(plateau.void for plateau in verdict.watched.plateaus if plateau.void)
    return _VOIDS[voids.most_common(1)[0][0]] if voids else "no request with known tokens was measured"
