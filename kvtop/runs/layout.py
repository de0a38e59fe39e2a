"""Where the files of a run lie, and how a new run folder comes to be."""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kvtop.model.failure import KvtopError
from kvtop.model.text import clean_text
from kvtop.runs.disk import make_private_folder, write_error

SLUG_LIMIT = 48
"""Characters of a model id kept in a folder name."""

_NOT_IN_SLUG = re.compile(r"[^a-z0-9._]+")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run on disk. The files need not be there."""

    path: Path

    @property
    def id(self) -> str:
        """The run's name: its folder's, cleaned for the screen."""
        return clean_text(self.path.name)

    @property
    def run_toml(self) -> Path:
        """The manifest."""
        return self.path / "run.toml"

    @property
    def run_lock(self) -> Path:
        """The file that a live runner holds locked."""
        return self.path / "run.lock"

    @property
    def gpu_csv(self) -> Path:
        """GPU readings."""
        return self.path / "gpu.csv"

    @property
    def processes_csv(self) -> Path:
        """Process readings."""
        return self.path / "processes.csv"

    @property
    def engine_csv(self) -> Path:
        """Readings of the engine's own counters."""
        return self.path / "engine.csv"

    @property
    def requests_jsonl(self) -> Path:
        """The truth about each request."""
        return self.path / "requests.jsonl"

    @property
    def requests_csv(self) -> Path:
        """The same requests, flat."""
        return self.path / "requests.csv"

    @property
    def events_jsonl(self) -> Path:
        """What followers read."""
        return self.path / "events.jsonl"

    @property
    def findings_json(self) -> Path:
        """The analysis."""
        return self.path / "findings.json"


def create_run_folder(root: Path, kind: str, model: str, now_ts: float) -> RunFolder:
    """Create `<root>/<UTC time>-<kind>-<model>`, with `-2`, `-3`… where that exists, and missing parents.

    Raises KvtopError: `disk_full`, `unwritable_folder`.
    """
    moment = datetime.fromtimestamp(now_ts, UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{moment}-{slug(kind, 'run')}-{slug(model, 'model')}"
    _make_parents(root)
    for number in itertools.count(1):
        path = root / (name if number == 1 else f"{name}-{number}")
        if _make_new(path):
            return RunFolder(path)
    raise AssertionError("count() does not end")


def slug(text: str, otherwise: str) -> str:
    """Return the last path segment of `text` in lower-case ASCII letters, digits, `.`, `_` and `-`, bounded.

    Returns `otherwise` when nothing is left.
    """
    segments = [part for part in re.split(r"[/\\]", clean_text(text)) if part.strip(" .")]
    plain = unicodedata.normalize("NFKD", segments[-1] if segments else "").encode("ascii", "ignore").decode()
    kept = _NOT_IN_SLUG.sub("-", plain.lower())[:SLUG_LIMIT].strip("-._")
    return kept or otherwise


def _make_new(path: Path) -> bool:
    try:
        make_private_folder(path)
    except FileExistsError:
        return False
    except OSError as error:
        raise _unwritable(path, error) from error
    return True


def _make_parents(root: Path) -> None:
    try:
        missing = [folder for folder in (root, *root.parents) if not folder.exists()]
        for folder in reversed(missing):
            _make_new(folder)
        if not root.is_dir():
            raise NotADirectoryError(20, "Not a directory")
    except OSError as error:
        raise _unwritable(root, error) from error


def _unwritable(path: Path, error: OSError) -> KvtopError:
    return write_error(path, error, "unwritable_folder")
