from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Kvtop
from tests.experiments.chat_server import ChatServer
from tests.runner.program import latest, scan_arguments


@pytest.fixture(autouse=True)
def _no_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)


def test_a_run_without_polars_is_measured_kept_and_says_so(kvtop: Kvtop, server: ChatServer) -> None:
    ran = kvtop(*scan_arguments(server.url, "--json"))
    assert ran.code == 0
    assert "polars cannot be loaded" in ran.err
    assert (ran.json["path"], ran.json["state"]) == ("local", "done")
    assert [point["n"] for point in ran.json["points"]] == [2, 2]
    (finding,) = [finding for finding in ran.json["findings"] if finding["code"] == "polars_missing"]
    assert "runs show --recompute" in finding["hint"]
    assert latest().findings_json.exists()
    shown = kvtop("runs", "show", "--recompute")
    assert shown.code == 0
    assert "polars cannot be loaded" in shown.out


def test_findings_with_memory_are_not_replaced_by_some_without(
    kvtop: Kvtop, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as with_polars:
        with_polars.delitem(sys.modules, "polars")
        assert kvtop(*scan_arguments(server.url)).code == 0
    kept = latest().findings_json.read_bytes()
    monkeypatch.setitem(sys.modules, "polars", None)
    assert "polars cannot be loaded" in kvtop("runs", "show", "--recompute").out
    assert latest().findings_json.read_bytes() == kept
