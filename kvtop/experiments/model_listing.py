"""A model id that the server does not list: it may refuse, or answer with another model."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_NAMED = 4


def unlisted_text(asked: str, listed: Sequence[str]) -> str | None:
    """Return what to say where `asked` is not among the ids that the server lists, None where it is.

    None as well for an empty list, which says nothing.
    """
    if not listed or asked in listed:
        return None
    more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    known = ", ".join(listed[:_MOST_NAMED]) + more
    return f"{asked} is not among the server's models ({known}); some servers answer all the same."
