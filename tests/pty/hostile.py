"""Text from outside that wants something of the terminal, of Textual or of the layout."""

from __future__ import annotations

HOSTILE = {
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;b3duZWQ=\x1b\\",
    "link": "\x1b]8;;http://example.invalid/\x1b\\x\x1b]8;;\x1b\\",
    "clear": "\x1b[2J\x1b[3;3r",
    "style": "\x1b[8;5mhidden",
    "string": "\x1bP1$r0m\x1b\\",
    "reset": "\x1bc",
    "c1": "\x9b2J\x9d0;owned\x9c",
    "c0": "a\x00b\x07\x08\x0b\x0c\x0e\x7fc",
    "bidi": "safe\u202egnp.exe\u2066x\u2069\u200b\ufeff",
    "markup": "[/] [/data/models]",
    "action": "[@click=app.quit]x[/] [$error] [link='file:///']",
    "wide": "漢字🧑‍🚀한" * 30,
    "combining": "e" + "\u0301" * 80,
    "lines": "a\nb\r\nc\u2028d\u2029e\tf",
    "surrogate": "lone\ud800end",
}
"""By what each is after."""


def marked(number: int, text: str) -> str:
    """Return a text with a mark before it, to be waited for."""
    return f"h{number:02}{text}"


MARKS = [f"h{number:02}" for number in range(len(HOSTILE))]
TEXTS = [marked(number, text) for number, text in enumerate(HOSTILE.values())]


def as_file_name(text: str) -> bytes:
    """Return a text as a file name: all bytes but two may stand in one."""
    return text.encode("utf-8", "surrogatepass").replace(b"/", b"|").replace(b"\0", b"")[:200]
