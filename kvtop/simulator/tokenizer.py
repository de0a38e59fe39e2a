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
from zlib import crc32

MESSAGE_TOKENS = 5
"""Template tokens of one message: start, role, line break before its text; end, line break after it."""
ANSWER_HEAD_TOKENS = 3
"""Template tokens that open the answer: start, role, line break."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_KNOWN_LIMIT = 200_000


class _Ids(dict[str, int]):
    def __missing__(self, text: str) -> int:
        if len(self) >= _KNOWN_LIMIT:
            self.clear()
        self[text] = number = crc32(text.encode("utf-8", "surrogatepass"))
        return number


_IDS = _Ids()


def split(text: str) -> list[str]:
    """Return the texts of the tokens of `text`."""
    return _TOKEN.findall(text)


def encode(text: str) -> array[int]:
    """Return the ids of the tokens of `text`."""
    return array("I", map(_IDS.__getitem__, split(text)))


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
        ids.extend((_IDS["<|im_end|>"], _IDS["\n"]))
    if open_answer:
        ids.extend(_head("assistant"))
    return ids


def _head(role: str) -> tuple[int, int, int]:
    return _IDS["<|im_start|>"], _IDS[role], _IDS["\n"]
