"""How fast the request log opens, scrolls and filters a file of many requests, and how long keys wait.

    python benchmarks/request_log.py [--rows 100000] [--keys 40] [--size 120x40]

Prints one JSON document, times in milliseconds. `on_screen_ms` is from opening the file to the newest
row drawn; `key_ms` from a key to the rows it brings, while the log is at rest, indexes and searches;
`lag_ms` is how late a 2 ms timer of the event loop is meanwhile. Budgets: 100,000 rows on screen in
300 ms; with 1,000,000 no key waits. The terminal is simulated: nothing is written to one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from textual import events
from textual.app import App, ComposeResult

from kvtop.model.failure import Failure
from kvtop.model.record import RequestRecord
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.theme_files import load_themes
from kvtop.ui.widgets.request_log import RequestLog

LENGTHS = (4096, 16384, 32768, 65536, 131072)
FILTERS = ("failed", "tag:reused", "prompt>100k ttft<2s", "nothing-like-this", "prompt>0")
PATIENCE_S = 300.0


class LogApp(App[None]):
    """A log and nothing else, which notes when it has drawn."""

    def __init__(self) -> None:
        super().__init__()
        theme, _ = load_themes({}).choose(None)
        self.register_theme(theme)
        self.theme = theme.name
        self.log_widget = RequestLog(Glyphs())

    def compose(self) -> ComposeResult:
        yield self.log_widget

    def on_mount(self) -> None:
        self.log_widget.focus()


def write_log(path: Path, rows: int) -> None:
    """Write a log as a runner does."""
    lines = []
    for number in range(100):
        record = sample_record(number)
        lines.append(json.dumps(record.to_json(), separators=(",", ":")).partition(",")[2])
    with path.open("w") as file:
        for start in range(0, rows, 100):
            file.write("".join(f'{{"id":"{start + i:08}",{line}\n' for i, line in enumerate(lines)))


def sample_record(number: int) -> RequestRecord:
    length = LENGTHS[number % 5]
    failure = Failure.of("timeout", "No answer in time.", status=504) if number % 33 == 0 else None
    return RequestRecord(
        id="",
        cell=f"{length}/cold/{number % 3 + 1}",
        tag=("cold", "reused")[number % 2],
        ts=1764600000.0 + number,
        end_ts=1764600003.0 + number,
        dialect="openai-chat",
        model="deepseek-v4.1-flash",
        target_tokens=length,
        prompt_tokens=length + number,
        completion_tokens=64,
        cached_tokens=number % 2 * length // 2,
        usage_source="usage",
        ttft_s=0.3 + number % 7,
        ttft_answer_s=0.3 + number % 7,
        last_token_s=2.9 + number % 7,
        latency_s=3.0 + number % 7,
        decode_tok_s=24.5,
        e2e_tok_s=21.3,
        finish_reason="length",
        status=200,
        failure=failure,
        prompt_words=length,
        max_tokens=64,
        text_events=64,
        usage_raw={"prompt_tokens": length, "completion_tokens": 64, "total_tokens": length + 64},
        headers={"server": "uvicorn", "x-request-id": f"{number:032}"},
    )


async def until(holds: Callable[[], bool]) -> float:
    """Wait until something holds. Return how long it took, in seconds."""
    start = time.perf_counter()
    while not holds():
        if time.perf_counter() - start > PATIENCE_S:
            raise TimeoutError
        await asyncio.sleep(0.0005)
    return time.perf_counter() - start


async def press(app: LogApp, key: str) -> float:
    """Return how long it takes from a key to another window on the rows, drawn, in seconds."""
    table = app.log_widget.table
    before, drawn = table.place.cursor, asyncio.Event()
    app.post_message(events.Key(key, None))
    waited = await until(lambda: table.place.cursor != before)
    start = time.perf_counter()
    app.call_after_refresh(drawn.set)
    await drawn.wait()
    return waited + time.perf_counter() - start


async def press_while(app: LogApp, going_on: Callable[[], bool], most: int) -> dict[str, object]:
    """Page up while something goes on, and from the oldest row to the newest."""
    lags: list[float] = []
    watch = asyncio.ensure_future(watch_lag(lags))
    waits: list[float] = []
    table = app.log_widget.table
    while len(waits) < most and (going_on() or not waits) and len(table.view) > 1:
        waits.append(await press(app, "pageup" if table.place.cursor else "end"))
    watch.cancel()
    return {"keys": len(waits), "key_ms": spread(waits), "lag_ms": spread(lags)}


async def watch_lag(lags: list[float]) -> None:
    while True:
        start = time.perf_counter()
        await asyncio.sleep(0.002)
        lags.append(time.perf_counter() - start - 0.002)


def spread(seconds: list[float]) -> dict[str, float]:
    """Return median, 95th percentile and maximum in milliseconds."""
    ordered = sorted(seconds) or [0.0]
    picked = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)], ordered[-1])
    return dict(zip(("p50", "p95", "max"), (in_ms(value) for value in picked), strict=True))


def in_ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


async def open_file(app: LogApp, path: Path, keys: int) -> dict[str, object]:
    log = app.log_widget
    drawn = asyncio.Event()
    start = time.perf_counter()
    log.open(path)
    await until(lambda: log.selected is not None)
    app.call_after_refresh(drawn.set)
    await drawn.wait()
    on_screen = time.perf_counter() - start
    meanwhile = await press_while(app, lambda: not log.rows.complete, keys)
    await until(lambda: log.rows.complete and not log.position.is_reading)
    indexed = time.perf_counter() - start
    return {"on_screen_ms": in_ms(on_screen), "indexed_ms": in_ms(indexed), "while_indexing": meanwhile}


async def run_filter(app: LogApp, text: str, keys: int) -> dict[str, object]:
    log = app.log_widget
    before = log.table.view
    start = time.perf_counter()
    log.filter(text)
    await until(lambda: log.table.view is not before and (len(log.table.view) > 0 or not log.is_searching))
    first = time.perf_counter() - start
    meanwhile = await press_while(app, lambda: log.is_searching, keys) if len(log.table.view) else None
    await until(lambda: not log.is_searching)
    all_found = time.perf_counter() - start
    found = len(log.table.view)
    log.filter("")
    await until(lambda: not log.position.is_filtered)
    return {"found": found, "first_ms": in_ms(first), "all_ms": in_ms(all_found), "meanwhile": meanwhile}


async def measure(path: Path, keys: int, size: tuple[int, int]) -> dict[str, object]:
    app = LogApp()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        opened = await open_file(app, path, keys)
        at_rest = await press_while(app, lambda: True, keys)
        filters = {text: await run_filter(app, text, keys) for text in FILTERS}
    return {**opened, "at_rest": at_rest, "filters": filters}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=40)
    parser.add_argument("--size", default="120x40")
    options = parser.parse_args()
    width, _, height = options.size.partition("x")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests.jsonl"
        write_log(path, options.rows)
        megabytes = round(path.stat().st_size / 1e6, 1)
        result = asyncio.run(measure(path, options.keys, (int(width), int(height))))
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"rows": options.rows, "file_mb": megabytes, "peak_rss_mib": round(peak_mib, 1), **result})
    )


if __name__ == "__main__":
    main()
