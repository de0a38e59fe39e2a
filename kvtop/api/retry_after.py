"""How long a server asks to wait."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def retry_after_s(headers: Mapping[str, str], now_ts: float | None = None) -> float | None:
    """Return the seconds to wait that `headers` ask for, None where they do not say.

    `retry-after-ms` goes before `retry-after`, which holds seconds or an HTTP date; a date in the past
    is 0. `headers` must ignore case or be in lower case. `now_ts` is Unix time, for a date.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after")
    seconds = _seconds(told)
    return seconds if seconds is not None else _until(told, time.time() if now_ts is None else now_ts)


def _seconds(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _until(text: str | None, now_ts: float) -> float | None:
    try:
        return max(parsedate_to_datetime(text or "").timestamp() - now_ts, 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
