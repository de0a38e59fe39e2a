"""Cleaning of text that comes from outside: servers, files, drivers, command lines.

Every such string passes `clean_text` once, where it enters a model type. What is left
holds no control character, no terminal escape, no bidirectional override, and is bounded.
"""

from __future__ import annotations

import re
import unicodedata

DEFAULT_LIMIT = 400
"""Characters kept of a foreign text unless the caller asks for more."""

ELLIPSIS = "…"

# CSI, OSC and the other string-carrying sequences go with their payload: what is left of
# "\x1b]0;owned\x07" must not be "]0;owned".
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|[\x9d\x90\x98\x9e\x9f][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_SPACES = re.compile(r"\s+")
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_JOINERS = frozenset({"\u200d", "\u200c"})


def clean_text(text: object, limit: int = DEFAULT_LIMIT) -> str:
    """Return `text` as one safe line of at most `limit` characters.

    Escape sequences are removed whole, control, format (bidi), surrogate, private and
    unassigned characters dropped, white space runs become one space.
    """
    raw = text if isinstance(text, str) else str(text)
    without_escapes = _ESCAPES.sub("", raw[: limit * 16])
    one_line = _SPACES.sub(" ", without_escapes)
    kept = "".join(c for c in one_line if _is_shown(c)).strip()
    if len(kept) <= limit:
        return kept
    return kept[: limit - 1] + ELLIPSIS


def _is_shown(character: str) -> bool:
    if character in _JOINERS:
        return True
    return unicodedata.category(character) not in _DROPPED_CATEGORIES
