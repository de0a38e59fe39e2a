"""Recognising "the prompt is too long", in every wording, with the numbers in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"(\d[\d,_]*)"
_LENGTH = rf"maximum context length (?:is|of) {_NUMBER}"
_LIMIT_FIRST = (
    rf"{_LENGTH}.{{0,200}}?prompt contains (?:at least )?{_NUMBER} (?:input )?tokens",
    rf"{_LENGTH}.{{0,200}}?\({_NUMBER} (?:in (?:the|your) (?:messages|prompt)|of text input)",
    rf"{_LENGTH}.{{0,200}}?: {_NUMBER} tokens from the input",
    rf"{_LENGTH} tokens?\. however, you requested (?:about )?{_NUMBER} tokens",
    rf"maximum prompt length is {_NUMBER} but the request contains {_NUMBER}",
    rf"exceeded model token limit: {_NUMBER}(?: \(requested: {_NUMBER}\))?",
    rf"`inputs` tokens \+ `max_new_tokens` must be <= {_NUMBER}(?:\. given: {_NUMBER})?",
    rf"{_LENGTH}()",
)
_ASKED_FIRST = (
    rf"input \({_NUMBER} tokens?\) is longer than the model'?s context length \({_NUMBER}",
    rf"request \({_NUMBER} tokens?\) exceeds the available context size \({_NUMBER}",
    rf"prompt is too long: {_NUMBER} tokens? > {_NUMBER}",
    rf"input token count \(?{_NUMBER}\)? exceeds the maximum number of tokens allowed \(?{_NUMBER}",
    rf"prompt contains {_NUMBER} tokens.{{0,200}}?model with {_NUMBER} maximum context length",
    rf"prompt token count of {_NUMBER} exceeds the limit of {_NUMBER}",
    rf"exceed context limit: {_NUMBER} \+ \d+ > {_NUMBER}",
    rf"current length is {_NUMBER} while limit is {_NUMBER}",
)
_WITHOUT_NUMBERS = re.compile(
    r"context_length_exceeded|exceeds? (?:the|your) context window|context window exceeds limit"
    r"|exceeds the available context size|greater than the context length|reduce the length of the messages"
    r"|input is too long for (?:the )?requested model|maximum context length|prompt is too long|prompt 超长",
    re.IGNORECASE,
)
_PATTERNS = [(re.compile(text, re.IGNORECASE | re.DOTALL), True) for text in _LIMIT_FIRST] + [
    (re.compile(text, re.IGNORECASE | re.DOTALL), False) for text in _ASKED_FIRST
]


@dataclass(frozen=True, slots=True)
class ContextLimit:
    """What a refusal said: the limit and the length that was asked for, in tokens, where it said so."""

    limit_tokens: int | None = None
    asked_tokens: int | None = None


def find_context_limit(message: str) -> ContextLimit | None:
    """Return the numbers of a context-length refusal, None when `message` is not one."""
    for pattern, limit_first in _PATTERNS:
        match = pattern.search(message)
        if match:
            first, second = (_number(group) for group in match.groups())
            return ContextLimit(first, second) if limit_first else ContextLimit(second, first)
    return ContextLimit() if _WITHOUT_NUMBERS.search(message) else None


def _number(digits: str | None) -> int | None:
    plain = re.sub(r"\D", "", digits or "")
    return int(plain) if 0 < len(plain) <= 15 else None
