"""Everything a measurement stands on: the endpoint, the simulator if asked for, the telemetry."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kvtop.api.client import ApiClient
from kvtop.cli.engine_process import require_process
from kvtop.cli.exit_codes import EndpointError
from kvtop.cli.target import Target, choose_target
from kvtop.experiments.unusable import UNUSABLE
from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import Failure, KvtopError
from kvtop.settings.config import Settings
from kvtop.simulator.process import start_simulator
from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.gpu.source import GpuSource


@dataclass(frozen=True, slots=True)
class Bench:
    """A target with the source of its GPU readings (None where this host's memory says nothing of it)."""

    target: Target
    source: GpuSource | None
    demo: str | None = None


@contextlib.contextmanager
def set_up(options: argparse.Namespace, settings: Settings, environ: Mapping[str, str]) -> Iterator[Bench]:
    """Yield the bench that the options ask for, with a simulator that lives as long as the block.

    Raises KvtopError for a target that is missing, unknown or has no model, or a --pid that is none.
    """
    require_process(options.pid)
    if options.demo:
        _refuse_endpoint(options)
        with simulated(options.demo_engine) as bench:
            yield bench
        return
    yield real(with_model(choose_target(options, settings, environ)))


@contextlib.contextmanager
def simulated(engine: str) -> Iterator[Bench]:
    """Yield a bench on a simulator of its own."""
    with start_simulator("paged" if engine == "paged" else "growing") as simulator:
        endpoint = Endpoint(simulator.base_url, simulator.model, name="demo", simulated=True)
        yield Bench(
            Target(endpoint, "local", None), open_source(simulator_url=simulator.base_url), demo=engine
        )


def real(target: Target) -> Bench:
    """Return the bench of a real target; GPUs are looked at only where the engine runs on this host.

    Raises KvtopError for an endpoint that cannot be asked: `bad_url`, `bad_header`, `bad_dialect`.
    """
    ApiClient(target.endpoint)
    return Bench(target, open_source() if target.path == "local" else None)


def with_model(target: Target) -> Target:
    """Return the target with a model id: the one given, or the server's only one.

    Raises KvtopError `no_model` when the server has several or does not tell, EndpointError when it cannot
    be reached or refuses.
    """
    if target.endpoint.model:
        return target
    listing = asyncio.run(_models(target.endpoint))
    if isinstance(listing, Failure) and listing.code in UNUSABLE:
        raise EndpointError(listing)
    if isinstance(listing, Failure):
        text = f"No --model given, and the server does not tell its models: {listing.text}"
        raise KvtopError(Failure("no_model", text, listing.hint or "Add --model ID."))
    if len(listing) != 1:
        known = ", ".join(listing[:8]) or "none"
        raise KvtopError(
            Failure("no_model", f"No --model given, and the server has {known}.", "Add --model ID.")
        )
    return replace(target, endpoint=replace(target.endpoint, model=listing[0]))


def _refuse_endpoint(options: argparse.Namespace) -> None:
    given = options.base_url or options.profile
    if given:
        text = f"--demo brings its own endpoint and contradicts {given}."
        raise KvtopError(Failure.of("contradiction", text, "Give one of them."))


async def _models(endpoint: Endpoint) -> list[str] | Failure:
    async with ApiClient(endpoint, timeout_s=15.0) as client:
        listing = await client.models()
    return listing if isinstance(listing, Failure) else list(listing.ids)
