"""What a filter is made of: conditions on one record each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kvtop.model.endpoint import Price
from kvtop.ui.requests.fields import TEXT_FIELDS, Values, cost_of, number_of, text_of
from kvtop.ui.requests.log_row import State

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    ":": operator.eq,
}


class Term(Protocol):
    """One condition."""

    @property
    def needle(self) -> bytes | None:
        """Lower-case ASCII that a line of the log must hold to match, None where there is no such thing."""

    def matches(self, values: Values) -> bool:
        """Whether a record is meant."""


@dataclass(frozen=True, slots=True)
class WordTerm:
    """A word anywhere in the text of a request."""

    word: str
    """Case folded."""

    @property
    def needle(self) -> bytes | None:
        """The word as it stands in a line."""
        return _needle(self.word)

    def matches(self, values: Values) -> bool:
        """Whether one of the text fields holds the word."""
        return any(self.word in text_of(values(name)) for name in TEXT_FIELDS.values())


@dataclass(frozen=True, slots=True)
class TextTerm:
    """A condition on one text field."""

    field: str
    comparison: str
    word: str
    """Case folded; empty asks for requests without a value."""

    @property
    def needle(self) -> bytes | None:
        """The word as it stands in a line."""
        return None if self.comparison == "!=" or self.field == "run_id" else _needle(self.word)

    def matches(self, values: Values) -> bool:
        """Whether the field holds the word (`:`), is it (`=`) or is not (`!=`)."""
        text = text_of(values(self.field))
        if not self.word:
            return bool(text) == (self.comparison == "!=")
        if self.comparison == ":":
            return self.word in text
        return (text == self.word) == (self.comparison == "=")


@dataclass(frozen=True, slots=True)
class NumberTerm:
    """A comparison with one number. What is unknown is neither more nor less than anything."""

    field: str
    comparison: str
    bound: float | None
    """None asks for requests without a value."""
    price: Price | None = None

    @property
    def needle(self) -> bytes | None:
        """The field's name, which stands in the line where it has a value."""
        return None if self.bound is None or self.field == "cost" else self.field.encode()

    def matches(self, values: Values) -> bool:
        """Whether the field compares so."""
        value = cost_of(values, self.price) if self.field == "cost" else number_of(values(self.field))
        if self.bound is None:
            return (value is None) == (self.comparison != "!=")
        return value is not None and COMPARISONS[self.comparison](value, self.bound)


@dataclass(frozen=True, slots=True)
class StateTerm:
    """Requests that are ok, failed or running."""

    state: State

    @property
    def needle(self) -> bytes | None:
        """A failed request has a failure."""
        return b'"failure"' if self.state is State.FAILED else None

    def matches(self, values: Values) -> bool:
        """Whether the request is in that state."""
        if values("failure") is not None:
            return self.state is State.FAILED
        start, end = number_of(values("ts")), number_of(values("end_ts"))
        has_ended = start is None or end is None or end > start
        has_ended = has_ended or values("latency_s") is not None or values("status") is not None
        return self.state is (State.OK if has_ended else State.RUNNING)


@dataclass(frozen=True, slots=True)
class NotTerm:
    """The opposite of a condition."""

    term: Term

    @property
    def needle(self) -> bytes | None:
        """None: what is absent cannot be looked for."""
        return None

    def matches(self, values: Values) -> bool:
        """Whether the condition does not hold."""
        return not self.term.matches(values)


def _needle(word: str) -> bytes | None:
    """Return a word as JSON writes it, None where it may write it in several ways."""
    if not word or not word.isascii() or not word.isprintable() or '"' in word or "\\" in word or "/" in word:
        return None
    return None if " " in word else word.encode()
