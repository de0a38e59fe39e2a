"""What is copied of a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtop.model.record import RequestRecord


def record_text(record: RequestRecord) -> str:
    """Return a record as JSON over several lines, in ASCII: a clipboard is pasted into terminals."""
    text = json.dumps(record.to_json(), indent=2, default=_plain)
    return text.replace("\x7f", "\\u007f")


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
