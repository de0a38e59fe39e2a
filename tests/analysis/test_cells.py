from __future__ import annotations

from dataclasses import replace

from kvtop.analysis.cells import in_time_order, is_cell, missing_cells, scan_points
from kvtop.model.failure import Failure
from tests.analysis.planted import plan, requests

FAILURE = Failure("timeout", "Too slow.")


def test_one_point_for_each_length_and_prefix_in_the_plans_order() -> None:
    scan = plan((4096, 8192), 2, "both")
    points = scan_points(scan, requests(scan))
    assert [(p.target_tokens, p.prefix, len(p.measured)) for p in points] == [
        (4096, "cold", 2),
        (4096, "reused", 2),
        (8192, "cold", 2),
        (8192, "reused", 2),
    ]


def test_what_was_not_sent_is_a_point_of_none() -> None:
    points = scan_points(plan((4096, 8192)), [])
    assert [len(p.records) for p in points] == [0, 0]
    assert len(missing_cells(plan((4096, 8192)), points)) == 6


def test_a_cell_measured_twice_counts_once_and_the_last_wins() -> None:
    first, *rest = requests(plan((4096,)))
    broken = replace(first, failure=FAILURE)
    again = replace(first, id="9", ts=first.ts + 100, ttft_s=9.0)
    (point,) = scan_points(plan((4096,)), [broken, *rest, again])
    assert len(point.measured) == 3
    assert not point.failed
    assert [r.ttft_s for r in in_time_order([point])][-1] == 9.0


def test_calibration_and_priming_are_no_cells_but_a_failed_priming_is_its_cell_failed() -> None:
    scan = plan((4096,), 1, "reused")
    (cell,) = requests(scan)
    calibration = replace(cell, cell="", tag="calibrate", failure=FAILURE)
    priming = replace(cell, tag="prime")
    assert not is_cell(calibration)
    assert not is_cell(priming)
    (point,) = scan_points(scan, [calibration, priming, replace(priming, failure=FAILURE)])
    assert len(point.failed) == 1


def test_records_that_the_plan_does_not_name_get_points_of_their_own() -> None:
    record = replace(requests(plan((512,), 1))[0], cell="odd cell")
    points = scan_points(plan((4096,), 1), [record])
    assert [(p.target_tokens, len(p.records)) for p in points] == [(4096, 0), (512, 1)]


def test_a_record_without_a_place_is_left_out() -> None:
    record = replace(requests(plan((512,), 1))[0], cell="odd", target_tokens=None)
    assert [len(p.records) for p in scan_points(plan((512,), 1), [record])] == [0]
