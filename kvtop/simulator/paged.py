"""KV memory as production engines keep it: a block pool taken at start, with a prefix cache."""

from __future__ import annotations

from collections.abc import Mapping

from kvtop.simulator.pool import BlockPool
from kvtop.simulator.prefix_cache import PrefixCache, extend_hashes
from kvtop.simulator.sequence import Sequence

BLOCK_TOKENS = 16


class PagedStorage:
    """Blocks of 16 tokens. Device memory is the whole pool from the start, however much is in use."""

    def __init__(self, total_blocks: int, bytes_per_token: int) -> None:
        self.pool = BlockPool(total_blocks)
        self.cache = PrefixCache()
        self.block_bytes = BLOCK_TOKENS * bytes_per_token
        self._queried_tokens = 0
        self._hit_tokens = 0

    @property
    def capacity_tokens(self) -> int:
        """The most tokens that fit when nothing else is stored."""
        return self.pool.usable_blocks * BLOCK_TOKENS

    @property
    def device_bytes(self) -> int:
        """The pool's size, used or not."""
        return self.pool.total_blocks * self.block_bytes

    def open(self, sequence: Sequence) -> bool:
        """Hold the cached blocks of the prompt; False when the rest of it does not fit now."""
        known = self._cached_blocks(sequence)
        revived = sum(self.pool.is_idle(block) for block in known)
        missing = _blocks_for(len(sequence.tokens)) - len(known)
        if missing + revived > self.pool.free_blocks:
            return False
        for block in known:
            self.pool.share(block)
        sequence.blocks = known
        sequence.committed_blocks = len(known)
        sequence.computed_tokens = len(known) * BLOCK_TOKENS
        if sequence.cached_tokens is None:
            self._count(sequence)
        return True

    def extend(self, sequence: Sequence, tokens: int) -> bool:
        """Take blocks until `tokens` tokens have a place; False, and none taken, when there are too few."""
        missing = _blocks_for(tokens) - len(sequence.blocks)
        if missing > self.pool.free_blocks:
            return False
        for _ in range(missing):
            block = self.pool.take()
            self.cache.forget(block)
            sequence.blocks.append(block)
        return True

    def commit(self, sequence: Sequence) -> None:
        """Enter the blocks that are now full into the prefix cache."""
        known = sequence.committed_blocks
        full = sequence.computed_tokens // BLOCK_TOKENS
        if full == known:
            return
        extend_hashes(sequence.hashes, sequence.tokens, BLOCK_TOKENS, full)
        for index in range(known, full):
            self.cache.store(sequence.hashes[index], sequence.blocks[index])
        sequence.committed_blocks = full

    def close(self, sequence: Sequence) -> None:
        """Let go of all blocks, the last first, so that a prefix outlives its ends."""
        for block in reversed(sequence.blocks):
            self.pool.release(block)
        sequence.blocks = []
        sequence.committed_blocks = 0

    def counters(self) -> Mapping[str, int | None]:
        """Return blocks, their bytes, and the tokens asked of and found in the prefix cache."""
        return {
            "block_size": BLOCK_TOKENS,
            "kv_blocks_total": self.pool.total_blocks,
            "kv_blocks_usable": self.pool.usable_blocks,
            "kv_blocks_used": self.pool.used_blocks,
            "kv_bytes_used": self.pool.used_blocks * self.block_bytes,
            "kv_bytes_reserved": self.device_bytes,
            "cache_queries_tokens": self._queried_tokens,
            "cache_hits_tokens": self._hit_tokens,
        }

    def _cached_blocks(self, sequence: Sequence) -> list[int]:
        # The last token is always computed anew: its output is the first thing to be sampled.
        reusable = (len(sequence.tokens) - 1) // BLOCK_TOKENS
        extend_hashes(sequence.hashes, sequence.tokens, BLOCK_TOKENS, reusable)
        return self.cache.lookup(sequence.hashes[:reusable])

    def _count(self, sequence: Sequence) -> None:
        sequence.cached_tokens = sequence.computed_tokens
        self._queried_tokens += len(sequence.tokens)
        self._hit_tokens += sequence.computed_tokens


def _blocks_for(tokens: int) -> int:
    return -(-tokens // BLOCK_TOKENS)
