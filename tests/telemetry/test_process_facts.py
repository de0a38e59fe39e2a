"""Facts about a process: never a key in a command line, never an error for one that has ended."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kvtop.model.secret import MASK
from kvtop.telemetry.process_facts import ProcessFacts, masked_command, process_facts


def test_facts_of_this_process() -> None:
    facts = process_facts(os.getpid())
    assert facts.user
    assert facts.command
    assert facts.rss_bytes
    assert facts.rss_bytes > 1_000_000


def test_ended_process_has_no_facts() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert process_facts(ended.pid) == ProcessFacts()


@pytest.mark.parametrize("pid", [-1, 2**22 + 1, 2**80])
def test_impossible_pid_has_no_facts(pid: int) -> None:
    assert process_facts(pid) == ProcessFacts()


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["vllm", "serve", "--api-key", "abc", "--port", "8000"], f"vllm serve --api-key {MASK} --port 8000"),
        (["vllm", "--api-key", "a", "b", "--x"], f"vllm --api-key {MASK} {MASK} --x"),
        (["x", "--hf-token=abc"], f"x --hf-token={MASK}"),
        (["x", "--api_key=abc"], f"x --api_key={MASK}"),
        (["env", "OPENAI_API_KEY=abc", "x"], f"env OPENAI_API_KEY={MASK} x"),
        (["curl", "-H", "Authorization: Bearer abc"], f"curl -H Authorization: Bearer {MASK}"),
        (["x", "sk-0123456789abcdef"], f"x {MASK}"),
        (["x", "http://me:pass@host/a"], f"x http://{MASK}@host/a"),
        (["x", "--max-tokens", "64", "--tokenizer", "t"], "x --max-tokens 64 --tokenizer t"),
        (["x\x1b[2J\n", "‮y"], "x y"),
        ([], ""),
    ],
)
def test_command_lines(arguments: list[str], shown: str) -> None:
    assert masked_command(arguments) == shown


def test_long_command_is_cut() -> None:
    assert len(masked_command(["x"] * 1000)) == 300
