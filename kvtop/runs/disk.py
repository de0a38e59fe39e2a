"""Private files, atomic replacement, and what a failed write is called."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from pathlib import Path
from typing import BinaryIO

from kvtop.model.failure import Failure, KvtopError

FOLDER_MODE = 0o700
FILE_MODE = 0o600

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_SYNC = frozenset({errno.EINVAL, errno.ENOSYS})
_HINTS = {
    errno.EROFS: "The file system is read-only; choose another folder for the runs.",
    errno.EIO: "The disk reports an error; look at the kernel log and choose another folder for the runs.",
    errno.EFBIG: "A file size limit was reached; see `ulimit -f`.",
    errno.ELOOP: "Remove the link, or work on a copy of the folder.",
    errno.EACCES: "Check who owns the folder and its permissions.",
}
_serial = itertools.count()


def write_error(path: Path, error: OSError, code: str = "write_failed") -> KvtopError:
    """Return the error for a write to `path` that failed: `disk_full` where space ran out, else `code`."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        hint = f"Free space for {path.parent}, then go on; what was written before is kept."
        return KvtopError(Failure.of("disk_full", f"Cannot write {path}: {reason}.", hint))
    hint = _HINTS.get(error.errno or 0, "Choose another folder for the runs.")
    return KvtopError(Failure.of(code, f"Cannot write {path}: {reason}.", hint))


def make_private_folder(path: Path) -> None:
    """Create one folder with mode 0700 whatever the umask. Raises OSError."""
    path.mkdir(FOLDER_MODE)
    path.chmod(FOLDER_MODE)


def open_private(path: Path, flags: int) -> int:
    """Open `path`, created with mode 0600 whatever the umask, not inherited on exec.

    Raises KvtopError (`disk_full`, `write_failed`).
    """
    try:
        return _open(path, flags)
    except OSError as error:
        raise write_error(path, error) from error


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises OSError, also for a device or a pipe, which may never end."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return os.fdopen(fd, "rb")


def replace_file(path: Path, data: bytes) -> None:
    """Replace `path` with `data` so that a reader, or a crash, meets the old or the new content whole.

    Raises KvtopError (`disk_full`, `write_failed`); the old content stays then.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_serial)}")
    try:
        _write_synced(temporary, data)
        temporary.replace(path)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def sync(fd: int) -> None:
    """Bring a file to the disk, where its file system knows how to. Raises OSError."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _open(path: Path, flags: int) -> int:
    # A folder that came from elsewhere must not make kvtop write to a file outside of it.
    if path.is_symlink() and not path.is_char_device():
        raise OSError(errno.ELOOP, "It is a link, and only files of the run folder are written", str(path))
    fd = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode) and stat.S_IMODE(mode) != FILE_MODE:
        os.fchmod(fd, FILE_MODE)
    return fd


def _write_synced(path: Path, data: bytes) -> None:
    with os.fdopen(_open(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(data)
        file.flush()
        sync(file.fileno())
