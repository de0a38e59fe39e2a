"""`kvtop scan`: the length scan."""

from __future__ import annotations

import argparse
import os
import secrets
import time

from kvtop.cli import arguments as arg
from kvtop.cli.before_sending import refuse_boundless, refuse_small_budget, what_fits
from kvtop.cli.bench import Bench, set_up
from kvtop.cli.careful_analysis import analyse_carefully
from kvtop.cli.consent import ask_before_spending
from kvtop.cli.ending import end_run
from kvtop.cli.run_in_front import run_in_front
from kvtop.model.estimate import estimate_scan
from kvtop.model.plan import ScanPlan
from kvtop.runner.assignment import Assignment
from kvtop.runs.layout import create_run_folder
from kvtop.settings.config import Settings, load_settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `kvtop scan`."""
    plan = parser.add_argument_group("plan")
    plan.add_argument(
        "--lengths", type=arg.lengths, metavar="4k,16k,…", help="prompt tokens (default 4k,16k,32k,64k,128k)"
    )
    plan.add_argument("--repeats", type=arg.at_least_one, metavar="N", help="requests per length (default 3)")
    plan.add_argument(
        "--prefix", choices=("cold", "reused", "both"), help="share nothing, reuse a prefix, or pairs of both"
    )
    plan.add_argument(
        "--max-tokens",
        type=arg.at_least_one,
        metavar="N",
        help="answer tokens (default 64, more where memory is read)",
    )
    plan.add_argument("--temperature", type=arg.not_negative, metavar="T", help="default 0")
    plan.add_argument("--timeout", type=arg.duration, metavar="300s", help="longest time for one request")
    plan.add_argument("--interval", type=arg.duration, metavar="100ms", help="time between memory samples")
    plan.add_argument(
        "--seed", type=arg.seed, metavar="N", help="the same prompts again; the server may have them cached"
    )
    plan.add_argument(
        "--max-total-tokens", type=arg.tokens, metavar="N", help="a budget that is never exceeded"
    )
    plan.add_argument("--keep-bodies", action="store_true", help="keep prompts and answers in the run folder")
    arg.add_endpoint(parser)
    arg.add_runs_dir(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask before tokens are spent")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    settings = load_settings(os.environ, _flags(options))
    plan = _plan(options, settings)
    with set_up(options, settings, os.environ) as bench:
        target = bench.target
        fitting = what_fits(plan, target.endpoint)
        refuse_small_budget(plan, fitting.cells()[0], calibrated=False)
        estimate = estimate_scan(fitting, local=target.path == "local", price=target.endpoint.price)
        ask_before_spending(estimate, costs=target.path == "api", agreed=options.yes)
        folder = create_run_folder(settings.runs.dir, "scan", target.endpoint.model, time.time())
        result = run_in_front(assign(plan, bench), folder)
    return end_run(result, as_json=options.json)


def assign(plan: ScanPlan, bench: Bench) -> Assignment:
    """Return what the runner is to do for `plan` on `bench`."""
    return Assignment(
        plan,
        bench.target.endpoint,
        bench.target.path,
        analyse_carefully,
        source=bench.source,
        engine_pid=bench.target.engine_pid,
        engine_found=bench.target.engine_found,
        demo=bench.demo,
    )


def _flags(options: argparse.Namespace) -> dict[str, object]:
    return {
        "runs.dir": options.runs_dir,
        "sampling.interval": options.interval,
        "requests.timeout": options.timeout,
        "requests.max_tokens": options.max_tokens,
        "requests.temperature": options.temperature,
        "scan.lengths": options.lengths,
        "scan.repeats": options.repeats,
        "scan.prefix": options.prefix,
    }


def _plan(options: argparse.Namespace, settings: Settings) -> ScanPlan:
    """A run without --seed gets prompts that no earlier run has sent, or the server's cache would answer.

    Raises KvtopError `too_many_requests`.
    """
    plan = ScanPlan(
        lengths=settings.scan.lengths,
        repeats=settings.scan.repeats,
        prefix=settings.scan.prefix,
        max_tokens=settings.requests.max_tokens,
        temperature=settings.requests.temperature,
        timeout_s=settings.requests.timeout_s,
        interval_s=settings.sampling.interval_s,
        seed=secrets.randbits(32) if options.seed is None else options.seed,
        max_total_tokens=options.max_total_tokens,
        keep_bodies=options.keep_bodies,
    )
    refuse_boundless(plan)
    return plan
