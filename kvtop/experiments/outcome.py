"""How an experiment ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kvtop.model.failure import Failure

End = Literal["complete", "budget", "refused"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`complete`: every cell was tried; `budget`: the token budget ended it; `refused`: the endpoint
    could not be used at all, and `failure` says why."""

    end: End
    failure: Failure | None = None
