from __future__ import annotations

from functools import partial

import pytest

from kvtop.cli import demo
from kvtop.simulator.process import start_simulator
from tests.cli.conftest import Kvtop
from tests.runner.program import latest


@pytest.fixture(autouse=True)
def _short(kvtop: Kvtop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvtop.experiments.steady.WINDOW_S", 1.0)
    monkeypatch.setattr("kvtop.experiments.steady.LONGEST_WAIT_S", 15.0)
    monkeypatch.setattr(demo, "DEMO_LENGTHS", (2048, 8192, 16384))
    monkeypatch.setattr("kvtop.experiments.answer_length.DECODE_S", 0.45)
    monkeypatch.setattr("kvtop.cli.bench.start_simulator", partial(start_simulator, time_scale=4))


def test_the_demo_prints_a_slope_and_curves_and_says_simulated(kvtop: Kvtop) -> None:
    ran = kvtop("--demo")
    assert ran.code == 0
    assert "Every number is SIMULATED" in ran.err
    assert "memory over base in" in ran.out
    assert "TTFT in ms" in ran.out
    assert "●" in ran.out
    assert "KiB" in ran.out
    lines = ran.out.splitlines()
    assert "SIMULATED" in lines[0]
    assert lines[1].startswith("memory: GPU 0 ")
    last_curve = max(index for index, line in enumerate(lines) if line.strip() == "prompt tokens")
    assert last_curve < next(index for index, line in enumerate(lines) if line.split()[:1] == ["length"])
    assert "KiB" in " ".join(lines[-3:])
    assert max(map(len, kvtop("runs", "list").out.splitlines())) <= 80
    assert max(map(len, ran.out.splitlines())) <= 80
    assert kvtop("runs", "list", "--json").json["runs"][0]["simulated"] is True
    assert latest().gpu_csv.read_text().splitlines()[1].endswith(",simulated")


def test_a_paged_demo_gives_no_slope_and_says_why(kvtop: Kvtop) -> None:
    ran = kvtop("--demo", "--demo-engine", "paged")
    assert ran.code == 0
    document = kvtop("runs", "show", "--json").json
    assert document["kv_slope"] is None
    assert "SIMULATED" in ran.out
    assert "at start" in " ".join(ran.out.split())
    assert "0 B per token" not in ran.out


def test_the_demo_as_json_is_the_document_of_a_scan(kvtop: Kvtop) -> None:
    ran = kvtop("--demo", "--json")
    assert ran.code == 0
    assert ran.json["schema"] == "kvtop.scan/1"
    assert ran.json["simulated"] is True
