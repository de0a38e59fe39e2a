"""KV memory as plain PyTorch keeps it: it grows with the context and is never given back.

Each running request has its keys and values in segments of 2 MiB. A caching allocator keeps freed
segments for later requests instead of returning them to the driver, so device memory follows the
highest fill so far and not the fill of the moment. There is no prefix cache.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvtop.model.quantity import MIB
from kvtop.simulator.sequence import Sequence

SEGMENT_BYTES = 2 * MIB


class GrowingStorage:
    """Segments for each request. A request is let in when its longest answer fits, so growing never fails."""

    def __init__(self, limit_bytes: int, bytes_per_token: int) -> None:
        self._limit_segments = limit_bytes // SEGMENT_BYTES
        self._bytes_per_token = bytes_per_token
        self._segments: dict[Sequence, int] = {}
        self._promised_segments = 0
        self._used_segments = 0
        self._reserved_segments = 0

    @property
    def capacity_tokens(self) -> int:
        """The most tokens that fit when nothing else is stored."""
        return self._limit_segments * SEGMENT_BYTES // self._bytes_per_token

    @property
    def device_bytes(self) -> int:
        """Segments reserved so far: the highest fill since the start."""
        return self._reserved_segments * SEGMENT_BYTES

    def open(self, sequence: Sequence) -> bool:
        """Promise room for the longest the request can become; False when there is none now."""
        promised = self._segments_for(sequence.longest_tokens)
        if self._promised_segments + promised > self._limit_segments:
            return False
        self._promised_segments += promised
        self._segments[sequence] = 0
        return True

    def extend(self, sequence: Sequence, tokens: int) -> bool:
        """Allocate segments until `tokens` tokens have a place; always True within the promise."""
        wanted = self._segments_for(tokens)
        self._used_segments += wanted - self._segments[sequence]
        self._segments[sequence] = wanted
        self._reserved_segments = max(self._reserved_segments, self._used_segments)
        return True

    def commit(self, sequence: Sequence) -> None:
        """Nothing to note: there is no cache to enter the tokens into."""

    def close(self, sequence: Sequence) -> None:
        """Free the request's segments for others; the device keeps them reserved."""
        self._used_segments -= self._segments.pop(sequence)
        self._promised_segments -= self._segments_for(sequence.longest_tokens)

    def counters(self) -> Mapping[str, int | None]:
        """Return used and reserved bytes; blocks and cache counters are None."""
        return {
            "block_size": None,
            "kv_blocks_total": None,
            "kv_blocks_usable": None,
            "kv_blocks_used": None,
            "kv_bytes_used": self._used_segments * SEGMENT_BYTES,
            "kv_bytes_reserved": self.device_bytes,
            "cache_queries_tokens": None,
            "cache_hits_tokens": None,
        }

    def _segments_for(self, tokens: int) -> int:
        return -(-tokens * self._bytes_per_token // SEGMENT_BYTES)
