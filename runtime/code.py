"""What a model is made of before it runs: LLVM IR and weights; and the files made from them."""

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import ALIGNMENT
from xrelay.runtime.files import write_files
from xrelay.runtime.header import c_header
from xrelay.runtime.library import link_shared_library
from xrelay.runtime.machine import TILES, Machine
from xrelay.runtime.seal import sealed
from xrelay.runtime.signature import Signature
from xrelay.runtime.support import SUPPORT_FUNCTIONS, TEAM_FUNCTIONS, support_ir

if TYPE_CHECKING:
    from llvmlite import binding


class SavedCode(ABC):
    """What files of machine code are made of: LLVM IR, weights, and a description."""

    name: str
    """What the names of its symbols begin with."""
    machine: Machine
    constants: npt.NDArray[np.uint8]

    @property
    @abstractmethod
    def module(self) -> "binding.ModuleRef":
        """The functions, with the run-time support, as LLVM's module."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What the file says of itself, as JSON."""

    @property
    @abstractmethod
    def exported(self) -> Sequence[str]:
        """The functions that a library offers."""

    @abstractmethod
    def header(self, digest: str) -> str:
        """The C header of a file with this SHA-256 digest."""

    @property
    def llvm_ir(self) -> str:
        """The textual LLVM IR of everything but the weights, for LLVM 19 and newer."""
        from xrelay.runtime.llvm import portable_text

        return portable_text(self.module)

    def save(self, path: Path) -> None:
        """See Model.save."""
        writers: dict[str, Callable[[Path], None]] = {
            ".so": self._save_library,
            ".o": self._save_object,
            ".ll": self._save_llvm_ir,
        }
        writer = writers.get(path.suffix)
        if writer is None:
            raise ModelError(
                f"cannot save '{path}': the suffix is '{path.suffix}', expected "
                f"{', '.join(writers)}"
            )
        try:
            writer(path)
        except OSError as error:
            raise ModelError(f"cannot write '{path}': {error.strerror or error}") from error

    def _save_llvm_ir(self, path: Path) -> None:
        weights = path.with_name(path.name + ".weights")
        write_files({weights: self.constants.data, path: self.llvm_ir.encode()})

    def _object_with_weights(self, *, library: bool) -> bytes:
        name = self.name
        with tempfile.TemporaryDirectory() as folder:
            weights, metadata = Path(folder, "weights"), Path(folder, "metadata")
            weights.write_bytes(self.constants.data)
            metadata.write_bytes(self.description.encode() + b"\0")
            labels = dict.fromkeys([f"{name}_metadata"] + ["xrelay_metadata"] * library)
            lines = [
                ".section .rodata",
                f".balign {ALIGNMENT}",
                *_symbols(f"{name}_constants"),
                f".incbin {_quoted(weights)}",
                # An executable that uses the library copies what these sizes say.
                f".size {name}_constants, . - {name}_constants",
                *(line for label in labels for line in _symbols(label)),
                f".incbin {_quoted(metadata)}",
                *(f".size {label}, . - {label}" for label in labels),
                '.section .note.GNU-stack,"",@progbits',
            ]
            from xrelay.runtime.llvm import emit_object

            return emit_object(self.module, self.machine, lines)

    def _save_object(self, path: Path) -> None:
        self._write_with_header(path, self._object_with_weights(library=False))

    def _save_library(self, path: Path) -> None:
        code = self._object_with_weights(library=True)
        data = [f"{self.name}_constants", f"{self.name}_metadata", "xrelay_metadata"]
        exported = dict.fromkeys([*self.exported, *data])
        self._write_with_header(path, sealed(link_shared_library(code, exported)))

    def _write_with_header(self, path: Path, data: bytes) -> None:
        header = self.header(sha256(data).hexdigest())
        write_files({path.with_suffix(".h"): header.encode(), path: data})


class ModelCode(SavedCode):
    """
    A compiled model: the LLVM IR of its kernels and its entry function, its weights, and its
    machine code, which is generated on first use.
    """

    def __init__(
        self,
        signature: Signature,
        ir: bytes | memoryview,
        machine: Machine,
        constants: npt.NDArray[np.uint8],
        machine_code: bytes | None = None,
    ):
        """
        `ir` is text; it defines `<name>_step_all` and leaves the run-time support open.
        `machine_code` is its object file, where that is known.
        """
        self.name = signature.name
        self.signature = signature
        self.ir = ir
        self.machine = machine
        self.constants = constants
        self._machine_code = machine_code

    @property
    def module(self) -> "binding.ModuleRef":
        """The kernels, the entry function and the run-time support as LLVM's module."""
        signature = self.signature
        support = support_ir(
            signature.name,
            signature.threads,
            self.machine.triple,
            profile=signature.profiled,
            tiles=TILES in signature.features,
            is_shared=signature.is_shared,
        )
        hidden = (f"{signature.name}_step_all", *SUPPORT_FUNCTIONS)
        from xrelay.runtime.llvm import linked

        return linked([bytes(self.ir).decode(), support], hidden)

    @property
    def description(self) -> str:
        """The signature."""
        return self.signature.to_json()

    @property
    def exported(self) -> Sequence[str]:
        """The functions of a library."""
        team = TEAM_FUNCTIONS if self.signature.has_team else ()
        return [f"{self.name}_{each}" for each in ("run", *team)]

    def header(self, digest: str) -> str:
        """The C header."""
        return c_header(self.signature, digest)

    @cached_property
    def object(self) -> bytes:
        """The object file of everything but the weights."""
        if self._machine_code is not None:
            return self._machine_code
        from xrelay.runtime.llvm import emit_object

        return emit_object(self.module, self.machine)

    def save(self, path: Path) -> None:
        """See Model.save."""
        if self.signature.lengths is not None:
            raise ModelError(
                f"model '{self.signature.name}' is the code of a dynamic model at some lengths: save that by "
                "DynamicModel.save, or take a program for these lengths alone by DynamicModel.specialise"
            )
        super().save(path)


def _quoted(path: Path) -> str:
    """The name of a file as a string of the assembler's, whatever bytes it has."""
    plain = frozenset(b"/._-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    text = "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in os.fsencode(path))
    return f'"{text}"'


def _symbols(name: str) -> list[str]:
    """Assembly that gives data that follow a name other files can use."""
    return [f".globl {name}", f".type {name}, @object", f"{name}:"]
