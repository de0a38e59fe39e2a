"""Running `kvtop scan` on an engine as a user does, and reading what it left behind."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtop.model.record import RequestRecord
from kvtop.runs.archive import find_run
from kvtop.runs.reader import read_requests

from .servers import RunningServer


@dataclass(frozen=True)
class Scanned:
    """A finished scan: its document and the records behind it."""

    document: dict[str, Any]
    records: list[RequestRecord]
    prompts: dict[str, str]
    """Whole prompts by request id, where --keep-bodies kept them; a reader shortens long texts."""

    def tagged(self, tag: str) -> list[RequestRecord]:
        """Return the measured requests of one kind."""
        return [record for record in self.records if record.tag == tag]


def scan(server: RunningServer, *arguments: str, code: int = 0) -> Scanned:
    """Run `kvtop scan --json` on `server` in a process of its own and return what it measured."""
    command = [sys.executable, "-m", "kvtop", "scan", "--base-url", server.base_url, "--model", server.model]
    done = subprocess.run([*command, "--json", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    document = json.loads(done.stdout)
    folder = find_run(Path(os.environ["XDG_DATA_HOME"]) / "kvtop" / "runs", document["run"])
    lines = [json.loads(line) for line in folder.requests_jsonl.read_text().splitlines()]
    prompts = {line["id"]: line["body"]["messages"][0]["content"] for line in lines if "body" in line}
    return Scanned(document, list(read_requests(folder).records), prompts)


def token_ids(server: RunningServer, prompt: str) -> list[int]:
    """Return the tokens that the engine makes of `prompt` inside its chat template."""
    messages = [{"role": "user", "content": prompt}]
    body: dict[str, Any] = {"model": server.model, "messages": messages, "add_generation_prompt": True}
    if server.engine == "llama.cpp":
        text = _post(server, "/apply-template", {"messages": messages})["prompt"]
        body = {"content": text, "add_special": True, "parse_special": True}
    return list(_post(server, "/tokenize", body)["tokens"])


def shared_tokens(server: RunningServer, first: str, second: str) -> int:
    """Return how many leading tokens two prompts share."""
    pair = (token_ids(server, prompt) for prompt in (first, second))
    shared = 0
    for left, right in zip(*pair, strict=False):
        if left != right:
            break
        shared += 1
    return shared


def _post(server: RunningServer, path: str, body: dict[str, Any]) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer
