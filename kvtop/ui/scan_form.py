"""From what is typed into the scan dialog to a request, or to sentences about what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvtop.model.estimate import Estimate, estimate_scan
from kvtop.model.loopback import is_local
from kvtop.model.quantity import KIB
from kvtop.providers.key_text import is_variable_name
from kvtop.providers.urls import checked_base_url, without_version
from kvtop.settings.values import as_count, as_lengths, as_tokens
from kvtop.ui.scan_request import ScanRequest
from kvtop.ui.scan_time import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kvtop.model.endpoint import Price
    from kvtop.model.plan import Prefix
    from kvtop.ui.profile_choices import ProfileChoice

MOST_REQUESTS = 10_000
"""Requests that the app will start in one scan."""

_SETTINGS_WORDS = "has no usable value: "

NAMES: Mapping[str, str] = {
    "target": "Endpoint",
    "base_url": "Base URL",
    "model": "Model",
    "key_env": "Key from",
    "lengths": "Lengths",
    "repeats": "Repeats",
    "max_tokens": "Answer",
    "budget": "Budget",
}
"""What each field is called on the screen."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The fields as they stand. One of `choice` and `demo` is set, or neither for a base URL."""

    choice: ProfileChoice | None = None
    demo: str | None = None
    base_url: str = ""
    model: str = ""
    key_env: str = ""
    lengths: str = ""
    repeats: str = ""
    prefix: Prefix = "cold"
    max_tokens: str = ""
    budget: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A request with what it costs at most, or the problems by field; a request is there when none is."""

    request: ScanRequest | None = None
    estimate: Estimate | None = None
    target: Target | None = None
    """What to look for in earlier runs, where the endpoint is known."""
    local: bool = False
    problems: Mapping[str, str] = field(default_factory=dict)


def check(typed: Typed, environ: Mapping[str, str], default_max_tokens: int | None = None) -> Checked:
    """Return what `typed` comes to. An empty answer length is the settings' `default_max_tokens`."""
    reader = _Reader()
    target = reader.target(typed, environ)
    lengths = reader.field("lengths", lambda text: as_lengths(text.strip().rstrip(",")), typed.lengths)
    repeats = reader.field("repeats", as_count, typed.repeats)
    max_tokens = reader.optional("max_tokens", as_count, typed.max_tokens)
    budget = reader.optional("budget", as_tokens, typed.budget)
    local = target is not None and _is_local(typed, target)
    if lengths is not None and repeats is not None:
        reader.bound(lengths, repeats, typed.prefix)
    if reader.problems or lengths is None or repeats is None or target is None:
        return Checked(target=target, local=local, problems=reader.problems)
    request = ScanRequest(
        lengths=lengths,
        repeats=repeats,
        prefix=typed.prefix,
        max_tokens=max_tokens or default_max_tokens,
        max_total_tokens=budget,
        profile=typed.choice.name if typed.choice else None,
        base_url=None if typed.choice or typed.demo else target.base_url,
        model=None if typed.choice or typed.demo else target.model,
        key_env=None if typed.choice or typed.demo else typed.key_env.strip() or None,
        demo=typed.demo,
    )
    estimate = estimate_scan(request.plan(), local=local, price=_price(typed.choice))
    return Checked(request, estimate, target, local)


def lengths_text(lengths: Sequence[int]) -> str:
    """Return lengths as people type them, e.g. `1000,4k`."""
    return ",".join(f"{length // KIB}k" if length % KIB == 0 else str(length) for length in lengths)


class _Reader:
    """Reads fields and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}

    def field(self, name: str, read: Callable[[str], Any], text: str) -> Any:
        """Return what `text` says, None for what it does not."""
        try:
            return read(text)
        except ValueError as error:
            said = str(error)
            plain = said.removeprefix(_SETTINGS_WORDS)
            self.problems[name] = f"{NAMES[name]}: {plain}." if plain != said else f"{NAMES[name]} {said}."
            return None

    def optional(self, name: str, read: Callable[[str], Any], text: str) -> Any:
        """The same for a field that may be empty."""
        return self.field(name, read, text) if text.strip() else None

    def target(self, typed: Typed, environ: Mapping[str, str]) -> Target | None:
        """Return the endpoint as earlier runs name it."""
        if typed.demo is not None:
            return Target(demo=typed.demo)
        choice = typed.choice
        if choice is None:
            return self._flags(typed, environ)
        if choice.problem is not None:
            self.problems["target"] = str(choice.problem)
        return None if choice.profile is None else Target(choice.profile.base_url, choice.profile.model)

    def _flags(self, typed: Typed, environ: Mapping[str, str]) -> Target | None:
        base_url = self.field("base_url", checked_base_url, typed.base_url.strip())
        key_env = typed.key_env.strip()
        if key_env and not is_variable_name(key_env):
            self.problems["key_env"] = (
                "Key from is not the name of an environment variable; never type the key."
            )
        elif key_env and not environ.get(key_env):
            self.problems["key_env"] = f"Key from names {key_env}, which is not set."
        if base_url is None:
            return None
        return Target(without_version(base_url, ()), typed.model.strip() or None)

    def bound(self, lengths: tuple[int, ...], repeats: int, prefix: Prefix) -> None:
        """Refuse what nobody means: listing the requests alone would hold the app."""
        requests = len(lengths) * repeats * (1 if prefix == "cold" else 2)
        if requests > MOST_REQUESTS:
            text = (
                f"Repeats make {requests:,} requests; the app starts at most {MOST_REQUESTS:,} in one scan."
            )
            self.problems["repeats"] = text


def _is_local(typed: Typed, target: Target) -> bool:
    if typed.demo is not None:
        return True
    profile = typed.choice.profile if typed.choice else None
    if profile is None:
        return is_local(target.base_url, pid=None, metrics_url=None)
    return is_local(target.base_url, pid=profile.engine.pid, metrics_url=profile.engine.metrics_url)


def _price(choice: ProfileChoice | None) -> Price | None:
    return choice.profile.price if choice and choice.profile else None
