"""A pool of KV blocks of fixed size, with reference counts and a least-recently-used free list."""

from __future__ import annotations

from collections import OrderedDict

NULL_BLOCK = 0
"""Block 0 stands for "no block" in block tables and is never handed out."""


class BlockPool:
    """`total_blocks` blocks, one of them the null block.

    A block that nobody holds is free but keeps its content until it is taken again,
    the longest idle one first.
    """

    def __init__(self, total_blocks: int) -> None:
        if total_blocks < 2:
            raise ValueError("a pool needs the null block and at least one more")
        self.total_blocks = total_blocks
        self._holders = [0] * total_blocks
        self._free = OrderedDict.fromkeys(range(NULL_BLOCK + 1, total_blocks))

    @property
    def usable_blocks(self) -> int:
        """Blocks that can be handed out: all but the null block."""
        return self.total_blocks - 1

    @property
    def free_blocks(self) -> int:
        """Blocks that nobody holds, also those whose content could still be reused."""
        return len(self._free)

    @property
    def used_blocks(self) -> int:
        """Blocks held by at least one request."""
        return self.usable_blocks - self.free_blocks

    def is_idle(self, block: int) -> bool:
        """Whether nobody holds `block`."""
        return block in self._free

    def take(self) -> int:
        """Hand out the longest idle block; its content is lost. Raises KeyError when none is free."""
        block, _ = self._free.popitem(last=False)
        self._holders[block] = 1
        return block

    def share(self, block: int) -> None:
        """Hold `block` once more, reviving it when it was idle."""
        self._free.pop(block, None)
        self._holders[block] += 1

    def release(self, block: int) -> None:
        """Let go of `block`; the last holder makes it idle. Raises ValueError when nobody holds it."""
        if self._holders[block] == 0:
            raise ValueError(f"block {block} is not held")
        self._holders[block] -= 1
        if self._holders[block] == 0:
            self._free[block] = None
