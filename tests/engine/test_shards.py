"""Distribution of a run's kernels over shards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.engine.shards import Shard, Share, cut
from parity.errors import UsageError


@given(st.lists(st.none() | st.floats(0, 1e12), min_size=1, max_size=40), st.integers(1, 40))
def test_cut_assigns_every_kernel_to_one_nonempty_shard_in_order(costs, count):
    count = min(count, len(costs))
    numbers = cut(costs, count)
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, count + 1))


def test_cut_balances_costs():
    costs = [9.0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 30, 2]
    numbers = cut(costs, 3)
    assert [sum(c for c, n in zip(costs, numbers, strict=True) if n == shard) for shard in (1, 2, 3)] == [17, 31, 2]
    assert cut([1.0] * 8, 4) == [1, 1, 2, 2, 3, 3, 4, 4]
    assert cut([5.0, None, None], 3) == [1, 2, 3]
    assert cut([0.0, 0.0], 2) == [1, 2]


def test_share_lists_its_kernels():
    share = Share.of(Shard.of("2/2"), ["a", "b", "c"], {"a": 10.0, "b": 1.0, "c": 1.0})
    assert (share.part["shard"], share.mine) == ("2/2", ("b", "c"))
    with pytest.raises(UsageError, match=r"one kernel, which cannot be divided among 2 shards"):
        Share.of(Shard(1, 2), ["a"], {})
