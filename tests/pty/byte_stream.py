"""What a program has written to its terminal, taken apart: sequences, control characters, text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_TOKEN = re.compile(
    r"\x1b\[(?P<csi>[0-?]*[ -/]*[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|(?P<escape>\x1b(?:[PX^_].*?\x1b\\|.|$))"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f]+)",
    re.DOTALL,
)
_OWN = {
    "csi": re.compile(
        r"[\d;]*m"
        r"|\d+;\d+H|H"  # the cursor goes to where something is drawn
        r"|\?(?:7|25|1000|1003|1004|1006|1015|1016|1049|2004|2026|2048)[hl]"
        r"|\?(?:2026|2048)\$p"  # asks what the terminal knows
        r"|>\d+u|<u"  # kitty's keyboard protocol, taken and given back
    ),
    "osc": re.compile(r"22;[a-z-]*"),  # shape of the mouse pointer
    "control": re.compile(r"[\r\n]"),
}
_FORBIDDEN_STYLES = frozenset({"5", "6", "8"})
"""Blinking and hidden text: ours has none, so it came from outside."""
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
_COLOR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9\d|10[0-7])[\d;]*m")
_MODE = re.compile(r"\x1b\[\?(\d+)([hl])")
_ALTERNATE_SCREEN, _CURSOR = "1049", "25"
_INTERACTIVE = ("1000", "1003", "1004", "1006", "1015", "2004", _ALTERNATE_SCREEN)


def foreign_in(written: bytes) -> list[str]:
    """Return all that is neither plain text nor one of the sequences that the app draws with."""
    return [found for found in _tokens(written) if found]


def colors_in(written: bytes) -> list[str]:
    """Return the sequences that set a colour."""
    return [found.group() for found in _COLOR.finditer(written.decode())]


def left_on(written: bytes) -> list[str]:
    """Return what of the terminal was changed and not put back."""
    text = written.decode()
    last = dict(_MODE.findall(text))
    left = [f"mode {mode}" for mode in _INTERACTIVE if last.get(mode) == "h"]
    if last.get(_CURSOR) == "l":
        left.append("hidden cursor")
    if len(re.findall(r"\x1b\[>\d+u", text)) > text.count("\x1b[<u"):
        left.append("kitty keys")
    return left


def said_after_leaving(written: bytes) -> str:
    """Return the text that was written after the alternate screen was left the last time."""
    return "".join(re.split(r"\x1b\[[0-?]*[ -/]*[@-~]", written.decode().rpartition("\x1b[?1049l")[2]))


def _tokens(written: bytes) -> Iterator[str]:
    text, at = written.decode("utf-8", "surrogateescape"), 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            yield ascii(text[at])
            at += 1
            continue
        at = found.end()
        yield _foreign(found)


def _foreign(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    value = str(found.group(kind))
    if kind == "text":
        return "".join(ascii(character) for character in value if not _is_shown(character))
    own = _OWN.get(kind)
    if own is None or not own.fullmatch(value):
        return ascii(found.group())
    if kind == "csi" and value.endswith("m") and _FORBIDDEN_STYLES & _styles(value[:-1]):
        return ascii(found.group())
    return ""


def _styles(parameters: str) -> set[str]:
    """Return the parameters of SGR without those of colours."""
    return set(re.sub(r"[34]8;(?:5;\d+|2;\d+;\d+;\d+)", "", parameters).split(";"))


def _is_shown(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character) not in _UNSAFE_CATEGORIES
