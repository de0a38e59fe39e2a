"""Recognising a server that does not know `stream_options`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtop.api.attempt import Attempt

_SWITCH = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_UNKNOWN_FIELD = re.compile(
    r"unknown (?:field|parameter|argument|name)|unrecogni[sz]ed|unexpected (?:field|keyword|property)"
    r"|extra (?:fields|inputs)|additional properties|not permitted",
    re.IGNORECASE,
)


def refuses_usage(attempt: Attempt, extra_body: Mapping[str, Any]) -> bool:
    """Whether the server refused the request for its `stream_options`, or for some field it does not name.

    False where the user set `stream_options`, or where the server names a field of `extra_body`.
    """
    failure = attempt.failure
    if failure is None or failure.code != "bad_request" or attempt.status not in (400, 422):
        return False
    if "stream_options" in extra_body:
        return False
    if _SWITCH.search(failure.text):
        return True
    return bool(_UNKNOWN_FIELD.search(failure.text)) and not any(name in failure.text for name in extra_body)
