"""GPUs of the embedded simulator, read over loopback."""

from __future__ import annotations

import http.client
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.reading import GpuDevice
from kvtop.model.text import clean_text
from kvtop.telemetry.gpu.source import (
    DeviceLost,
    FieldMissing,
    GpuProcess,
    GpuUnavailable,
    Query,
    Values,
    select_devices,
)

PATH = "/sim/gpu"
TIMEOUT_S = 1.0
LARGEST_ANSWER_BYTES = 1_000_000

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_START_HINT = "Start it with --demo, or leave the simulator's address out."


class SimulatedSource:
    """The simulator's GPUs; one request answers all reads of a tick."""

    name = "simulated"

    def __init__(self, url: str, gpus: Sequence[str] = ()) -> None:
        self._connection = _connect(url)
        self._gpus = tuple(gpus)
        self._rows: Mapping[str, Mapping[str, Any]] = {}
        self._problem = "the simulator was not asked yet"

    def open(self) -> tuple[GpuDevice, ...]:
        """Ask for the GPUs. Raises GpuUnavailable when the simulator does not answer or has none."""
        self.refresh()
        if not self._rows:
            failure = Failure.of("simulator_unreachable", f"No simulated GPU: {self._problem}.", _START_HINT)
            raise GpuUnavailable(failure)
        return select_devices([_device(uuid, row) for uuid, row in self._rows.items()], self._gpus)

    def refresh(self) -> None:
        """Fetch the state of all GPUs; without an answer they all count as lost."""
        try:
            self._rows = _rows(self._fetch())
            self._problem = "the simulator has no such GPU"
        except (OSError, http.client.HTTPException) as error:
            self._rows, self._problem = {}, f"the simulator does not answer ({clean_text(error)})"
        except ValueError as error:
            self._rows, self._problem = {}, f"the simulator's answer is no GPU list ({clean_text(error)})"

    def read(self, device: GpuDevice, query: Query) -> Values:
        """Return the fields of `query` as last fetched. Raises FieldMissing or DeviceLost."""
        row = self._row(device)
        return {field: _number(row, field) for field in query.fields}

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:
        """Return the simulated processes as last fetched. Raises FieldMissing or DeviceLost."""
        listed = self._row(device).get("processes")
        if not isinstance(listed, list):
            raise FieldMissing("the simulator lists no processes")
        return tuple(_process(row) for row in listed)

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Return `device` when the simulator shows it again. Raises DeviceLost."""
        self._row(device)
        return device

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _row(self, device: GpuDevice) -> Mapping[str, Any]:
        try:
            return self._rows[device.uuid]
        except KeyError:
            raise DeviceLost(self._problem) from None

    def _fetch(self) -> bytes:
        try:
            return self._request()
        except (http.client.RemoteDisconnected, ConnectionError, http.client.CannotSendRequest):
            self._connection.close()
            return self._request()

    def _request(self) -> bytes:
        try:
            self._connection.request("GET", PATH)
            response = self._connection.getresponse()
            body = response.read(LARGEST_ANSWER_BYTES)
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if response.status != http.client.OK:
            raise ValueError(f"HTTP status {response.status}")
        return body


def _connect(url: str) -> http.client.HTTPConnection:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host not in _LOOPBACK or port is None:
        raise KvtopError(
            Failure.of(
                "simulator_address",
                f"{url!r} is not a simulator on this machine.",
                "Give an address such as http://127.0.0.1:8123.",
            )
        )
    return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)


def _rows(body: bytes) -> dict[str, Mapping[str, Any]]:
    document = json.loads(body)
    devices = document.get("devices") if isinstance(document, dict) else None
    if not isinstance(devices, list):
        raise ValueError("no list of devices")  # noqa: TRY004 - malformed JSON content is a ValueError
    return {clean_text(row["uuid"]): row for row in devices if isinstance(row, dict) and row.get("uuid")}


def _device(uuid: str, row: Mapping[str, Any]) -> GpuDevice:
    index = row.get("index")
    number = index if isinstance(index, int) else 0
    return GpuDevice(number, uuid, clean_text(row.get("name") or f"GPU {number}"))


def _number(row: Mapping[str, Any], field: str) -> float:
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FieldMissing("the simulator does not report it")
    return value


def _process(row: Any) -> GpuProcess:
    if not isinstance(row, dict) or not isinstance(row.get("pid"), int):
        raise FieldMissing("the simulator's process list is malformed")
    size = row.get("gpu_mem_bytes")
    name = row.get("name")
    return GpuProcess(row["pid"], size if isinstance(size, int) else None, clean_text(name) if name else None)
