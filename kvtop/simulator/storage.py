"""What the scheduler asks of a KV memory, whichever way it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kvtop.simulator.sequence import Sequence


class KvStorage(Protocol):
    """Memory for keys and values. Token counts in, success out; it never waits."""

    @property
    def capacity_tokens(self) -> int:
        """The most tokens that fit when nothing else is stored."""

    @property
    def device_bytes(self) -> int:
        """Device memory that it holds now, as a driver would report it."""

    def open(self, sequence: Sequence) -> bool:
        """Begin to store `sequence`, reusing what is cached of it; False when it does not fit now.

        True means that `extend` to its present tokens will succeed if nothing else is stored before.
        Sets its `computed_tokens` to what was reused, and `cached_tokens` the first time.
        """

    def extend(self, sequence: Sequence, tokens: int) -> bool:
        """Make room for the first `tokens` tokens of an open sequence; False when there is none."""

    def commit(self, sequence: Sequence) -> None:
        """Note that `computed_tokens` of an open sequence are now in memory."""

    def close(self, sequence: Sequence) -> None:
        """Give up all that an open sequence holds."""

    def counters(self) -> Mapping[str, int | None]:
        """Return its fill and cache counters by name, None for what it does not have."""
