from __future__ import annotations

import pytest

from kvtop.experiments.model_listing import unlisted_text


@pytest.mark.parametrize("listed", [(), ("m",), ("a", "m")])
def test_a_listed_model_needs_no_words(listed: tuple[str, ...]) -> None:
    assert unlisted_text("m", listed) is None


def test_at_most_four_are_named() -> None:
    text = unlisted_text("m", [f"x{number}" for number in range(7)])
    assert text is not None
    assert "(x0, x1, x2, x3 and 3 more)" in text
