"""The simulated model's tokenizer and chat template.

One token per word (a run of letters, digits and underscores) or punctuation mark; white space is no token.
The template adds 5 tokens to each message and 3 to open the answer, like ChatML. A token's id is the
CRC-32 of its text, so equal texts have equal ids in every process.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from zlib import crc32

MESSAGE_TOKENS = 5
"""Template tokens of one message: start, role, line break before its text; end, line break after it."""
ANSWER_HEAD_TOKENS = 3
"""Template tokens that open the answer: start, role, line break."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_KNOWN_LIMIT = 200_000
_KNOWN_CHARACTERS = 64


class _IdsOfPieces(dict[str, tuple[int, ...]]):
    """Token ids of what stands between white space. Prompts repeat their words, so most are known."""

    def __missing__(self, piece: str) -> tuple[int, ...]:
        ids = (_id_of(piece),) if piece.isalnum() else tuple(map(_id_of, split(piece)))
        if len(piece) <= _KNOWN_CHARACTERS:
            if len(self) >= _KNOWN_LIMIT:
                self.clear()
            self[piece] = ids
        return ids


def _id_of(token: str) -> int:
    return crc32(token.encode("utf-8", "surrogatepass"))


_IDS = _IdsOfPieces()
_START, _END, _LINE_BREAK = map(_id_of, ("<|im_start|>", "<|im_end|>", "\n"))


def split(text: str) -> list[str]:
    """Return the texts of the tokens of `text`."""
    return _TOKEN.findall(text)


def encode(text: str) -> array[int]:
    """Return the ids of the tokens of `text`."""
    return array("I", chain.from_iterable(map(_IDS.__getitem__, text.split())))


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat, its content as one text."""

    role: str
    text: str


def encode_chat(messages: Iterable[Message], *, open_answer: bool = True) -> array[int]:
    """Return the ids of `messages` in the chat template, the answer's opening included if wanted."""
    ids: array[int] = array("I")
    for message in messages:
        ids.extend(_head(message.role))
        ids.extend(encode(message.text))
        ids.extend((_END, _LINE_BREAK))
    if open_answer:
        ids.extend(_head("assistant"))
    return ids


def _head(role: str) -> tuple[int, int, int]:
    return _START, _id_of(role), _LINE_BREAK
