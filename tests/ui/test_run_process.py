from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kvtop
from kvtop.cli.main import build_parser
from kvtop.model.failure import KvtopError
from kvtop.runs.archive import effective_state, list_runs
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import holder_pid
from kvtop.runs.reader import read_requests
from kvtop.ui.run_log import KEPT_LOGS, log_tail, open_log
from kvtop.ui.run_process import ScanRequest, cancel, resume_run, start_scan
from tests.ui.starting_app import REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "sk-0123456789abcdefghij"
LONGEST_WAIT_S = 60.0


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "runs"
    yield root
    for summary in list_runs(root):
        pid = holder_pid(RunFolder(summary.path))
        if pid is not None:
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LONGEST_WAIT_S)
        yield server


def eventually(fits: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not fits():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def request_to(server: socket.socket, **changes: Any) -> ScanRequest:
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    return ScanRequest(lengths=(256,), repeats=1, prefix="cold", base_url=url, **changes)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_scan_is_started_cancelled_and_finished(root: Path) -> None:
    long = ScanRequest(lengths=(256,), repeats=3, prefix="cold", max_tokens=16, demo="growing")
    run = start_scan(long, root)
    assert holder_pid(run.folder) == run.pid
    assert os.getsid(run.pid) == run.pid
    assert (mode(run.log), mode(run.log.parent), mode(root)) == (0o600, 0o700, 0o700)
    eventually(lambda: bool(read_requests(run.folder).records))
    assert cancel(run.folder.id, root) == run.pid
    eventually(lambda: effective_state(run.folder) == "cancelled")
    kept = len(read_requests(run.folder).records)
    again = resume_run(run.folder.id, root)
    assert again.folder == run.folder
    assert again.pid != run.pid
    eventually(lambda: effective_state(run.folder) == "done")
    assert len(read_requests(run.folder).records) > kept
    assert [summary.id for summary in list_runs(root)] == [run.folder.id]
    with pytest.raises(KvtopError, match="is not going on"):
        cancel(run.folder.id, root)


def test_a_scan_survives_the_app(root: Path, tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('a file of the user')")
    app = subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.ui.starting_app", str(root)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(kvtop.__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with app:
        assert app.stdout is not None
        pid, path = app.stdout.readline().split()
        folder = RunFolder(Path(path))
        app.kill()
        assert app.wait() == -signal.SIGKILL
    assert effective_state(folder) == "running"
    os.kill(int(pid), signal.SIGHUP)
    eventually(lambda: effective_state(folder) != "running")
    assert effective_state(folder) == "done"
    cells = [record for record in read_requests(folder).records if record.tag == "cold"]
    assert len(cells) == REQUEST.repeats


def test_the_key_goes_through_the_environment_alone(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        request = request_to(server, model="[/]--json", key_env="LAB_KEY")
        run = start_scan(request, root, environ={**os.environ, "LAB_KEY": KEY})
        assert f"LAB_KEY={KEY}".encode() in Path(f"/proc/{run.pid}/environ").read_bytes()
        assert KEY.encode() not in Path(f"/proc/{run.pid}/cmdline").read_bytes()
        os.kill(run.pid, signal.SIGTERM)
        eventually(lambda: effective_state(run.folder) != "running")
    written = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    assert run.log.read_bytes() in written
    assert not any(KEY.encode() in content for content in written)


def test_a_scan_that_does_not_start_says_why(root: Path) -> None:
    request = ScanRequest(lengths=(256,), repeats=1, prefix="cold", profile="no-such")
    with pytest.raises(KvtopError) as caught:
        start_scan(request, root)
    failure = caught.value.failure
    assert failure.code == "run_not_started"
    assert "no profile" in failure.text
    assert failure.hint
    assert not list_runs(root)


def test_a_start_can_be_given_up(root: Path, silent_server: socket.socket) -> None:
    given_up = threading.Event()
    failures: list[str] = []

    def start() -> None:
        with pytest.raises(KvtopError) as caught:
            start_scan(request_to(silent_server), root, given_up=given_up)
        failures.append(caught.value.failure.code)

    thread = threading.Thread(target=start)
    thread.start()
    asking, _ = silent_server.accept()
    with asking:
        given_up.set()
        thread.join(LONGEST_WAIT_S)
        assert failures == ["given_up"]
        asking.settimeout(LONGEST_WAIT_S)
        while asking.recv(4096):
            continue  # until the child has gone


def test_a_start_takes_no_longer_than_it_may(root: Path, silent_server: socket.socket) -> None:
    with pytest.raises(KvtopError) as caught:
        start_scan(request_to(silent_server), root, timeout_s=0.5)
    assert caught.value.failure.code == "run_not_started"


def test_without_a_place_for_the_log_nothing_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KvtopError) as caught:
        start_scan(REQUEST, tmp_path / "file")
    assert caught.value.failure.code == "unwritable_folder"


def test_old_logs_go(tmp_path: Path) -> None:
    for _ in range(KEPT_LOGS + 5):
        _, descriptor = open_log(tmp_path)
        os.close(descriptor)
    assert len(list((tmp_path / ".log").iterdir())) == KEPT_LOGS


@pytest.mark.parametrize(
    ("content", "text", "hint"),
    [
        (b"", "", ""),
        (b"This run sends 3 requests.\nkvtop: No such.\n  \xe2\x86\x92 Do that.\n", "No such.", "Do that."),
        (b"kvtop: warning: odd\nkvtop: No such.\n  -> Do that.\nrun over\n", "No such.", "Do that."),
        (b"kvtop: warning: odd\nTraceback\nImportError: \xff\n", "ImportError: \ufffd", ""),
        (b"x" * 9000 + b"\nlast", "last", ""),
    ],
)
def test_last_words(tmp_path: Path, content: bytes, text: str, hint: str) -> None:
    (tmp_path / "a.log").write_bytes(content)
    words = log_tail(tmp_path / "a.log")
    assert (words.text, words.hint) == (text, hint)


def test_no_log_has_no_words(tmp_path: Path) -> None:
    assert not log_tail(tmp_path / "none").text


@pytest.mark.parametrize(
    "request_",
    [
        ScanRequest(lengths=(512, 4096), repeats=2, prefix="both", profile="lab", max_total_tokens=9000),
        ScanRequest(
            lengths=(1,),
            repeats=1,
            prefix="reused",
            base_url="http://h",
            model="--json",
            key_env="K",
            max_tokens=5,
        ),
        ScanRequest(lengths=(7,), repeats=1, prefix="cold", demo="paged"),
    ],
)
def test_the_command_line_understands_the_arguments(request_: ScanRequest) -> None:
    arguments = request_.arguments()
    options = build_parser(arguments).parse_args(arguments)
    assert options.yes
    assert not options.json
    assert options.demo is (request_.demo is not None)
    assert options.demo_engine == (request_.demo or "growing")
    for name in ("lengths", "repeats", "prefix", "profile", "base_url", "model", "key_env", "max_tokens"):
        assert getattr(options, name) == getattr(request_, name)
    assert options.max_total_tokens == request_.max_total_tokens
