"""Where a list of rows is scrolled to, which row is selected, and whether it follows the newest."""

from __future__ import annotations


class ScrollPlace:
    """Places count from 0, the oldest row. While following, the newest row is selected and in view."""

    def __init__(self) -> None:
        self.top = 0
        """Place of the first row in the window."""
        self.cursor = 0
        """Place of the selected row."""
        self.follow = True
        self.unseen = 0
        """Rows that came below the window since it was last at the end."""
        self._length = 0
        self._height = 0

    def reset(self, length: int, cursor: int | None = None) -> None:
        """Begin with other rows, at the end where it follows, else at `cursor`."""
        self._length, self.unseen = length, 0
        self.cursor = self._last if cursor is None or self.follow else min(cursor, self._last)
        self.top = max(self.cursor - self._height // 2, 0)
        self._settle()

    def grow(self, length: int, in_front: int, at_end: int) -> None:
        """Keep what is in view in view while rows come at both ends, or go to the end where it follows."""
        was_empty, self._length = self._length == 0, length
        if self.follow or was_empty:
            self.cursor = self._last
        else:
            self.top += in_front
            self.cursor = min(self.cursor + in_front, self._last)
            self.unseen += at_end
        self._settle(keep_cursor_in_view=self.follow)

    def resize(self, height: int) -> None:
        """Take another window height, in rows."""
        self._height = height
        self._settle()

    def go(self, cursor: int) -> None:
        """Select a row and bring it into view. At the last row it follows, elsewhere it does not."""
        self.cursor = max(min(cursor, self._last), 0)
        self.follow = self.cursor == self._last
        self._settle()

    def scroll(self, rows: int) -> None:
        """Move the window; the selection comes along at its edge. Follows where it reaches the end."""
        if self._length <= self._height:
            return
        self.top = max(min(self.top + rows, self._length - self._height), 0)
        self.follow = self.top + self._height >= self._length
        lowest = min(self.top + self._height - 1, self._last)
        self.cursor = self._last if self.follow else max(min(self.cursor, lowest), self.top)
        self._settle()

    def set_follow(self, *, follow: bool) -> bool:
        """Follow or stay. Return whether that is a change."""
        if follow == self.follow:
            return False
        self.follow = follow
        if follow:
            self.cursor = self._last
            self._settle()
        return True

    @property
    def _last(self) -> int:
        return max(self._length - 1, 0)

    def _settle(self, *, keep_cursor_in_view: bool = True) -> None:
        if keep_cursor_in_view:
            self.top = max(min(self.top, self.cursor), self.cursor - self._height + 1, 0)
        if self.follow or self.top + self._height > self._length:
            self.top = max(self._length - self._height, 0)
        self.unseen = 0 if self.follow else min(self.unseen, max(self._length - self.top - self._height, 0))
