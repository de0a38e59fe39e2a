"""What the notes of a record mean."""

from __future__ import annotations

from collections.abc import Mapping

_MEANINGS: Mapping[str, str] = {
    "include_usage_refused": "The server refused to send usage with a stream; it was asked again without.",
    "retried_stale_connection": "The server had closed the kept connection; sent again on a new one.",
    "not_streamed": "The answer came in one piece, so there is no time of a first token.",
    "no_done_mark": "The stream ended without its end mark.",
    "no_finish_reason": "The server gave no reason for the end of the answer.",
    "no_text": "The answer held no text.",
    "closed_early": "The server closed the connection before the end of the stream.",
    "left_open": "The server left the connection open after the end of the answer.",
    "cached_exceeds_prompt": "More cached tokens were reported than the prompt has.",
    "hit_miss_mismatch": "Cache hits and misses do not add up to the prompt.",
    "zero_is_ambiguous": "A reported 0 of this server can also mean that it does not count.",
    "reasoning_added": "Reasoning was reported apart and is added to the output.",
    "total_exceeds_sum": "The reported total is more than prompt and output together.",
    "prompt_reported_zero": "The server reported a prompt of 0 tokens; taken as not reported.",
}


def meaning_of(note: str) -> str:
    """Return a note in words, nothing where it is not known."""
    return _MEANINGS.get(note, "")
