"""Whether text may hold more than ASCII: one rule for the app and the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_COERCED = "C.UTF-8"


def speaks_utf8(environ: Mapping[str, str]) -> bool:
    """Return whether the locale is a UTF-8 one: the first of LC_ALL, LC_CTYPE and LANG that is set decides.

    Python sets LC_CTYPE where LANG is `C` (PEP 538), so there LANG decides. With none set Unicode is
    assumed, as in most containers it is the terminal outside that counts.
    """
    lang = environ.get("LANG", "")
    named = environ.get("LC_ALL") or environ.get("LC_CTYPE") or lang
    if not environ.get("LC_ALL") and named == _COERCED and lang in ("C", "POSIX"):
        named = lang
    return not named or "utf8" in named.lower().replace("-", "")
