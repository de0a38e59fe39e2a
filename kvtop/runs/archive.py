"""The runs under one folder: listing them, finding one, stopping one."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kvtop.model.event import RunState
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.text import clean_text
from kvtop.runs.counting import count_requests
from kvtop.runs.layout import RunFolder
from kvtop.runs.liveness import cancel_run, effective_state
from kvtop.runs.manifest import Manifest, read_manifest
from kvtop.runs.reader import complete_bytes

__all__ = ["RunSummary", "cancel_run", "effective_state", "find_run", "list_runs"]

LATEST = "latest"
_NAMED_LIKE_A_RUN = re.compile(r"(\d{8}T\d{6}Z)-.+")
_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the archive. What an unreadable run does not tell is None, and `problem` says why."""

    id: str
    path: Path
    state: RunState
    """What is true now, see `effective_state`."""
    kind: str | None = None
    model: str | None = None
    profile: str | None = None
    created_ts: float | None = None
    ended_ts: float | None = None
    requests: int | None = None
    """Requests on disk, calibration included, unique by id."""
    failed: int | None = None
    simulated: bool = False
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the summary as a JSON object; unknown is null."""
        return {**asdict(self), "path": str(self.path)}


@dataclass(frozen=True, slots=True)
class _Entry:
    folder: RunFolder
    created_ts: float | None
    manifest: Manifest | None = None
    problem: str | None = None


def list_runs(root: Path) -> list[RunSummary]:
    """Return all runs under `root`, newest first; an empty list when it is not there.

    Folders that cannot be read are listed with their problem, things that are no runs are left out.
    Raises KvtopError `unreadable_folder` when `root` itself cannot be read.
    """
    return [_summary(entry) for entry in _entries(root)]


def find_run(root: Path, text: str) -> RunFolder:
    """Return the run that `text` names: `latest`, an id, its unique beginning or part, or a path.

    Raises KvtopError: `no_such_run` with the nearest ids, `ambiguous_run` with the candidates.
    """
    if text == LATEST:
        return _latest(root)
    folders = {folder.id: folder for folder in _run_folders(root)}
    if text in folders:
        return folders[text]
    if given := _given_path(text):
        return given
    wanted = text.lower()
    starting = [name for name in folders if wanted and name.lower().startswith(wanted)]
    holding = [name for name in folders if wanted and wanted in name.lower()]
    matches = starting or holding
    if not matches:
        raise _no_such_run(root, text, list(folders))
    if len(matches) > 1:
        raise _ambiguous(text, matches)
    return folders[matches[0]]


def _summary(entry: _Entry) -> RunSummary:
    folder, manifest = entry.folder, entry.manifest
    state = effective_state(folder)
    requests, failed, problem = _counts(folder)
    summary = RunSummary(
        folder.id,
        folder.path,
        state,
        created_ts=entry.created_ts,
        requests=requests,
        failed=failed,
        problem=entry.problem or problem,
    )
    if manifest is None:
        return summary
    return replace(
        summary,
        kind=manifest.kind,
        model=manifest.model,
        profile=manifest.profile,
        ended_ts=manifest.ended_ts,
        simulated=manifest.demo is not None,
    )


def _counts(folder: RunFolder) -> tuple[int | None, int | None, str | None]:
    try:
        return *count_requests(complete_bytes(folder.requests_jsonl)), None
    except KvtopError as error:
        return None, None, error.failure.text


def _entries(root: Path) -> list[_Entry]:
    entries = [_entry(folder) for folder in _run_folders(root)]
    return sorted(entries, key=lambda entry: (entry.created_ts or 0.0, entry.folder.id), reverse=True)


def _entry(folder: RunFolder) -> _Entry:
    try:
        manifest = read_manifest(folder)
    except KvtopError as error:
        return _Entry(folder, _named_ts(folder), problem=error.failure.text)
    return _Entry(folder, manifest.created_ts, manifest)


def _named_ts(folder: RunFolder) -> float | None:
    match = _NAMED_LIKE_A_RUN.fullmatch(folder.id)
    try:
        return (
            datetime.strptime(match[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp() if match else None
        )
    except ValueError:
        return None


def _run_folders(root: Path) -> Iterator[RunFolder]:
    try:
        paths = sorted(root.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        text = f"Cannot read {root}: {error.strerror or error}."
        raise KvtopError(Failure.of("unreadable_folder", text, "Check its owner and permissions.")) from error
    for path in paths:
        if _NAMED_LIKE_A_RUN.fullmatch(path.name) or _looks_like_a_run(path):
            folder = RunFolder(path)
            if os.path.isdir(path):  # noqa: PTH112 - False, not an exception, where it may not be looked at
                yield folder


def _looks_like_a_run(path: Path) -> bool:
    run_toml = RunFolder(path).run_toml
    return os.path.exists(run_toml)  # noqa: PTH110 - False, not an exception, where it may not be looked at


def _given_path(text: str) -> RunFolder | None:
    if os.sep not in text:
        return None
    try:
        path = Path(text).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):
        return None
    return RunFolder(path) if _looks_like_a_run(path) else None


def _latest(root: Path) -> RunFolder:
    for entry in _entries(root):
        if entry.problem is None:
            return entry.folder
    raise _no_such_run(root, LATEST, [])


def _no_such_run(root: Path, text: str, ids: list[str]) -> KvtopError:
    nearest = difflib.get_close_matches(text, ids, n=3, cutoff=0.3)
    if nearest:
        hint = f"Nearest: {', '.join(nearest)}."
    else:
        hint = "`kvtop runs list` shows them all." if ids else f"There are no runs in {root} yet."
    return KvtopError(Failure.of("no_such_run", f"No run is called {clean_text(text, 80)!r}.", hint))


def _ambiguous(text: str, matches: list[str]) -> KvtopError:
    shown = ", ".join(sorted(matches, reverse=True)[:_CANDIDATES])
    more = f" and {len(matches) - _CANDIDATES} more" if len(matches) > _CANDIDATES else ""
    message = f"{clean_text(text, 80)!r} may be {len(matches)} runs."
    return KvtopError(Failure.of("ambiguous_run", message, f"One of {shown}{more}."))
