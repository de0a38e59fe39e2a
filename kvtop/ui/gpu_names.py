"""Names of GPUs as short as a row has room for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtop.model.reading import GpuDevice

_COMPANY = re.compile(r"\b(?:NVIDIA|SIMULATED|Corporation|Graphics|Device|GPU)\b", re.IGNORECASE)
_FAMILY = re.compile(r"\b(?:GeForce|Tesla|Quadro)\b", re.IGNORECASE)
_FORM = re.compile(r"[- ](?:SXM\d?|PCIE|PCIe|HBM\w*|NVL|OAM)\b")
_SIZE = re.compile(r"[- ]?\d+ ?G[Bi]+\b")
_SLICE = re.compile(r"\bMIG (\d+g\.\d+gb\S*)")


def gpu_index(device: GpuDevice) -> str:
    """Return the GPU's place in the driver's list, for a MIG slice with its own: `0.1`."""
    return str(device.index) if device.slice_index is None else f"{device.index}.{device.slice_index}"


def short_name(name: str) -> str:
    """Return `H100` for `NVIDIA H100 80GB HBM3`, `RTX 4090` for `NVIDIA GeForce RTX 4090`.

    A MIG slice is told by its profile (`1g.10gb`). What nothing is left of keeps its name.
    """
    if (mig := _SLICE.search(name)) is not None:
        return mig[1]
    text = name
    for pattern in (_COMPANY, _FAMILY, _FORM, _SIZE):
        text = pattern.sub("", text)
    return " ".join(text.split()).strip("- ") or name
