"""Counts requests without parsing every line of the log."""

from __future__ import annotations

import re

from kvtop.runs.foreign import parse_object

_OURS = re.compile(rb'\{"id":"([^"\\]*)",.*\}')
_FAILURE = b'"failure":'


def count_requests(data: bytes) -> tuple[int, int]:
    """Return (requests, failed) in the whole lines `data` of a `requests.jsonl`, unique by id, last one wins.

    A line as kvtop writes it is known by its beginning `{"id":"…",` and its closing brace; only lines
    that name a failure, or look different, are parsed.
    """
    failed: dict[str, bool] = {}
    for line in data.split(b"\n"):
        match = _OURS.fullmatch(line)
        if match and _FAILURE not in line:
            failed[match[1].decode(errors="replace")] = False
        elif line:
            _count_parsed(line, failed)
    return len(failed), sum(failed.values())


def _count_parsed(line: bytes, failed: dict[str, bool]) -> None:
    try:
        document = parse_object(line)
    except ValueError:
        return
    if isinstance(document.get("id"), str):
        failed[document["id"]] = isinstance(document.get("failure"), dict)
