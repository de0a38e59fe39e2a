"""Environment variables that look like settings and are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.model.failure import Failure
from kvtop.model.text import clean_text
from kvtop.settings.keys import KEYS
from kvtop.settings.toml_text import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "KVTOP_"


def unknown_variables(environ: Mapping[str, str]) -> tuple[Failure, ...]:
    """Return one warning for each set `KVTOP_*` variable that no setting has, with the nearest name."""
    known = {key.variable.removeprefix(PREFIX) for key in KEYS}
    named = {name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX)}
    return tuple(_warning(name, known) for name in sorted(named - known))


def _warning(name: str, known: set[str]) -> Failure:
    close = nearest(name, known)
    hint = f"Did you mean {PREFIX}{close}?" if close else "`kvtop config show` lists the settings."
    text = f"The variable {PREFIX}{clean_text(name, 60)} is no setting and is ignored."
    return Failure("unknown_variable", text, hint)
