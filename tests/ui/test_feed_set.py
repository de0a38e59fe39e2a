from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from kvtop.ui.feed_set import RUN_SAMPLES_KEEP_S, FeedSet
from kvtop.ui.messages import GpuSnapshot
from tests.ui import gpu_host
from tests.ui.launching import launch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.message import Message

    from kvtop.ui.feeds.runs import RunFeed


def test_samples_of_a_live_run_stand_before_our_own() -> None:
    posted: list[Message] = []
    now = [100.0]
    feeds = FeedSet(launch(), posted.append, clock=lambda: now[0])
    own, of_run = gpu_host.snapshot(gpu_host.gpu(0)), gpu_host.snapshot(gpu_host.gpu(0))
    feeds._post_own(own)
    feeds._post_of_run(of_run)
    feeds._post_own(own)
    assert posted == [own, of_run]
    now[0] += RUN_SAMPLES_KEEP_S
    feeds._post_own(own)
    assert posted == [own, of_run, own]


def test_after_the_end_nothing_is_told() -> None:
    posted: list[Message] = []
    feeds = FeedSet(launch(), posted.append)
    feeds.stop()
    feeds._post_own(gpu_host.snapshot(gpu_host.gpu(0)))
    assert posted == []


def test_an_event_loop_that_has_ended_is_no_error() -> None:
    def post(message: Message) -> None:
        raise RuntimeError("Event loop is closed")

    FeedSet(launch(), post)._post_own(gpu_host.snapshot(gpu_host.gpu(0)))


def test_run_feed_learns_the_names_of_the_gpus_once() -> None:
    class Runs:
        def __init__(self) -> None:
            self.named: list[Mapping[str, str]] = []

        def name_gpus(self, names: Mapping[str, str]) -> None:
            self.named.append(names)

    feeds, runs = FeedSet(launch(), lambda message: None), Runs()
    feeds._runs = cast("RunFeed", runs)
    snapshot = gpu_host.snapshot(gpu_host.gpu(0), gpu_host.gpu(1))
    named = replace(snapshot.status, devices=tuple(reading.device for reading in snapshot.readings))
    for status in (snapshot.status, named, named):
        feeds._post_own(GpuSnapshot(snapshot.readings, (), status, {}, {}))
    assert runs.named == [{reading.device.uuid: reading.device.name for reading in snapshot.readings}]
