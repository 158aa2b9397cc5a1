"""Shared libraries of models: linked by the system's linker, loaded by its loader."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from xrelay.runtime.errors import ModelError
from xrelay.runtime.reading import open_regular
from xrelay.runtime.seal import check_seal


class LoadedLibrary:
    """
    A shared library that was saved from a model. It stays loaded until the process ends.

    Raises ModelError, before anything of it is code in this process, for a file that does not have
    the contents that were saved.
    """

    def __init__(self, path: Path):
        self._path = path
        try:
            with open_regular(path) as file:
                self._library = _loaded(file, check_seal(file, str(path)))
        except OSError as error:
            raise ModelError(f"cannot load '{path}': {error.strerror or error}") from error
        try:
            self.metadata = ctypes.string_at(self.address("xrelay_metadata")).decode()
        except UnicodeDecodeError as error:
            raise ModelError(f"the description of the model in '{path}' is damaged") from error

    def address(self, name: str) -> int:
        """
        The address of a symbol.

        Raises ModelError when the library does not have it.
        """
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(self._library, name))
        except ValueError as error:
            raise ModelError(f"'{self._path}' is not a model saved by xrelay: no {name}") from error


_LOADED: dict[tuple[int, int], tuple[str, int]] = {}
"""What this process has loaded, by device and inode: the checksum, and when the file was last changed."""
_COPIES: dict[str, ctypes.CDLL] = {}
"""Libraries that were loaded from memory, by their checksums."""


def _loaded(file: BinaryIO, checksum: str) -> ctypes.CDLL:
    """The library in an open file. Raises OSError when it is none."""
    status = os.fstat(file.fileno())
    state = checksum, status.st_ctime_ns
    if _LOADED.setdefault((status.st_dev, status.st_ino), state) == state:
        return _loaded_by_name(file)
    # The loader goes by the inode, too, and would give what it made of an earlier content of this file, of which nothing
    # is left once the file was written to, even if it has the same content again.
    if checksum not in _COPIES:
        with os.fdopen(os.memfd_create("model.so"), "w+b") as copy:
            file.seek(0)
            shutil.copyfileobj(file, copy, 1 << 20)
            copy.flush()
            _COPIES[checksum] = _loaded_by_name(copy)
    return _COPIES[checksum]


def _loaded_by_name(file: BinaryIO) -> ctypes.CDLL:
    # The loader knows libraries by their names: a name of its own makes sure that a file that was
    # saved again is read again. It stands for the file that is open: what has taken its place
    # meanwhile is not the one that was checked.
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder, "model.so")
        name.symlink_to(f"/proc/self/fd/{file.fileno()}")
        return ctypes.CDLL(str(name))


def link_shared_library(code: bytes, exported: Iterable[str]) -> bytes:
    """
    The shared library that the system's linker makes of an object file.

    Raises ModelError when there is no linker or it fails.
    """
    linker = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if linker is None:
        raise ModelError("saving a shared library needs a C compiler driver (cc) to link with")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.o").write_bytes(code)
        names = "".join(f" {name};" for name in exported)
        Path(folder, "exports.map").write_text(f"{{ global:{names} local: *; }};\n")
        # Names from inside of the folder: its own may have commas, quotes and more.
        command = [linker, "-shared", "-o", "model.so", "model.o"]
        command += ["-Wl,--version-script=exports.map", "-lm", "-lpthread"]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True)
        if done.returncode:
            problem = done.stderr.decode(errors="replace").strip()
            raise ModelError(f"{linker} failed to link the library: {problem}")
        return Path(folder, "model.so").read_bytes()
