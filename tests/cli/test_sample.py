from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from kvtop.cli.row_lateness import RowLateness
from kvtop.simulator.process import SimulatorProcess, start_simulator
from tests.cli.conftest import Kvtop
from tests.runner.program import ended, program, run_program


def test_a_demo_sample_writes_rows_and_a_summary(kvtop: Kvtop, tmp_path: Path) -> None:
    out = tmp_path / "gpu.csv"
    arguments = ("--out", str(out), "--duration", "0.5", "--interval", "20ms")
    ran = kvtop("sample", "--demo", *arguments, "--pid", str(os.getpid()), "--json")
    assert ran.code == 0
    header, *rows = out.read_text().splitlines()
    assert header.startswith("ts,gpu,uuid,mem_used_mib")
    assert len(rows) >= 5
    assert all(row.endswith(",simulated") for row in rows)
    engine = (tmp_path / "gpu.processes.csv").read_text().splitlines()
    assert f",{os.getpid()}," in engine[1]
    assert ran.json["schema"] == "kvtop.sample/1"
    assert ran.json["rows"] == len(rows) + len(engine) - 1
    assert ran.json["failure"] is None


def test_rows_may_go_to_stdout(kvtop: Kvtop) -> None:
    code, out, err = run_program("sample", "--demo", "--out", "-", "--duration", "0.3", "--interval", "20ms")
    assert code == 0
    header, *rows = out.splitlines()
    assert header.startswith("ts,gpu,")
    assert len(rows) >= 3
    assert "rows in stdout" in err


def test_a_reader_that_has_seen_enough_ends_the_sampling_quietly() -> None:
    with program("sample", "--demo", "--out", "-", "--interval", "20ms") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ts,")
        process.stdout.close()
        process.stdout = None
        code, _, err = ended(process)
    assert code == 0
    assert "Broken" not in err


@pytest.mark.parametrize(("duration", "code"), [((), 0), (("--duration", "60s"), 130)])
def test_a_signal_ends_the_sampling_with_all_rows(
    tmp_path: Path, duration: tuple[str, ...], code: int
) -> None:
    out = tmp_path / "gpu.csv"
    with program("sample", "--demo", "--out", str(out), "--interval", "20ms", *duration) as process:
        while not out.exists() or out.read_bytes().count(b"\n") < 3:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == code
    assert out.read_bytes().endswith(b",simulated\n")


@pytest.mark.parametrize("place", ["missing/gpu.csv", "file/gpu.csv", "."])
def test_a_place_that_cannot_be_written(kvtop: Kvtop, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    ran = kvtop("sample", "--demo", "--out", str(tmp_path / place), "--duration", "0.1")
    assert (ran.code, ran.out) == (2, "")
    assert "cannot be written" in ran.err


def test_a_full_disk_from_the_start(kvtop: Kvtop) -> None:
    ran = kvtop("sample", "--demo", "--out", "/dev/full", "--duration", "0.1")
    assert ran.code == 2
    assert "No space left" in ran.err


def test_two_things_on_stdout_contradict(kvtop: Kvtop) -> None:
    ran = kvtop("sample", "--demo", "--out", "-", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "both want stdout" in ran.err


def test_without_a_gpu_there_is_nothing_to_sample(kvtop: Kvtop, tmp_path: Path) -> None:
    ran = kvtop("sample", "--out", str(tmp_path / "gpu.csv"), "--duration", "0.1", "--gpus", "77")
    assert ran.code == 2
    assert ran.err.startswith("kvtop: ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_holds_something_is_left_alone(kvtop: Kvtop, tmp_path: Path) -> None:
    out = tmp_path / "gpu.csv"
    out.write_text("precious\n")
    arguments = ("sample", "--demo", "--out", str(out), "--duration", "0.3", "--interval", "20ms")
    ran = kvtop(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "--force" in ran.err
    assert out.read_text() == "precious\n"
    assert kvtop(*arguments, "--force").code == 0
    assert out.read_text().startswith("ts,gpu,")
    assert "precious" not in out.read_text()


def test_processes_of_an_earlier_sample_are_left_alone(kvtop: Kvtop, tmp_path: Path) -> None:
    out, beside = tmp_path / "gpu.csv", tmp_path / "gpu.processes.csv"
    beside.write_text("precious\n")
    ran = kvtop("sample", "--demo", "--out", str(out), "--pid", str(os.getpid()), "--duration", "0.1")
    assert ran.code == 2
    assert beside.name in ran.err
    assert not out.exists()


def test_an_empty_file_may_be_filled(kvtop: Kvtop, tmp_path: Path) -> None:
    out = tmp_path / "gpu.csv"
    out.touch()
    assert kvtop("sample", "--demo", "--out", str(out), "--duration", "0.3", "--interval", "20ms").code == 0
    assert out.read_text().count("\n") > 1


def test_a_forced_sample_that_cannot_start_empties_nothing(kvtop: Kvtop, tmp_path: Path) -> None:
    out = tmp_path / "gpu.csv"
    out.write_text("precious\n")
    ran = kvtop("sample", "--demo", "--gpus", "7", "--out", str(out), "--force", "--duration", "0.1")
    assert ran.code == 2
    assert "There is no GPU '7'" in ran.err
    assert out.read_text() == "precious\n"


def test_a_process_that_is_not_there(kvtop: Kvtop, tmp_path: Path) -> None:
    ran = kvtop("sample", "--demo", "--out", str(tmp_path / "gpu.csv"), "--pid", "4194304")
    assert (ran.code, ran.out) == (2, "")
    assert "There is no process 4194304" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_told_of_lateness_is_what_the_rows_hold(kvtop: Kvtop, tmp_path: Path) -> None:
    out = tmp_path / "gpu.csv"
    ran = kvtop("sample", "--demo", "--out", str(out), "--duration", "0.5", "--interval", "20ms", "--json")
    late_ms = sorted(float(line.split(",")[-2]) for line in out.read_text().splitlines()[1:])
    assert ran.json["late_max_s"] * 1000 == pytest.approx(late_ms[-1])
    assert ran.json["late_p50_s"] * 1000 == pytest.approx(late_ms[(len(late_ms) + 1) // 2 - 1])


def test_lateness_without_rows_is_unknown() -> None:
    late = RowLateness()
    assert late.percentile(0.99) is None
    for number in range(100):
        late.add(number / 1000)
    assert late.percentile(0.99) == pytest.approx(0.098)


def test_an_interval_that_is_none(kvtop: Kvtop, tmp_path: Path) -> None:
    ran = kvtop("sample", "--demo", "--out", str(tmp_path / "gpu.csv"), "--interval", "0")
    assert ran.code == 2
    assert "--interval" in ran.err


def test_the_simulator_ends_with_the_command() -> None:
    with start_simulator() as simulator:
        assert isinstance(simulator, SimulatorProcess)
    assert not simulator.is_running
