"""Textual LLVM IR to machine code, through llvmlite."""

import ctypes
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from llvmlite import binding

from xrelay.runtime.errors import ModelError

RunFunction = Callable[[int, int, int, int], None]
"""Inputs, outputs, constants, workspace: addresses."""

_PROTOTYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


@dataclass(frozen=True)
class Machine:
    """The processor that code is generated for, in LLVM's words."""

    triple: str
    cpu: str
    features: str

    def create(self) -> binding.TargetMachine:
        """LLVM's code generator for it; the code is position independent."""
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        binding.initialize_native_asmparser()
        try:
            target = binding.Target.from_triple(self.triple)
        except RuntimeError as error:
            raise ModelError(f"LLVM does not know the target {self.triple}: {error}") from error
        # The kernels are finished: code generation alone, no passes over the IR.
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=2, reloc="pic", codemodel="small"
        )


def emit_object(llvm_ir: str, machine: Machine, assembly: Sequence[str] = ()) -> bytes:
    """
    The object file of a module, with lines of assembly added to it.

    Raises ModelError when LLVM does not accept the module.
    """
    generator = machine.create()
    try:
        module = binding.parse_assembly(llvm_ir)
        if assembly:
            lines = [line.replace("\\", "\\5C").replace('"', "\\22") for line in assembly]
            text = "\n".join(f'module asm "{line}"' for line in lines)
            module.link_in(binding.parse_assembly(f'target triple = "{machine.triple}"\n{text}'))
        module.verify()
        return generator.emit_object(module)
    except RuntimeError as error:
        raise ModelError(f"LLVM does not accept the generated code: {error}") from error


def missing_features(features: Iterable[str]) -> tuple[str, ...]:
    """Those of some CPU features, in LLVM's names, that this processor lacks."""
    host = binding.get_host_cpu_features()
    return tuple(feature for feature in features if not host.get(feature))


class LoadedCode:
    """Machine code in this process. It stays valid as long as this object lives."""

    def __init__(self, code: bytes, machine: Machine, symbol: str):
        generator = machine.create()
        backing = binding.parse_assembly(f'target triple = "{machine.triple}"')
        self._engine = binding.create_mcjit_compiler(backing, generator)
        self._engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        address = self._engine.get_function_address(symbol)
        if not address:
            raise ModelError(f"the machine code does not define {symbol}")
        self.run: RunFunction = _PROTOTYPE(address)


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
    """A shared library that was saved from a model."""

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

    def function(self, name: str) -> RunFunction:
        """The entry function."""
        return _PROTOTYPE(self.address(name))


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
            [*map(str, command), "-lm"], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise ModelError(f"{linker} failed to link the library: {done.stderr.strip()}")
        shutil.move(result, destination)
