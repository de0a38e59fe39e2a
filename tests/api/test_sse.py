from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.api.sse import SseEvent, SseSplitter


def split(*chunks: bytes, limit: int = 1000) -> list[SseEvent]:
    splitter = SseSplitter(limit)
    events = [event for chunk in chunks for event in splitter.feed(chunk)]
    return events + splitter.finish()


def texts(*chunks: bytes) -> list[str]:
    return [event.data for event in split(*chunks)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end(end: bytes) -> None:
    stream = end.join([b": hello", b"event: a", b"data: 1", b"data:2", b"", b"data: 3", b"", b""])
    assert split(stream) == [SseEvent("a", "1\n2"), SseEvent("", "3")]


def test_crlf_cut_in_two_is_one_line_end() -> None:
    assert texts(b"data: 1\r", b"", b"\ndata: 2\r", b"\n\r", b"\n") == ["1\n2"]


def test_unicode_separators_are_text() -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    assert texts(f"data: {text}\n\n".encode()) == [text]


def test_utf8_cut_inside_a_character() -> None:
    data = "data: 中文😀\n\n".encode()
    assert texts(*(data[i : i + 1] for i in range(len(data)))) == ["中文😀"]


def test_byte_order_mark_only_at_the_start() -> None:
    assert texts(b"\xef\xbb", b"\xbfdata: 1\n\n") == ["1"]
    assert texts(b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n") == ["1"]


def test_invalid_utf8_is_replaced() -> None:
    assert texts(b"data: \xff\n\n") == ["\ufffd"]


def test_last_event_without_blank_line() -> None:
    assert texts(b"data: 1\n\ndata: [DONE]") == ["1", "[DONE]"]


def test_comments_ids_and_names_without_data_are_no_events() -> None:
    assert split(b": keep-alive\n\nid: 1\nretry: 5\n\nevent: ping\n\ndata: 1\n\n") == [SseEvent("", "1")]


def test_only_one_space_is_taken_off() -> None:
    assert texts(b"data:  two\n\ndata\n\n") == [" two", ""]


def test_errors_without_data_framing_are_not_lost() -> None:
    assert split(b'error: {"a":1}\n\n{"error":"x"}\n') == [
        SseEvent("error", '{"a":1}'),
        SseEvent("unframed", '{"error":"x"}'),
    ]


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 40 + b"\n\n", b"data: xxxxxx\n" * 5 + b"\n", b"y" * 40]
)
def test_too_long_ends_the_reading(stream: bytes) -> None:
    for size in (1, 7, len(stream)):
        splitter = SseSplitter(30)
        pieces = [b"data: 1\n\n" + stream, b"data: 2\n\n"]
        events = [e for p in pieces for i in range(0, len(p), size) for e in splitter.feed(p[i : i + size])]
        assert events + splitter.finish() == [SseEvent("", "1")]
        assert splitter.overflowed


LINES = st.lists(
    st.sampled_from(
        [
            b"data: a",
            b"data:b",
            b"data",
            b": c",
            b"event: e",
            b"",
            b"",
            b"\xef\xbb\xbf",
            b'{"x":1}',
            b"error: z",
        ]
    )
    | st.binary(max_size=12),
    max_size=12,
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(
    lines=LINES,
    ends=st.lists(ENDS, min_size=12, max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=12),
)
def test_any_chunking_gives_the_same_events(lines: list[bytes], ends: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + end for line, end in zip(lines, ends, strict=False))
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(places)]
    for limit in (16, 1000):
        assert split(*chunks, limit=limit) == split(stream, limit=limit)
        assert split(*(stream[i : i + 1] for i in range(len(stream))), limit=limit) == split(
            stream, limit=limit
        )
