"""What a key looks like, and what is wrong with one that was pasted badly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtop.model.secret import Secret

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ISSUED_KEY = re.compile(r"(?:sk|pk|rk|gsk|xai|hf|nvapi|csk|tvly|AIza|eyJ)[-_A-Za-z0-9]{12,}")
_QUOTES = "\"'`“”‘’«»"
_ASSIGNMENT = re.compile(r"\s*(?:export\s|[A-Z][A-Z0-9_]+=[^=])")
_PLACEHOLDERS = re.compile(r"<.*>|(?:sk-)?(?:\.\.\.|…|x{3,})|PROXY_MANAGED|your[-_ ].*key.*", re.IGNORECASE)


def is_variable_name(text: str) -> bool:
    """Whether a text can name an environment variable and is not rather a key pasted in its place."""
    return bool(_VARIABLE.fullmatch(text)) and not looks_like_key(text)


def looks_like_key(text: str) -> bool:
    """Whether a text is probably a key, so that no message may repeat it."""
    if "/" in text or text.isupper() or len(text) < 16:
        return False
    digits = sum(c.isdigit() for c in text)
    return bool(_ISSUED_KEY.match(text)) or (digits >= 4 and len(text) >= 24 and "." not in text)


def oddity_of(secret: Secret) -> str | None:
    """Return why no server will take this as a key, as the rest of a sentence; None for a good one.

    The answer holds no piece of the key. Nothing is repaired: the clients that read the same
    variable would still send the bad key.
    """
    text = secret.reveal()
    if not text.strip():
        return "is empty"
    if text != text.strip():
        return "starts or ends with white space"
    if text[0] in _QUOTES or text[-1] in _QUOTES:
        return "has quotes around it that are part of the value"
    return _oddity_inside(text)


def oddity_of_lines(secret: Secret) -> str | None:
    """Return why the content of a key file is no single key, as the rest of a sentence, or None."""
    lines = [line for line in secret.reveal().splitlines() if line.strip()]
    if any(_ASSIGNMENT.match(line) for line in lines):
        return "holds environment variables; source it in the shell and use key_env instead"
    return f"holds {len(lines)} lines; a key is one line" if len(lines) > 1 else None


def _oddity_inside(text: str) -> str | None:
    if text.startswith("$"):
        return "is the name of another variable that was not expanded"
    if _PLACEHOLDERS.fullmatch(text):
        return "is a placeholder, not a key"
    if text.lower().startswith("bearer "):
        return "starts with the word Bearer, which is added when the key is sent"
    if _ASSIGNMENT.match(text):
        return "is a whole assignment, not only its value"
    if any(c.isspace() for c in text):
        return "holds white space"
    if not (text.isascii() and text.isprintable()):
        return "holds a character that cannot be sent in a header, perhaps a mask or a typographic quote"
    return None
