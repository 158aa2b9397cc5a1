"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import EDQUOT, EFBIG, EIO, EISDIR, ENOSPC, ENXIO
from pathlib import Path


def _umask() -> int:
    """The permissions that new files do not get. Linux tells without changing them meanwhile."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    umask = os.umask(0)
    os.umask(umask)
    return umask


_WRITING = frozenset((EDQUOT, EFBIG, EIO, ENOSPC))
"""Errors of writing into a file that is open: the disk is full, for one."""
_MOST_OF_A_NAME = 200
"""Bytes of a file's name that the name of a temporary file begins with: 255 is what names may have."""


def _temporary_beside(path: Path, *, private: bool = False) -> tuple[Path, Path | None]:
    """
    The place that `path` leads to, and a new empty file beside it; None when the place is written
    to directly.

    Raises OSError that names `path`.
    """
    # A pipe behind a link has no other name: /dev/stdout leads to "pipe:[7]".
    if not private and os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        return Path(path), None
    # What is private follows no link, and replaces whatever has its name.
    place = Path(os.path.abspath(path) if private else os.path.realpath(path))
    if os.path.isdir(place):
        raise OSError(EISDIR, os.strerror(EISDIR), str(path))
    prefix = os.fsdecode(os.fsencode(f".{place.name}")[:_MOST_OF_A_NAME])
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f"{prefix}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    return place, Path(name)


def check_writable(path: Path) -> None:
    """Raises OSError that names `path` when `whole_file` cannot write there."""
    _, temporary = _temporary_beside(path)
    if temporary is not None:
        temporary.unlink()


@contextmanager
def _pipe_with_reader(place: Path, path: Path) -> Generator[None]:
    """
    Holds a pipe open that is to be written to; does nothing for devices.

    Raises OSError that names `path` when nobody reads the pipe: to open it would wait for ever.
    """
    if not place.is_fifo():
        yield
        return
    try:
        handle = os.open(place, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        reason = "nobody reads this pipe" if error.errno == ENXIO else error.strerror
        raise OSError(error.errno, reason, str(path)) from None
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def _naming(path: Path) -> Generator[None]:
    """Raises errors of writing, which have no name, with that of `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in _WRITING:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Generator[Path]:
    """
    An empty temporary file beside `path` that takes its place when the block ends, and is removed
    when an exception ends it. What exists and is no regular file, a device or a pipe, is written
    to directly. Nobody else may read or write a `private` file, which replaces devices and pipes too.

    Raises OSError that names `path`.
    """
    place, temporary = _temporary_beside(path, private=private)
    if temporary is None:
        with _pipe_with_reader(place, path), _naming(path):
            yield place
        return
    try:
        with _naming(path):
            yield temporary
        temporary.chmod(0o600 if private else 0o666 & ~_umask())
        temporary.replace(place)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def write_files(contents: Mapping[Path, bytes | memoryview]) -> None:
    """
    Writes files that belong together: none takes its place before all have their data.

    Raises OSError that names the file.
    """
    with ExitStack() as files:
        places = [files.enter_context(whole_file(path)) for path in contents]
        for place, (path, data) in zip(places, contents.items(), strict=True):
            with _naming(path):
                place.write_bytes(data)
