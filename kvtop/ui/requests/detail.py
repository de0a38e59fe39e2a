"""All that is kept of one request, in groups, each value with where it comes from."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.quantity import UNKNOWN
from kvtop.model.text import clean_text
from kvtop.ui.line_filter import printable
from kvtop.ui.requests.cells import shown_cost
from kvtop.ui.requests.notes import meaning_of
from kvtop.ui.requests.timeline import exact_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvtop.model.endpoint import Price
    from kvtop.model.failure import Failure
    from kvtop.model.record import RequestRecord
    from kvtop.ui.drawing.glyphs import Glyphs

TEXT_LIMIT = 4096
JSON_LIMIT = 20_000
"""Characters shown of one JSON object; all of it can be copied."""

_CLIENT = "client clock"
_NO_PRICE = "no price"


@dataclass(frozen=True, slots=True)
class Field:
    """One value with its name and its origin."""

    name: str
    value: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together, or a block of text."""

    title: str
    fields: tuple[Field, ...] = ()
    block: str = ""
    """Lines as they are, made safe to show."""


def groups_of(record: RequestRecord, glyphs: Glyphs, price: Price | None = None) -> tuple[Group, ...]:
    """Return everything there is to show of a request. The failure comes first where there is one."""
    groups = (
        Group("Failure", tuple(_failure(record.failure)) if record.failure else ()),
        Group("Tokens", tuple(_told(_tokens(record, glyphs, price), "not reported"))),
        Group("Times", tuple(_told(_times(record), "not measured"))),
        Group("Request", tuple(_request(record))),
        Group("Notes", tuple(Field(clean_text(note), meaning_of(note)) for note in record.notes)),
        Group("Usage as the server sent it", block=json_block(record.usage_raw)),
        Group("Headers", tuple(_headers(record.headers))),
        Group("Body as sent", block=json_block(record.body)),
        Group("Answer", block=_text_block(record.answer_text)),
    )
    return tuple(group for group in groups if group.fields or group.block)


def json_block(value: Mapping[str, object]) -> str:
    """Return a JSON object over several lines, without anything a terminal acts on, and bounded."""
    if not value:
        return ""
    return _text_block(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _told(fields: Iterable[Field], missing: str) -> Iterator[Field]:
    """Yield fields; one without a value has no origin but says that it is missing."""
    for field in fields:
        is_unknown = field.value == UNKNOWN and field.origin != _NO_PRICE
        yield Field(field.name, UNKNOWN, missing) if is_unknown else field


def _failure(failure: Failure) -> Iterator[Field]:
    yield Field("code", _text(failure.code), "client")
    yield Field("what happened", _text(failure.text), "server" if failure.status else "client")
    if failure.hint:
        yield Field("what to do", _text(failure.hint), "kvtop")
    if failure.status is not None:
        yield Field("HTTP status", str(failure.status), "server")
    if failure.limit_tokens is not None:
        yield Field("context limit", _tokens_text(failure.limit_tokens), "server")
    if failure.asked_tokens is not None:
        yield Field("asked for", _tokens_text(failure.asked_tokens), "server")
    if failure.retry_after_s is not None:
        yield Field("retry after", exact_seconds(failure.retry_after_s), "server")


def _tokens(record: RequestRecord, glyphs: Glyphs, price: Price | None) -> Iterator[Field]:
    source = _text(record.usage_source or "") or "not reported"
    yield Field("target", _tokens_text(record.target_tokens), "plan")
    yield Field("prompt", _tokens_text(record.prompt_tokens) + _deviation(record), source)
    yield Field("cached", _tokens_text(record.cached_tokens) + _share(record), source)
    yield Field("cache write", _tokens_text(record.cache_write_tokens), source)
    yield Field("output", _tokens_text(record.completion_tokens), source)
    yield Field("reasoning", _tokens_text(record.reasoning_tokens), source)
    cost = shown_cost(record, price, glyphs)
    if price is None or cost is None:
        yield Field("cost", UNKNOWN, _NO_PRICE if price is None else "formula")
        return
    bound = " at most: cached tokens not reported" if not cost[0].isdigit() else ""
    yield Field("cost", f"{cost} {_text(price.currency)}{bound}", "formula")


def _times(record: RequestRecord) -> Iterator[Field]:
    yield Field("sent", _moment(record.ts), _CLIENT)
    yield Field("ended", _moment(record.end_ts) if record.end_ts > record.ts else UNKNOWN, _CLIENT)
    if record.scheduled_ts is not None:
        yield Field("was due", _moment(record.scheduled_ts), "plan")
    kept = "none: kept connection" if record.connect_s is None and record.status is not None else UNKNOWN
    yield Field("connect", kept if record.connect_s is None else exact_seconds(record.connect_s), _CLIENT)
    yield Field("headers", _seconds(record.headers_s), _CLIENT)
    yield Field("first event", _seconds(record.first_event_s), _CLIENT)
    yield Field("first token (TTFT)", _seconds(record.ttft_s), _CLIENT)
    yield Field("first visible text", _seconds(record.ttft_answer_s), _CLIENT)
    yield Field("last token", _seconds(record.last_token_s), _CLIENT)
    yield Field("latency", _seconds(record.latency_s), _CLIENT)
    yield Field("decode speed", _speed(record.decode_tok_s), "usage, client clock")
    yield Field("overall speed", _speed(record.e2e_tok_s), "usage, client clock")
    if record.retry_after_s is not None:
        yield Field("retry after", exact_seconds(record.retry_after_s), "server")


def _request(record: RequestRecord) -> Iterator[Field]:
    texts = (
        ("id", record.id, "kvtop"),
        ("cell", record.cell, "plan"),
        ("tag", record.tag, "plan"),
        ("prefix", record.prefix, "plan"),
        ("repeat", record.repeat, "plan"),
        ("level", record.level, "plan"),
        ("setting", record.setting, "plan"),
        ("model", record.model, "profile"),
        ("dialect", record.dialect, "profile"),
        ("finish reason", record.finish_reason, "server"),
        ("HTTP status", record.status, "server"),
        ("answer length asked", _tokens_text(record.max_tokens), "plan"),
        ("prompt words", record.prompt_words, "kvtop"),
        ("known shared prefix", _tokens_text(record.shared_prefix_tokens), "kvtop"),
        ("events with text", record.text_events, "client"),
    )
    for name, value, origin in texts:
        if value not in (None, "", UNKNOWN):
            yield Field(name, _text(value), origin)


def _headers(headers: Mapping[str, str]) -> Iterator[Field]:
    for name, value in headers.items():
        yield Field(clean_text(name, 40), _text(value), "server")


def _text(value: object) -> str:
    return clean_text(value, TEXT_LIMIT)


def _text_block(text: str | None) -> str:
    lines = (text or "")[:JSON_LIMIT].split("\n")
    rest = len(text or "") - JSON_LIMIT
    more = [f"… {rest:,} more characters; y copies all of it"] if rest > 0 else []
    return "\n".join([*(printable(line) for line in lines), *more])


def _tokens_text(count: int | None) -> str:
    return UNKNOWN if count is None else f"{count:,}"


def _seconds(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else exact_seconds(seconds)


def _speed(tok_s: float | None) -> str:
    return UNKNOWN if tok_s is None else f"{tok_s:,.2f} tok/s"


def _moment(ts: float) -> str:
    try:
        return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(ts))}.{int(ts % 1 * 1000):03}"
    except (OverflowError, ValueError, OSError):
        return UNKNOWN


def _deviation(record: RequestRecord) -> str:
    if not record.target_tokens or record.prompt_tokens is None:
        return ""
    return f"  ({record.prompt_tokens / record.target_tokens - 1:+.2%} of the target)"


def _share(record: RequestRecord) -> str:
    if not record.prompt_tokens or record.cached_tokens is None:
        return ""
    return f"  ({record.cached_tokens / record.prompt_tokens:.1%} of the prompt)"
