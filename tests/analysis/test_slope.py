from __future__ import annotations

from random import Random

import pytest

from kvtop.analysis.slope import Fit, Observation, fit_slope

SLOPE, INTERCEPT = 131_072.0, 50e6


def observations(
    lengths: tuple[int, ...] = (4096, 8192, 16384, 32768, 65536),
    repeats: int = 3,
    *,
    noise_bytes: float = 0.0,
    seed: int = 1,
) -> list[Observation]:
    random = Random(seed)
    return [
        Observation(
            f"{length}/cold/{n}", length, tokens, INTERCEPT + SLOPE * tokens + random.gauss(0, noise_bytes)
        )
        for length in lengths
        for n in range(1, repeats + 1)
        for tokens in [length + 5.0 * n]
    ]


def fit(seen: list[Observation]) -> Fit:
    found = fit_slope(seen)
    assert found is not None
    return found


def test_a_clean_line_is_found() -> None:
    found = fit(observations())
    assert found.bytes_per_token == pytest.approx(SLOPE)
    assert found.intercept_bytes == pytest.approx(INTERCEPT)
    assert found.r2 == pytest.approx(1)
    assert found.ci_low == pytest.approx(SLOPE)
    assert (found.n, found.lengths, found.outliers) == (15, 5, ())


def test_wild_requests_do_not_move_it_and_are_named() -> None:
    seen = observations(noise_bytes=5e6)
    wild = {2: 4e9, 7: -3e9, 13: 2e10}
    seen = [
        Observation(o.cell, o.target_tokens, o.tokens, o.bytes + wild.get(n, 0.0)) for n, o in enumerate(seen)
    ]
    found = fit(seen)
    assert found.bytes_per_token == pytest.approx(SLOPE, rel=0.01)
    assert set(found.outliers) == {seen[n].cell for n in wild}


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """95 % exact: among 300 scans 285 are expected, 272 and fewer in one of 2,000."""
    holds = 0
    for seed in range(300):
        found = fit(observations((1024, 2048, 4096, 8192), noise_bytes=20e6, seed=seed))
        assert found.ci_low is not None
        assert found.ci_high is not None
        assert found.ci_low <= found.bytes_per_token <= found.ci_high
        holds += found.ci_low <= SLOPE <= found.ci_high
    assert holds >= 272


def test_the_interval_is_wider_for_noisier_requests() -> None:
    quiet, loud = fit(observations(noise_bytes=1e6)), fit(observations(noise_bytes=50e6))
    assert quiet.ci_low is not None
    assert loud.ci_low is not None
    assert loud.ci_low < quiet.ci_low < SLOPE * 1.001
    assert loud.residual_bytes > 10 * quiet.residual_bytes


def test_too_few_requests_give_a_slope_without_interval() -> None:
    found = fit(observations((4096, 8192), 1))
    assert found.bytes_per_token == pytest.approx(SLOPE)
    assert found.ci_low is found.ci_high is None


@pytest.mark.parametrize("lengths", [(), (4096,), (4096, 4100)])
def test_one_length_has_no_slope(lengths: tuple[int, ...]) -> None:
    assert fit_slope(observations(lengths)) is None


def test_prompts_that_the_server_cut_to_one_length_have_no_slope() -> None:
    cut = [Observation(o.cell, o.target_tokens, 2048.0 + n, o.bytes) for n, o in enumerate(observations())]
    assert fit_slope(cut) is None


def test_equal_memory_has_no_r2() -> None:
    found = fit([Observation(o.cell, o.target_tokens, o.tokens, 7.0) for o in observations()])
    assert found.bytes_per_token == 0
    assert found.r2 is None


def test_json_says_where_it_comes_from() -> None:
    document = fit(observations()).to_json("process")
    assert document["origin"] == "process"
    assert document["theory_bytes_per_token"] is None
    assert document["outliers"] == []
