"""One run that is followed: what is new in its folder, as messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.lock import is_held
from kvtop.runs.reader import read_findings
from kvtop.ui.feeds.line_tail import LineTail
from kvtop.ui.feeds.request_tail import News, RequestTail
from kvtop.ui.feeds.run_samples import RunSamples
from kvtop.ui.feeds.run_story import RunStory
from kvtop.ui.messages import FailureShown, FindingsChanged, ProgressTold, RequestsArrived, RunOpened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kvtop.runs.layout import RunFolder
    from kvtop.runs.manifest import Manifest
    from kvtop.ui.messages import GpuSnapshot, Told

_FINDINGS_BYTES = 16 << 20


class FollowedRun:
    """Follows one run folder. `manifest` is None where run.toml cannot be read."""

    def __init__(self, folder: RunFolder, manifest: Manifest | None) -> None:
        self.folder = folder
        self.has_more = False
        """Whether there is more to read at once."""
        self._manifest = manifest
        self._events = LineTail(folder.events_jsonl)
        self._requests = RequestTail(folder)
        self._requests_told = False
        self._samples = RunSamples(folder)
        self._story = RunStory()
        self._told: ProgressTold | None = None
        self._findings: tuple[int, int, int] | None = None
        self._failures: set[tuple[str, str]] = set()

    def opened(self) -> RunOpened:
        """Return what the run was to do, and whether it is going on."""
        self._attempt(self._read_events)
        manifest = self._manifest
        simulated = self._story.simulated if manifest is None else manifest.demo is not None
        return RunOpened(
            run_id=self.folder.id,
            folder=self.folder.path,
            plan={} if manifest is None else manifest.plan,
            simulated=simulated,
            live=is_held(self.folder),
        )

    def show_requests_again(self) -> None:
        """Let the next news hold all requests."""
        self._requests = RequestTail(self.folder)
        self._requests_told = False

    def news(self, gpu_names: Mapping[str, str], *, with_requests: bool) -> Iterator[Told]:
        """Yield what is new, each kind of message at most once, failures once in all."""
        self.has_more = False
        # Looked at first: what a runner wrote before it let go is then in the files.
        live = is_held(self.folder)
        if not self._is_there():
            yield from self._shown(_gone(self.folder))
        readers: list[Callable[[], Told | Failure | None]] = [
            self._new_findings,
            lambda: self._progress(live=live),
        ]
        if with_requests:
            readers.insert(0, self._new_requests)
        if live:
            readers.append(lambda: self._new_samples(gpu_names))
        for reader in readers:
            told = self._attempt(reader)
            if isinstance(told, Failure):
                yield from self._shown(told)
            elif told is not None:
                yield told

    def _shown(self, failure: Failure) -> Iterator[FailureShown]:
        key = (failure.code, failure.text)
        if key not in self._failures:
            self._failures.add(key)
            yield FailureShown(failure=failure)

    def _attempt(self, reader: Callable[[], Told | Failure | None]) -> Told | Failure | None:
        try:
            return reader()
        except KvtopError as error:
            return error.failure

    def _read_events(self) -> None:
        added = self._events.read()
        if added.restarted:
            self._story.forget()
        self._story.take(added.lines)

    def _progress(self, *, live: bool) -> ProgressTold | None:
        self._read_events()
        told = self._story.progress(self.folder.id, live=live)
        if self._told is not None and _same(told, self._told):
            return None
        self._told = told
        return told

    def _new_requests(self) -> RequestsArrived | None:
        news = self._requests.read() or (None if self._requests_told else News((), replace=True))
        if news is None:
            return None
        self._requests_told = True
        self.has_more = news.more
        return RequestsArrived(run_id=self.folder.id, records=news.records, replace=news.replace)

    def _new_findings(self) -> FindingsChanged | None:
        try:
            status = self.folder.findings_json.stat()
        except OSError:
            return None
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        if seen == self._findings or status.st_size > _FINDINGS_BYTES:
            return None
        self._findings = seen
        document = read_findings(self.folder)
        return None if document is None else FindingsChanged(run_id=self.folder.id, document=document)

    def _new_samples(self, gpu_names: Mapping[str, str]) -> GpuSnapshot | None:
        return self._samples.snapshot(gpu_names)

    def _is_there(self) -> bool:
        try:
            self.folder.path.stat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True


def _same(one: ProgressTold, other: ProgressTold) -> bool:
    names = ("done", "total", "left_s", "spent_tokens", "cell", "state", "text")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _gone(folder: RunFolder) -> Failure:
    text = f"The folder of run {folder.id} is gone."
    return Failure.of(
        "run_gone", text, "Was it deleted or moved? What is on the screen is the last that was read."
    )
