from __future__ import annotations

import pytest

from kvtop.simulator.pool import NULL_BLOCK, BlockPool


def test_hands_out_every_block_but_the_null_block() -> None:
    pool = BlockPool(4)
    assert (pool.usable_blocks, pool.free_blocks, pool.used_blocks) == (3, 3, 0)
    taken = {pool.take() for _ in range(3)}
    assert taken == {1, 2, 3}
    assert NULL_BLOCK not in taken
    assert (pool.free_blocks, pool.used_blocks) == (0, 3)
    with pytest.raises(KeyError):
        pool.take()


def test_takes_the_longest_idle_block_first() -> None:
    pool = BlockPool(4)
    first, second, third = pool.take(), pool.take(), pool.take()
    for block in (second, third, first):
        pool.release(block)
    assert [pool.take() for _ in range(3)] == [second, third, first]


def test_a_shared_block_is_idle_only_when_all_let_go() -> None:
    pool = BlockPool(3)
    block = pool.take()
    pool.share(block)
    pool.release(block)
    assert not pool.is_idle(block)
    pool.release(block)
    assert pool.is_idle(block)


def test_sharing_an_idle_block_revives_it() -> None:
    pool = BlockPool(3)
    block = pool.take()
    pool.release(block)
    pool.share(block)
    assert pool.used_blocks == 1
    assert pool.take() != block


def test_refuses_to_release_what_nobody_holds() -> None:
    pool = BlockPool(3)
    with pytest.raises(ValueError, match="not held"):
        pool.release(1)
    assert pool.free_blocks == 2


def test_refuses_a_pool_of_the_null_block_alone() -> None:
    with pytest.raises(ValueError, match="null block"):
        BlockPool(1)
