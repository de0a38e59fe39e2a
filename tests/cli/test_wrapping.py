from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.cli.wrapping import note_width, text_width, wrapped


@given(st.lists(st.text("ab/", min_size=1, max_size=60), max_size=20), st.integers(20, 60))
def test_nothing_is_lost_and_lines_fit_where_a_break_is_possible(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), width, first="- ", rest="  ")
    assert "".join("".join(lines).split()) == "-" + "".join(words)
    pieces = [piece for word in words for piece in word.replace("/", "/ ").split()]
    longest = max(map(len, pieces), default=0)
    assert all(len(line) <= max(width, longest + 2) for line in lines)


def test_without_a_width_all_is_one_line() -> None:
    assert wrapped("a " * 200, None, first="note: ") == ["note: " + " ".join("a" * 200)]


def test_who_has_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    assert note_width(stream) is None
    assert text_width(stream) == 76
    monkeypatch.setenv("COLUMNS", "60")
    assert note_width(stream) == text_width(stream) == 56
