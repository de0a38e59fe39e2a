from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from kvtop.analysis.numbers import known_fields, median, number, quantile, spread, whole


@pytest.mark.parametrize("foreign", [None, True, "12", math.nan, math.inf, -math.inf, 10**400, 1e300, [1]])
def test_what_is_no_finite_number_is_unknown(foreign: object) -> None:
    assert number(foreign) is None


@pytest.mark.parametrize("known", [0, -3, 2.5, 10**12])
def test_a_number_stays(known: float) -> None:
    assert number(known) == known


def test_only_known_fields_count() -> None:
    records = [SimpleNamespace(ttft_s=1), SimpleNamespace(ttft_s=None), SimpleNamespace()]
    assert known_fields(records, "ttft_s") == [1.0]


def test_nothing_has_no_median_and_no_quantile() -> None:
    assert median([]) is quantile([], 0.5) is spread([]) is None


def test_quantile_is_linear() -> None:
    assert quantile([10, 20, 30, 40], 0.5) == 25
    assert quantile([10, 20], 0.99) == pytest.approx(19.9)
    assert quantile([7], 0.99) == 7


def test_one_stray_sample_does_not_widen_the_spread() -> None:
    assert spread([5.0] * 30 + [1000.0]) == 0


def test_counts_are_whole_where_they_are() -> None:
    assert whole(4096.0) == 4096
    assert isinstance(whole(4096.0), int)
    assert whole(4096.5) == 4096.5
    assert whole(None) is None
