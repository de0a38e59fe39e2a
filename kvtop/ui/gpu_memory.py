"""What processes hold of a GPU's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtop.model.reading import ProcessReading


def held_bytes(uuid: str, processes: Iterable[ProcessReading]) -> int | None:
    """Return what the listed processes hold of a GPU, None when none of them tells a size.

    The driver and the contexts of processes take memory besides, so it is less than what is used.
    """
    sizes = [
        process.gpu_mem_bytes
        for process in processes
        if process.uuid == uuid and process.gpu_mem_bytes is not None
    ]
    return sum(sizes) if sizes else None
