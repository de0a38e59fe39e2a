"""The language of the filter line: words, `field:text`, `field>number`, `!` before any of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kvtop.model.text import clean_text
from kvtop.ui.requests.fields import NUMBER_FIELDS, STATE_FIELD, TEXT_FIELDS
from kvtop.ui.requests.log_row import State
from kvtop.ui.requests.terms import NotTerm, NumberTerm, StateTerm, TextTerm, WordTerm

if TYPE_CHECKING:
    from kvtop.model.endpoint import Price
    from kvtop.ui.requests.fields import Unit, Values
    from kvtop.ui.requests.terms import Term

LONGEST_FILTER = 500
"""Characters of a filter that are looked at."""
EXAMPLES = "cold  failed  tag:reused  prompt>8k  ttft>1s  cached=0  !ok"

_PART = re.compile(r'!?(?:[^\s"]|"[^"]*"?)+|"[^"]*"?')
_CONDITION = re.compile(r"([A-Za-z/_]+)(>=|<=|!=|>|<|=|:)(.*)", re.DOTALL)
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)")
_UNITS: dict[Unit, dict[str, float]] = {
    "tokens": {"": 1, "k": 1024, "m": 1024**2},
    "seconds": {"": 1, "s": 1, "ms": 0.001, "m": 60, "min": 60, "h": 3600},
    "plain": {"": 1},
}
_EXPECTED: dict[Unit, str] = {"tokens": "8192 or 8k", "seconds": "1.5, 800ms or 2min", "plain": "12.5"}
_NONE = frozenset({"none", "–", "-"})
_STATES = {state.word: state for state in (State.OK, State.FAILED, State.RUNNING)}
_FIELDS = (*TEXT_FIELDS, *NUMBER_FIELDS, STATE_FIELD)


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Conditions that all have to hold."""

    terms: tuple[Term, ...]

    def matches(self, values: Values) -> bool:
        """Whether a record is meant."""
        return all(term.matches(values) for term in self.terms)

    def may_match(self, line: bytes) -> bool:
        """Whether a line of `requests.jsonl` is worth parsing."""
        if not line.isascii() or b"\\u" in line:
            return True
        lowered = line.lower()
        return all(term.needle is None or term.needle in lowered for term in self.terms)


def parse_filter(text: str, price: Price | None = None) -> tuple[RequestFilter | None, str]:
    """Return what `text` asks for, None when it asks for nothing, and what is wrong with the rest of it.

    A condition that cannot be understood, or is not typed to its end, leaves the others in force.
    """
    terms, complaint = [], ""
    for part in _PART.findall(text[:LONGEST_FILTER]):
        try:
            if part.strip('!"'):
                terms.append(_term(part, price))
        except ValueError as error:
            complaint = complaint or str(error)
    return (RequestFilter(tuple(terms)) if terms else None), complaint


def _term(part: str, price: Price | None) -> Term:
    if part.startswith("!"):
        return NotTerm(_term(part.lstrip("!"), price))
    condition = None if part.startswith('"') else _CONDITION.fullmatch(part)
    if condition is None:
        return _word(part)
    name, comparison, value = condition[1].lower(), condition[2], condition[3].replace('"', "").casefold()
    if name == STATE_FIELD:
        return _state(comparison, value)
    if name in TEXT_FIELDS:
        return _text(name, comparison, value)
    if name in NUMBER_FIELDS:
        return _number(name, comparison, value, price)
    raise ValueError(_unknown_field(name, part))


def _word(part: str) -> Term:
    word = part.replace('"', "").casefold()
    return StateTerm(_STATES[word]) if word in _STATES and not part.startswith('"') else WordTerm(word)


def _state(comparison: str, value: str) -> Term:
    if comparison not in (":", "=", "!=") or value not in _STATES:
        raise ValueError(f"state is one of {', '.join(_STATES)}: write state:failed")
    term = StateTerm(_STATES[value])
    return NotTerm(term) if comparison == "!=" else term


def _text(name: str, comparison: str, value: str) -> Term:
    if comparison not in (":", "=", "!="):
        raise ValueError(f"{name} is text: write {name}:word")
    if not value:
        raise ValueError(f"{name}{comparison} wants a word, or none")
    return TextTerm(TEXT_FIELDS[name], comparison, "" if value in _NONE else value)


def _number(name: str, comparison: str, value: str, price: Price | None) -> Term:
    field, unit = NUMBER_FIELDS[name]
    if name == "cost" and price is None:
        raise ValueError("cost needs prices, and the profile has none")
    if value in _NONE and comparison in (":", "=", "!="):
        return NumberTerm(field, comparison, None, price)
    number = _NUMBER.fullmatch(value)
    factor = _UNITS[unit].get(number[2]) if number else None
    if number is None or factor is None:
        raise ValueError(f"{name}{comparison} wants a number such as {_EXPECTED[unit]}")
    return NumberTerm(field, comparison, float(number[1]) * factor, price)


def _unknown_field(name: str, part: str) -> str:
    close = get_close_matches(name, _FIELDS, 1)
    shown = clean_text(name, 24)
    if close:
        return f"there is no field {shown}; did you mean {close[0]}?"
    return f'there is no field {shown}; put "{clean_text(part, 24)}" in quotes to look for it'
