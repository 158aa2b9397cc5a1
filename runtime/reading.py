"""
Files that are read: nothing waits for another program that may never come, and nothing is read from
devices, which may have no end.

What people name on the command line may also be the pipe of a shell, `<(…)`; what files name, only a
regular file beside them.
"""

import hashlib
import os
import stat
from errno import EFBIG, EINVAL, EISDIR
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

MAX_SOURCE_BYTES = 2**31
"""What a model or text may have: protobuf's limit."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
"""A named pipe is opened without waiting for a writer."""
_CHUNK = 1 << 20

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class LocationError(Exception):
    """A location leads to no file beside another; the message says why."""


def open_regular(path: str | Path) -> BinaryIO:
    """Opens a regular file. Raises OSError that names `path` and says what it is instead."""
    return _opened(path, 0, pipes=False)


def read_source(path: str | Path) -> bytes:
    """
    The content of a regular file, or of a pipe that another program writes to; at most 2 GiB.

    Raises OSError that names `path` and says what it is instead.
    """
    with _opened(path, 0, pipes=True) as file:
        parts: list[bytes] = []
        size, found = size_of(file), 0
        # A pipe has no size, and a file may not keep its own.
        while size <= MAX_SOURCE_BYTES and (part := file.read(max(size - found, _CHUNK))):
            parts.append(part)
            found += len(part)
            size = max(size, found)
        if not parts and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise OSError(EINVAL, "nobody writes to this pipe", str(path))
    if size > MAX_SOURCE_BYTES:
        raise OSError(EFBIG, f"it has more than {MAX_SOURCE_BYTES} bytes", str(path))
    return b"".join(parts)


def size_of(file: BinaryIO) -> int:
    """The bytes of an open file; none for those of the system that do not say."""
    return os.fstat(file.fileno()).st_size


def digest_of(file: BinaryIO, size: int) -> str:
    """The SHA-256 digest of the next `size` bytes of a file, or of all there are."""
    digest = hashlib.sha256()
    while size > 0 and (chunk := file.read(min(size, _CHUNK))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def open_beside(folder: Path, location: str) -> BinaryIO:
    """
    Opens the regular file that another file in `folder` names.

    Raises LocationError, before anything is opened, when the location leaves `folder` (also by a
    symbolic link), and when it is no regular file or cannot be read.
    """
    path = _inside(folder, location)
    try:
        # All links are resolved: one that is there now was made meanwhile.
        return _opened(path, getattr(os, "O_NOFOLLOW", 0), pipes=False)
    except OSError as error:
        raise LocationError(f"cannot read '{location}': {error.strerror}") from None


def _opened(path: str | Path, flags: int, *, pipes: bool) -> BinaryIO:
    """Looks before it opens, because that alone may do something to a device, and afterwards."""
    try:
        _check_kind(os.stat(path), path, pipes=pipes)
        handle = os.open(path, _FLAGS | flags)
    except ValueError as error:
        raise OSError(EINVAL, f"no file has such a name: {error}", str(path)) from None
    file = os.fdopen(handle, "rb")
    try:
        status = os.fstat(handle)
        _check_kind(status, path, pipes=pipes)
        if stat.S_ISFIFO(status.st_mode):
            # Without a writer, reading ends at once; with one, it waits for what that writes.
            os.set_blocking(handle, True)
        return file
    except BaseException:
        file.close()
        raise


def _check_kind(status: os.stat_result, path: str | Path, *, pipes: bool) -> None:
    """Raises OSError for anything but a regular file, or a pipe where `pipes` allows them."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise OSError(EISDIR, os.strerror(EISDIR), str(path))
    if kind != stat.S_IFREG and not (pipes and kind == stat.S_IFIFO):
        found = _KINDS.get(kind, "something else")
        raise OSError(EINVAL, f"it is {found}, expected a regular file", str(path))


def _inside(folder: Path, location: str) -> Path:
    """The file that `location` names, with symbolic links resolved."""
    parts = PurePosixPath(location).parts + PureWindowsPath(location).parts
    if not location or "\0" in location:
        raise LocationError("the location is empty or not a path")
    if PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor:
        raise LocationError(f"'{location}' is an absolute path, which is not allowed")
    if ".." in parts:
        raise LocationError(f"'{location}' contains '..', which is not allowed")
    try:
        base = folder.resolve(strict=True)
        path = (base / location).resolve(strict=True)
    except (OSError, RuntimeError):
        raise LocationError(f"there is no file '{location}' beside the model") from None
    if not path.is_relative_to(base):
        raise LocationError(f"'{location}' leads out of the folder of the model")
    return path
