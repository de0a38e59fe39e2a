"""A scan as the user asks for it in the app, and the command line that carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.plan import ScanPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtop.model.plan import Prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """What is to be measured on what: one of `profile`, `base_url` and `demo` is set. It holds no key."""

    lengths: tuple[int, ...]
    """Wanted prompt tokens, ascending."""
    repeats: int
    prefix: Prefix
    max_tokens: int | None = None
    """Answer length in tokens, None to leave it to the scan."""
    max_total_tokens: int | None = None
    """Budget of all tokens, None for none."""
    profile: str | None = None
    base_url: str | None = None
    model: str | None = None
    """None asks the server for its only one."""
    key_env: str | None = None
    """Name of the environment variable that holds the key."""
    demo: str | None = None
    """The simulated engine: `growing` or `paged`."""

    def plan(self) -> ScanPlan:
        """Return the plan, as far as it is decided here."""
        return ScanPlan(
            lengths=self.lengths,
            repeats=self.repeats,
            prefix=self.prefix,
            max_tokens=self.max_tokens,
            max_total_tokens=self.max_total_tokens,
        )

    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of `kvtop`. Consent was given in the app, so nobody is asked again."""
        return ("scan", *self._target(), *self._plan(), "--yes")

    def _target(self) -> Iterator[str]:
        if self.demo is not None:
            yield from ("--demo", f"--demo-engine={self.demo}")
        named = {
            "profile": self.profile,
            "base-url": self.base_url,
            "model": self.model,
            "key-env": self.key_env,
        }
        for name, value in named.items():
            if value is not None:
                yield f"--{name}={value}"

    def _plan(self) -> Iterator[str]:
        yield f"--lengths={','.join(map(str, self.lengths))}"
        yield f"--repeats={self.repeats}"
        yield f"--prefix={self.prefix}"
        if self.max_tokens is not None:
            yield f"--max-tokens={self.max_tokens}"
        if self.max_total_tokens is not None:
            yield f"--max-total-tokens={self.max_total_tokens}"
