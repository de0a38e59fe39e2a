"""The time that is left: long prompts take longer to read, but not longer to answer."""

from __future__ import annotations

import pytest

from kvtop.experiments.pace import Pace
from kvtop.model.plan import ScanCell
from kvtop.model.record import RequestRecord


def record(prompt_tokens: int | None, ttft_s: float | None) -> RequestRecord:
    return RequestRecord(
        "1", "c", "cold", 0.0, 1.0, "openai-chat", "m", prompt_tokens=prompt_tokens, ttft_s=ttft_s
    )


def test_nothing_is_known_before_the_first_cell() -> None:
    assert Pace().left_s(0.0, [ScanCell(4096, "cold", 1)]) is None


def test_only_prefill_grows_with_the_prompt() -> None:
    pace = Pace()
    pace.add(ScanCell(4000, "cold", 1), record(4000, 0.4))
    left = [ScanCell(8000, "cold", 1), ScanCell(40_000, "cold", 1)]
    assert pace.left_s(1.4, left) == pytest.approx(2 * 1.0 + 0.8 + 4.0)


def test_a_failed_cell_counts_with_its_time() -> None:
    pace = Pace()
    pace.add(ScanCell(4000, "cold", 1), record(None, None))
    assert pace.left_s(2.0, [ScanCell(4000, "cold", 2)]) == pytest.approx(2.0)
