"""What the header line shows, gathered from several feeds."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from kvtop.model.text import clean_text

if TYPE_CHECKING:
    from kvtop.ui.launch import Launch
    from kvtop.ui.messages import EngineView
    from kvtop.ui.widgets.header_bar import HeaderBar

_HOST_LIMIT = 24


class HeaderFacts:
    """The facts; each may be changed before `draw`."""

    def __init__(self, launch: Launch) -> None:
        self.host = clean_text(platform.node(), _HOST_LIMIT)
        self.profile = launch.settings.profile if launch.demo is None else None
        self.tls_note: str | None = None
        self.view: EngineView | None = None
        self.is_slow = False
        """Whether the terminal takes bytes slowly and is drawn less often."""
        self.run_is_simulated = False
        self._demo = launch.demo
        self._rate_hz = 1 / launch.settings.sampling.interval_s

    def draw(self, header: HeaderBar) -> None:
        """Show the facts."""
        view = self.view
        simulated = self._demo is not None or self.run_is_simulated
        name = None if simulated else view and view.name  # a simulated engine is named so by the mark
        engine = " ".join(part for part in (name, view and view.model) if part)
        header.show(
            self.host,
            view.path if view else None,
            engine or None,
            self.profile,
            self._rate_hz,
            self.tls_note,
            simulated,
            note="slow terminal, drawing less" if self.is_slow else None,
        )
