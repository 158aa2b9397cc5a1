"""Shared libraries of models: linked by the system's linker, loaded by its loader."""

import ctypes
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from xrelay.runtime.errors import ModelError


def is_cut_off(path: Path) -> bool:
    """
    Whether a 64-bit ELF file ends before its last part, the table of sections, does. To load such
    a file would end the process with a bus error.
    """
    with path.open("rb") as file:
        header = file.read(64)
        size = file.seek(0, os.SEEK_END)
    if len(header) < 64 or not header.startswith(b"\x7fELF\x02\x01"):
        return False
    (start,) = struct.unpack_from("<Q", header, 40)
    entry_size, count = struct.unpack_from("<HH", header, 58)
    return start + entry_size * count > size


class LoadedLibrary:
    """A shared library that was saved from a model. It stays loaded until the process ends."""

    def __init__(self, path: Path):
        if is_cut_off(path):
            raise ModelError(f"{path} is cut off")
        self._path = path
        try:
            # The loader knows libraries by their names: a name of its own makes sure that a file
            # that was saved again is read again.
            with tempfile.TemporaryDirectory() as folder:
                name = Path(folder, "model.so")
                name.symlink_to(path.resolve())
                self._library = ctypes.CDLL(str(name))
        except OSError as error:
            raise ModelError(f"{path} is not a library that can be loaded: {error}") from error
        try:
            self.metadata = ctypes.string_at(self.address("xrelay_metadata")).decode()
        except UnicodeDecodeError as error:
            raise ModelError(f"the description of the model in {path} is damaged") from error

    def address(self, name: str) -> int:
        """
        The address of a symbol.

        Raises ModelError when the library does not have it.
        """
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(self._library, name))
        except ValueError as error:
            raise ModelError(f"{self._path} is not a model saved by xrelay: no {name}") from error


def link_shared_library(code: bytes, destination: Path, exported: Iterable[str]) -> None:
    """
    Links an object file into a shared library with the system's linker.

    Raises ModelError when there is no linker or it fails.
    """
    linker = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if linker is None:
        raise ModelError("saving a shared library needs a C compiler driver (cc) to link with")
    with tempfile.TemporaryDirectory() as folder:
        source, versions = Path(folder, "model.o"), Path(folder, "exports.map")
        result = Path(folder, "model.so")
        source.write_bytes(code)
        names = "".join(f" {name};" for name in exported)
        versions.write_text(f"{{ global:{names} local: *; }};\n")
        command = [linker, "-shared", "-o", result, source, f"-Wl,--version-script={versions}"]
        done = subprocess.run(
            [*map(str, command), "-lm", "-lpthread"], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise ModelError(f"{linker} failed to link the library: {done.stderr.strip()}")
        shutil.move(result, destination)
