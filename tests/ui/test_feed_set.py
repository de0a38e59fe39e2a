from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.ui.feed_set import RUN_SAMPLES_KEEP_S, FeedSet
from tests.ui import gpu_host
from tests.ui.launching import launch

if TYPE_CHECKING:
    from textual.message import Message


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
