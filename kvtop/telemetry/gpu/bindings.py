"""Finding NVIDIA's own Python bindings among the packages that bring a module `pynvml`."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from importlib import metadata
from pathlib import Path
from types import ModuleType

from kvtop.telemetry.gpu import nvml_failures as failures
from kvtop.telemetry.gpu.source import GpuUnavailable

_DISTRIBUTION = "nvidia-ml-py"
_OWN_NAME = "_kvtop_pynvml"


def load_bindings() -> ModuleType:
    """Import NVIDIA's bindings, without loading the driver library.

    The package `pynvml` 11 shadows the module of nvidia-ml-py, which is then loaded from its file.
    Raises GpuUnavailable when there is none, or only an outdated one such as that of nvidia-ml-py3.
    """
    imported = _import()
    if imported is not None and _is_current(imported) and not hasattr(imported, "__path__"):
        return imported
    own = _load_own_file()
    for module in (own, imported):
        if module is not None and _is_current(module):
            return module
    if imported is None:
        raise GpuUnavailable(failures.no_bindings())
    raise GpuUnavailable(failures.wrong_bindings(str(getattr(imported, "__file__", "?"))))


def _import() -> ModuleType | None:
    try:
        with warnings.catch_warnings():  # the package pynvml 13 warns on import, onto our screen
            warnings.simplefilter("ignore")
            import pynvml
    except ImportError:
        return None
    module: ModuleType = pynvml
    return module


def _is_current(module: ModuleType) -> bool:
    return hasattr(module, "nvmlMemory_v2")


def _load_own_file() -> ModuleType | None:
    if _OWN_NAME in sys.modules:
        return sys.modules[_OWN_NAME]
    try:
        path = Path(str(metadata.distribution(_DISTRIBUTION).locate_file("pynvml.py")))
    except metadata.PackageNotFoundError:
        return None
    spec = importlib.util.spec_from_file_location(_OWN_NAME, path)
    if spec is None or spec.loader is None or not path.is_file():
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_OWN_NAME] = module  # the bindings look themselves up there while they load
    spec.loader.exec_module(module)
    return module
