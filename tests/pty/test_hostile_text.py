"""Text from outside reaches the terminal as text, wherever it is shown, and the app lives on."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.pty.byte_stream import foreign_in
from tests.pty.conftest import FakeGpus
from tests.pty.hostile import HOSTILE, MARKS, TEXTS, as_file_name
from tests.pty.kvtop_on_pty import DEADLINE_S, KvtopOnPty
from tests.pty.run_folders import request, write_run

BIG = (200, 60)
NEWEST = "20991201T000000Z-scan-newest"


def test_the_check_itself_sees_each_of_them() -> None:
    unseen = [
        name
        for name, text in HOSTILE.items()
        if not foreign_in(text.encode("utf-8", "surrogatepass"))
        and name not in ("markup", "action", "wide", "combining")
    ]
    assert unseen == []


def finish(app: KvtopOnPty) -> None:
    app.press("q")
    app.wait(20)
    assert app.status == 0, app.shown
    assert foreign_in(bytes(app.written)) == []


def escaped(text: str) -> str:
    """Return a text as it stands between the quotes of TOML, which has no lone surrogates."""
    return "".join(f"\\U{ord(c):08x}" for c in text if not 0xD800 <= ord(c) < 0xE000)


def test_gpu_names(start: Callable[..., KvtopOnPty], fake_gpus: Callable[[bytes], FakeGpus]) -> None:
    names = [text.replace("\n", " ").encode("utf-8", "surrogatepass")[:90] for text in TEXTS]
    lines = [b"name %d %s\n" % (number, name) for number, name in enumerate(names)]
    driver = fake_gpus(b"gpus %d\n" % len(names) + b"".join(lines))
    app = start(size=BIG, **driver.environ)
    app.until(lambda: all(mark in app.shown for mark in MARKS))
    app.press("o")
    app.until("Processes")
    app.leave("Processes")
    finish(app)


@pytest.fixture
def sleepers() -> Iterator[list[int]]:
    """Processes with hostile names."""
    with ExitStack() as stack:
        pids = []
        for text in TEXTS:
            name = text.encode("utf-8", "surrogatepass").replace(b"\0", b"")
            process = stack.enter_context(subprocess.Popen([name, "60"], executable="/bin/sleep"))
            stack.callback(process.kill)
            pids.append(process.pid)
        yield pids


def test_process_names(
    start: Callable[..., KvtopOnPty], fake_gpus: Callable[[str], FakeGpus], sleepers: list[int]
) -> None:
    driver = fake_gpus("gpus 1\n" + "".join(f"process 0 c {pid} {2**30}\n" for pid in sleepers))
    app = start(size=BIG, **driver.environ)
    app.until("GiB")
    app.press("o")
    app.until(lambda: all(mark in app.shown for mark in MARKS))
    app.leave("Processes")
    finish(app)


def test_run_folder_names(start: Callable[..., KvtopOnPty], runs: Path) -> None:
    for text in TEXTS:
        write_run(runs, b"20991201T000000Z-" + as_file_name(text))
    app = start(size=BIG)
    app.started()
    app.press("r")
    app.until(lambda: all(mark in app.shown for mark in MARKS))
    for _ in TEXTS:
        app.press("j")
    app.press("\r")
    app.until("1 GPUs")
    app.until("some/model")
    finish(app)


def test_models_and_profiles_of_runs(start: Callable[..., KvtopOnPty], runs: Path) -> None:
    for number, text in enumerate(TEXTS):
        safe = text.encode("utf-8", "replace").decode()
        write_run(runs, f"20991201T0000{number:02}Z-scan-x", model=safe, requests=[request("r1", model=text)])
    app = start(size=BIG)
    app.started()
    app.press("r")
    app.until(lambda: all(mark in app.shown for mark in MARKS))
    app.leave("Enter opens")
    finish(app)


def test_errors_of_requests(start: Callable[..., KvtopOnPty], runs: Path) -> None:
    rows = [
        request(
            f"r{number}",
            model=text,
            tag=text[:60],
            cell=text,
            finish_reason=text,
            failure={"code": text[:40], "text": text, "hint": text, "status": 500},
            usage_raw={text: text},
            headers={text: text},
            notes=[text],
        )
        for number, text in enumerate(TEXTS)
    ]
    write_run(runs, NEWEST, requests=rows)
    app = start(size=BIG)
    app.started()
    app.press("2")
    app.until(lambda: MARKS[-1] in app.shown)
    for _ in TEXTS:
        app.press("\r")
        app.leave("Esc goes back")
        app.press("k")
    finish(app)


def test_findings(start: Callable[..., KvtopOnPty], runs: Path) -> None:
    found = [{"code": text, "severity": "problem", "text": text, "hint": text} for text in TEXTS]
    write_run(runs, NEWEST, findings=found)
    app = start(size=BIG)
    app.started()
    app.press("4")
    app.until(lambda: MARKS[0] in app.shown)
    app.press("\r")
    app.leave("Esc goes back")
    finish(app)


def test_profiles(start: Callable[..., KvtopOnPty], home: Path) -> None:
    folder = home / ".config/kvtop/profiles"
    folder.mkdir(parents=True)
    for text in TEXTS:
        target = folder / (as_file_name(text) + b".toml").decode("utf-8", "surrogateescape")
        shown = escaped(text)
        target.write_text(f'name = "{shown}"\nbase_url = "http://127.0.0.1:9"\nmodel = "{shown}"\n')
    app = start(size=BIG)
    app.started()
    app.press("s")
    app.until("Length scan")
    for _ in range(40):
        app.press("\x1b[A")
    app.until(lambda: b"h00" in app.written)
    app.leave("Length scan")
    finish(app)


def test_themes(start: Callable[..., KvtopOnPty], home: Path) -> None:
    folder = home / ".config/kvtop/themes"
    folder.mkdir(parents=True)
    for text in TEXTS:
        shown = escaped(text)
        target = folder / (as_file_name(text) + b".toml").decode("utf-8", "surrogateescape")
        target.write_text(f'name = "{shown}"\ndark = true\n[colors]\nprimary = "#ff0000"\n')
    app = start(size=BIG)
    app.started()
    app.until(lambda: b"h00" in app.written)
    app.press("t")
    app.leave("Enter keeps")
    finish(app)


@pytest.mark.parametrize("variable", ["KVTOP_PROFILE", "KVTOP_UI_THEME"])
def test_settings_of_the_environment(start: Callable[..., KvtopOnPty], variable: str) -> None:
    for name, text in HOSTILE.items():
        app = start(**{variable: "h99" + text.replace("\0", "").encode("utf-8", "replace").decode()})
        app.wait(DEADLINE_S)
        assert app.status == 2, name
        assert foreign_in(bytes(app.written)) == [], name
        assert b"h99" in app.written


class Engine(BaseHTTPRequestHandler):
    """Answers every path with a list of one model, whose words are hostile."""

    text = ""

    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": self.text, "owned_by": self.text, "root": self.text}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@pytest.fixture
def engine_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Engine) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["markup", "action", "combining"])
def test_model_of_an_engine(
    start: Callable[..., KvtopOnPty], home: Path, engine_url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text = "h77" + HOSTILE[name]
    monkeypatch.setattr(Engine, "text", text)
    folder = home / ".config/kvtop/profiles"
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_text(f'base_url = "{engine_url}"\nmodel = "{escaped(text)}"\n')
    app = start(size=BIG, KVTOP_PROFILE="lab")
    app.started()
    app.until("h77")
    finish(app)
