"""What a plan will cost, before anything is sent; the numbers are the model's, for the app shows them too."""

from __future__ import annotations

from kvtop.model.estimate import (
    CALIBRATION_PROMPT_TOKENS,
    LONGEST_CHOSEN_ANSWER,
    Estimate,
    estimate_scan,
)

__all__ = ["CALIBRATION_PROMPT_TOKENS", "LONGEST_CHOSEN_ANSWER", "Estimate", "estimate_scan"]
