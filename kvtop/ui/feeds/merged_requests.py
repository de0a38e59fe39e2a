"""The requests of the newest runs together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtop.model.failure import KvtopError
from kvtop.ui.feeds.request_tail import KEPT_REQUESTS, News, RequestTail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kvtop.model.record import RequestRecord
    from kvtop.runs.layout import RunFolder

MERGED_RUNS = 50


class MergedRequests:
    """Follows the logs of the newest runs, as many as hold `KEPT_REQUESTS` requests, at most `MERGED_RUNS`.

    The id of a request begins with its run's, for every run counts from 1.
    """

    def __init__(self) -> None:
        self._logs: dict[Path, _Log] | None = None

    def news(self, folders: Sequence[RunFolder]) -> News | None:
        """Return what is new in `folders` (newest first) in the order of sending; None for nothing."""
        known = self._logs
        reached, fresh = self._read(folders, known or {})
        restarted = known is None or len(reached) < len(known) or any(log.restarted for log in reached)
        more = any(log.has_more for log in reached)
        self._logs = {log.folder.path: log for log in reached}
        if restarted:
            records = [record for log in reached for record in log.records]
            return News(_in_order(records), replace=True, more=more)
        return News(_in_order(fresh), replace=False, more=more) if fresh else None

    @staticmethod
    def _read(
        folders: Sequence[RunFolder], known: Mapping[Path, _Log]
    ) -> tuple[list[_Log], list[RequestRecord]]:
        reached: list[_Log] = []
        fresh: list[RequestRecord] = []
        total = 0
        for folder in folders[:MERGED_RUNS]:
            if total >= KEPT_REQUESTS:
                break
            log = known.get(folder.path) or _Log(folder)
            fresh += log.read()
            total += len(log.records)
            reached.append(log)
        return reached, fresh


class _Log:
    """The requests of one run. A log that cannot be read is an empty one."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.records: list[RequestRecord] = []
        self.restarted = self.has_more = False
        self._tail = RequestTail(folder)

    def read(self) -> list[RequestRecord]:
        """Return the new requests."""
        try:
            news = self._tail.read()
        except KvtopError:
            news = None
        self.restarted, self.has_more = (False, False) if news is None else (news.replace, news.more)
        if news is None:
            return []
        fresh = _named(self.folder, news.records)
        self.records = (fresh if news.replace else self.records + fresh)[-KEPT_REQUESTS:]
        return fresh


def _named(folder: RunFolder, records: Iterable[RequestRecord]) -> list[RequestRecord]:
    return [replace(record, id=f"{folder.id}/{record.id}") for record in records]


def _in_order(records: list[RequestRecord]) -> tuple[RequestRecord, ...]:
    return tuple(sorted(records, key=lambda record: record.ts)[-KEPT_REQUESTS:])
