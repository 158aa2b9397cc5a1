"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import EISDIR
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


def _temporary_beside(path: Path) -> Path | None:
    """
    A new empty file in the folder of `path`; None when `path` is written to directly.

    Raises OSError that names `path`.
    """
    place = path.resolve()
    if place.is_dir():
        raise OSError(EISDIR, os.strerror(EISDIR), str(path))
    if place.exists() and not place.is_file():
        return None
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    return Path(name)


def check_writable(path: Path) -> None:
    """Raises OSError that names `path` when `whole_file` cannot write there."""
    if temporary := _temporary_beside(path):
        temporary.unlink()


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Generator[Path]:
    """
    An empty temporary file beside `path` that takes its place when the block ends, and is removed
    when an exception ends it. What exists and is no regular file, a device or a pipe, is written
    to directly. Nobody else may read or write a `private` file.

    Raises OSError that names `path`.
    """
    place, temporary = path.resolve(), _temporary_beside(path)
    if temporary is None:
        yield place
        return
    try:
        yield temporary
        temporary.chmod(0o600 if private else 0o666 & ~_umask())
        temporary.replace(place)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def write_files(contents: Mapping[Path, bytes | memoryview]) -> None:
    """Writes files that belong together: none takes its place before all have their data."""
    with ExitStack() as files:
        places = [files.enter_context(whole_file(path)) for path in contents]
        for place, data in zip(places, contents.values(), strict=True):
            place.write_bytes(data)
