"""Compiled models: run, save and load."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections import deque
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from xrelay.runtime.errors import ModelError
from xrelay.runtime.files import write_files
from xrelay.runtime.machine_code import (
    LoadedCode,
    LoadedLibrary,
    Machine,
    RunFunction,
    emit_object,
    link_shared_library,
    missing_features,
)
from xrelay.runtime.signature import Signature, TensorSpec

Array = npt.NDArray[Any]

ALIGNMENT = 64


def aligned_bytes(size: int) -> npt.NDArray[np.uint8]:
    """Uninitialised memory at a multiple of 64 bytes."""
    block = np.empty(size + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + size]


class Model:
    """
    A model as machine code.

    `run` may be called from several threads at once; the interpreter lock is released meanwhile.
    """

    def __init__(
        self,
        signature: Signature,
        run: RunFunction,
        constants: int,
        keep_alive: tuple[object, ...],
        code: ModelCode | None,
    ):
        self.signature = signature
        self._run = run
        self._constants = constants
        self._keep_alive = keep_alive
        self._code = code
        self._workspaces: deque[npt.NDArray[np.uint8]] = deque()

    @cached_property
    def missing_features(self) -> tuple[str, ...]:
        """The CPU features, in LLVM's names, that the code needs and this processor lacks."""
        return missing_features(self.signature.features)

    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """
        Runs the model on named arrays and returns named arrays.

        Raises ModelError that names the input, what was found and what is expected; and when
        the model was compiled for a processor that this one is not.
        """
        if self.missing_features:
            raise ModelError(
                f"the model was compiled for {self.signature.target}; this processor lacks "
                f"{', '.join(self.missing_features)}"
            )
        arrays = check_inputs(self.signature.inputs, inputs)
        outputs = {spec.name: np.empty(spec.shape, spec.dtype) for spec in self.signature.outputs}
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            workspace = aligned_bytes(self.signature.workspace_bytes)
        tables = _address_table(arrays), _address_table([*outputs.values()])
        self._run(
            ctypes.addressof(tables[0]),
            ctypes.addressof(tables[1]),
            self._constants,
            workspace.ctypes.data,
        )
        self._workspaces.append(workspace)
        return outputs

    @property
    def llvm_ir(self) -> str:
        """
        The textual LLVM IR. The weights are not part of it: the entry function gets their
        address.

        Raises ModelError for a model that was loaded from a library.
        """
        return self._require_code("has no LLVM IR").llvm_ir

    def save(self, path: str | Path) -> None:
        """
        Writes the model, whole or not at all. The suffix says as what: `.so` a shared library
        that `xrelay.load` reads, `.o` an object file (each with a C header beside it), `.ll`
        textual LLVM IR (with the weights in a `.weights` file beside it).

        Raises ModelError when the suffix is unknown or the place cannot be written.
        """
        self._require_code("cannot be saved again").save(self.signature, Path(path))

    def _require_code(self, consequence: str) -> ModelCode:
        if self._code is None:
            raise ModelError(f"a model that was loaded from a library {consequence}")
        return self._code


def _symbols(name: str) -> list[str]:
    """Assembly that gives data that follow a name other files can use."""
    return [f".globl {name}", f".type {name}, @object", f"{name}:"]


def _address_table(arrays: list[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(arrays)))(*[array.ctypes.data for array in arrays])


def check_inputs(specs: tuple[TensorSpec, ...], inputs: object) -> list[Array]:
    """
    The arrays of all inputs in order, contiguous and aligned.

    Raises ModelError for anything but a mapping, for missing or unknown names, and for other
    shapes or dtypes.
    """
    expected = ", ".join(map(str, specs)) or "none"
    if not isinstance(inputs, Mapping):
        raise ModelError(f"the inputs are a {type(inputs).__name__}, not a mapping of {expected}")
    inputs = cast(Mapping[str, npt.ArrayLike], inputs)
    known = {spec.name for spec in specs}
    unknown = [name for name in inputs if name not in known]
    missing = [spec.name for spec in specs if spec.name not in inputs]
    if unknown or missing:
        parts = [f"unknown input '{name}'" for name in unknown]
        parts += [f"missing input '{name}'" for name in missing]
        raise ModelError(f"{', '.join(parts)}; the model takes {expected}")
    arrays: list[Array] = []
    for spec in specs:
        try:
            array = np.asarray(inputs[spec.name])
        except ValueError as error:
            raise ModelError(f"input '{spec.name}' is no array: {error}") from error
        if array.dtype != spec.dtype or array.shape != spec.shape:
            found = f"{array.dtype}{list(array.shape)}"
            raise ModelError(f"input '{spec.name}' is {found}, expected {spec}")
        arrays.append(np.require(array, requirements=["C", "A"]).reshape(spec.shape))
    return arrays


class ModelCode:
    """What a model is made of, until it is machine code: LLVM IR and the weights."""

    def __init__(self, llvm_ir: str, machine: Machine, constants: npt.NDArray[np.uint8]):
        self.llvm_ir = llvm_ir
        self.machine = machine
        self.constants = constants

    def load(self, signature: Signature) -> Model:
        """The model in this process."""
        code = emit_object(self.llvm_ir, self.machine)
        loaded = LoadedCode(code, self.machine, f"{signature.name}_run")
        return Model(
            signature,
            loaded.run,
            self.constants.ctypes.data,
            (loaded, self.constants),
            self,
        )

    def save(self, signature: Signature, path: Path) -> None:
        """See Model.save."""
        writers: dict[str, Callable[[Signature, Path], None]] = {
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
            writer(signature, path)
        except OSError as error:
            raise ModelError(f"cannot write '{path}': {error.strerror or error}") from error

    def _save_llvm_ir(self, signature: Signature, path: Path) -> None:
        weights = path.with_name(path.name + ".weights")
        write_files({weights: self.constants.data, path: self.llvm_ir.encode()})

    def _object(self, signature: Signature, *, library: bool) -> bytes:
        name = signature.name
        with tempfile.TemporaryDirectory() as folder:
            weights, metadata = Path(folder, "weights"), Path(folder, "metadata")
            weights.write_bytes(self.constants.tobytes())
            metadata.write_bytes(signature.to_json().encode() + b"\0")
            labels = dict.fromkeys([f"{name}_metadata"] + ["xrelay_metadata"] * library)
            lines = [
                ".section .rodata",
                f".balign {ALIGNMENT}",
                *_symbols(f"{name}_constants"),
                f'.incbin "{weights}"',
                # An executable that uses the library copies what these sizes say.
                f".size {name}_constants, . - {name}_constants",
                *(line for label in labels for line in _symbols(label)),
                f'.incbin "{metadata}"',
                *(f".size {label}, . - {label}" for label in labels),
                '.section .note.GNU-stack,"",@progbits',
            ]
            return emit_object(self.llvm_ir, self.machine, lines)

    def _save_object(self, signature: Signature, path: Path) -> None:
        code = self._object(signature, library=False)
        write_files({path.with_suffix(".h"): c_header(signature).encode(), path: code})

    def _save_library(self, signature: Signature, path: Path) -> None:
        code = self._object(signature, library=True)
        name = signature.name
        exported = [f"{name}_run", f"{name}_constants", f"{name}_metadata", "xrelay_metadata"]
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder, "model.so")
            link_shared_library(code, library, dict.fromkeys(exported))
            data = library.read_bytes()
        write_files({path.with_suffix(".h"): c_header(signature).encode(), path: data})


def c_header(signature: Signature) -> str:
    """The C interface of a saved model."""
    name = signature.name
    guard = f"{name.upper()}_H"

    def listing(title: str, specs: tuple[TensorSpec, ...]) -> str:
        rows = [f" *   {title}[{i}]: {spec}\n" for i, spec in enumerate(specs)]
        return "".join(rows).replace("*/", "* /").replace("/*", "/ *")

    return (
        f"/* {name}: compiled by xrelay for {signature.target}.\n"
        " *\n"
        " * Tensors are row-major. The workspace is aligned to 64 bytes and may not be shared\n"
        " * between calls that run at the same time.\n"
        " *\n"
        f"{listing('inputs', signature.inputs)}{listing('outputs', signature.outputs)}"
        " */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"#define {name.upper()}_WORKSPACE_BYTES {signature.workspace_bytes}ULL\n\n"
        f"extern const unsigned char {name}_constants[];\n"
        f"extern const char {name}_metadata[];\n\n"
        f"/* Call as {name}_run(inputs, outputs, {name}_constants, workspace). */\n"
        f"void {name}_run(const void *const *inputs, void *const *outputs,\n"
        "                const void *constants, void *workspace);\n\n"
        "#ifdef __cplusplus\n}\n#endif\n\n"
        f"#endif /* {guard} */\n"
    )


def symbol_name(text: str) -> str:
    """A C identifier for a model's name."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"model_{name}" if not name or name[0].isdigit() else name


def load(path: str | Path) -> Model:
    """
    A model that `Model.save` wrote as a shared library.

    The library is machine code and runs with your rights: load only files that you trust.

    Raises ModelError for anything else.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"no file '{path}'")
    library = LoadedLibrary(path)
    signature = Signature.from_json(library.metadata)
    return Model(
        signature,
        library.function(f"{signature.name}_run"),
        library.address(f"{signature.name}_constants"),
        (library,),
        None,
    )
