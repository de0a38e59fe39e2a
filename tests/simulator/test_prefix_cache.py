from __future__ import annotations

from array import array

from kvtop.simulator.prefix_cache import PrefixCache, extend_hashes


def _hashes(*tokens: int) -> list[bytes]:
    hashes: list[bytes] = []
    extend_hashes(hashes, array("I", tokens), 2, len(tokens) // 2)
    return hashes


def test_equal_prefixes_have_equal_hashes_up_to_the_first_difference() -> None:
    one, other = _hashes(1, 2, 3, 4, 5, 6), _hashes(1, 2, 3, 9, 5, 6)
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert one[2] != other[2], "the third blocks are equal, their prefixes are not"


def test_extending_gives_the_same_hashes_as_hashing_at_once() -> None:
    hashes = _hashes(1, 2)
    extend_hashes(hashes, array("I", (1, 2, 3, 4, 5)), 2, 2)
    assert hashes == _hashes(1, 2, 3, 4)


def test_finds_the_longest_known_prefix() -> None:
    cache = PrefixCache()
    hashes = _hashes(1, 2, 3, 4, 5, 6)
    cache.store(hashes[0], 7)
    cache.store(hashes[2], 9)
    assert cache.lookup(hashes) == [7], "a hole ends the prefix"


def test_forgets_a_block_and_lets_its_hash_be_stored_again() -> None:
    cache = PrefixCache()
    (digest,) = _hashes(1, 2)
    cache.store(digest, 7)
    cache.forget(7)
    cache.forget(8)
    assert cache.lookup([digest]) == []
    cache.store(digest, 8)
    assert cache.lookup([digest]) == [8]


def test_keeps_the_first_block_of_a_prefix() -> None:
    cache = PrefixCache()
    (digest,) = _hashes(1, 2)
    cache.store(digest, 7)
    cache.store(digest, 8)
    cache.forget(8)
    assert cache.lookup([digest]) == [7]
    assert len(cache) == 1
