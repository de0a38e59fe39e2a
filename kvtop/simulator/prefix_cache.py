"""Which blocks hold which prefix. A block is known by the hash of its tokens and of all before it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from hashlib import blake2b

_DIGEST_BYTES = 16


def extend_hashes(hashes: list[bytes], tokens: array[int], block_size: int, full_blocks: int) -> None:
    """Append the chained hashes of `tokens` to `hashes` until it covers `full_blocks` whole blocks.

    hash(i) = H(hash(i - 1) + tokens of block i), so equal hashes mean equal prefixes.
    """
    parent = hashes[-1] if hashes else b""
    for index in range(len(hashes), full_blocks):
        chunk = tokens[index * block_size : (index + 1) * block_size].tobytes()
        parent = blake2b(parent + chunk, digest_size=_DIGEST_BYTES).digest()
        hashes.append(parent)


class PrefixCache:
    """The two-way map between chained hashes and the blocks that hold their content."""

    def __init__(self) -> None:
        self._block_of: dict[bytes, int] = {}
        self._hash_of: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._block_of)

    def lookup(self, hashes: Sequence[bytes]) -> list[int]:
        """Return the blocks of the longest known prefix of `hashes`."""
        found = []
        for digest in hashes:
            block = self._block_of.get(digest)
            if block is None:
                break
            found.append(block)
        return found

    def store(self, digest: bytes, block: int) -> None:
        """Remember that `block` holds `digest`, unless another block already does."""
        if digest not in self._block_of and block not in self._hash_of:
            self._block_of[digest] = block
            self._hash_of[block] = digest

    def forget(self, block: int) -> None:
        """Drop what is known about `block`: it is about to be overwritten."""
        digest = self._hash_of.pop(block, None)
        if digest is not None:
            del self._block_of[digest]
