"""Compiled models: run, save and load."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from xrelay.runtime.arguments import few, kind_of, number_argument, path_argument
from xrelay.runtime.code import ModelCode
from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import Binding, Executor, allocated
from xrelay.runtime.host import missing_features
from xrelay.runtime.layouts import ROW_MAJOR, computed_apart, layouts_of
from xrelay.runtime.machine import TILES, Address
from xrelay.runtime.memory import (
    addresses,
    arrays_by_name,
    check_apart,
    checked_arrays,
    contiguous,
    require_type,
    require_types,
)
from xrelay.runtime.object_file import load_code
from xrelay.runtime.signature import Named, Signature, TensorSpec

Array = npt.NDArray[Any]

MAX_RUNS = 1_000_000
"""Of one profile, whose times are kept in memory."""


class Model:
    """
    A model as machine code.

    `run` may be called from several threads at once; the interpreter lock is released meanwhile.
    """

    def __init__(
        self,
        signature: Signature,
        address: Address,
        constants: int,
        keep_alive: tuple[object, ...],
        code: ModelCode | None,
        executor: Executor | None = None,
    ):
        """
        `address` finds the functions of the machine code, which `keep_alive` keeps. `executor` is given for code for
        many lengths, at those of the signature.
        """
        self.signature = signature
        self._parts = address, constants, keep_alive
        self._executor = executor or Executor(signature, address, constants, keep_alive)
        self.code = code
        """What `address` finds them in; None for a model that was read from a shared library."""
        self.conditions: tuple[str, ...] | None = None
        """What the lengths of a program for many have to meet; None for one of these lengths alone."""

    @staticmethod
    def from_code(code: ModelCode) -> Model:
        """The model in this process. Raises ModelError when LLVM does not accept it."""
        address = load_code(code.object, code.machine)
        keep_alive = address, code.constants
        constants: int = code.constants.ctypes.data
        return Model(code.signature, address, constants, keep_alive, code)

    def at(self, shapes: Sequence[Sequence[int]]) -> Model | None:
        """
        The model for the shapes of all inputs, on the same machine code, where that is for many lengths and serves
        these; None where it does not. Behind the shapes are the elements of inputs that are lengths, and for arrays that lie in
        larger ones the capacities of these, each as the shape of one more input.
        """
        lengths = self.signature.lengths
        known = None if lengths is None else lengths.at(shapes)
        if lengths is None or known is None:
            return None
        table = np.array(known.table, np.int64)
        executor = self._executor.at(table, known.workspace_bytes)
        model = Model(self.signature.at(known), *self._parts, self.code, executor)
        model.conditions = lengths.conditions
        return model

    def __repr__(self) -> str:
        code = "" if self.code is None else f", {len(self.code.object)} of code"
        return f"<Model {self.signature}{code}>"

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
        arrays, outputs = self._prepare(inputs)
        self._executor.run(addresses(arrays), addresses(outputs.values()))
        return outputs

    def run_into(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """
        Runs the model from arrays to arrays, in the order of the signature. They have its shapes
        and dtypes and are C-contiguous and aligned; outputs can be written, and share memory with
        no input and no other output. All that is checked at every call, without a look at elements.

        Raises ModelError that names the array, what was found and what is expected, before anything
        is written; and for a processor that the model was not compiled for.
        """
        self._require_features()
        signature = self.signature
        arrays = checked_arrays("input", signature.inputs, inputs)
        results = checked_arrays("output", signature.outputs, outputs)
        reads, writes = addresses(arrays), addresses(results)
        specs = (*signature.inputs, *signature.outputs)
        check_apart(specs, (*arrays, *results), (*reads, *writes), len(reads))
        self._executor.run(reads, writes)

    def run_unchecked(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """
        As `run_into`, on arrays of which is known that they are as that takes them: it checks for longer than small models run.
        Of others the code reads and writes memory that is not theirs.
        """
        self._require_features()
        self._executor.run(addresses(inputs), addresses(outputs))

    def bind(
        self,
        inputs: Sequence[Array] | Mapping[str, Array],
        outputs: Sequence[Array] | Mapping[str, Array],
    ) -> Binding:
        """
        The model on arrays, by name or in the order of the signature, which are checked now: `run` of what this
        returns neither checks nor copies. They are as `run_into` takes them; an output may also lie exactly on an input,
        and is copied there in the end.

        Raises ModelError that names the arrays, what was found and what is expected.
        """
        self._require_features()
        signature = self.signature
        arrays = arrays_by_name("input", signature.inputs, inputs)
        results = arrays_by_name("output", signature.outputs, outputs)
        require_types("input", signature.inputs, arrays.values())
        require_types("output", signature.outputs, results.values())
        apart = computed_apart(arrays, results)
        layouts = layouts_of(arrays, {**results, **apart})
        if layouts != ROW_MAJOR:
            names = [
                *(f"input '{rows.name}'" for rows in layouts.inputs),
                *(f"output '{rows.name}'" for rows in layouts.outputs),
                *(f"output '{each.output}' over input '{each.input}'" for each in layouts.growing),
            ]
            raise ModelError(
                f"parts of larger arrays are for models with open dimensions, found {few(names)}; expected C-contiguous "
                "arrays apart"
            )
        return self.bound(list(arrays.values()), results, apart)

    def bound(
        self, inputs: Sequence[Array], outputs: Mapping[str, Array], apart: Mapping[str, Array]
    ) -> Binding:
        """
        The model on arrays that were checked, in the order of the signature. Some outputs are computed `apart`, and then
        copied.
        """
        self._require_features()
        made = {number: apart[name] for number, name in enumerate(outputs) if name in apart}
        return Binding(self._executor, inputs, list(outputs.values()), made)

    def profile(
        self, inputs: Mapping[str, npt.ArrayLike], runs: int
    ) -> tuple[dict[str, Array], npt.NDArray[np.int64]]:
        """
        Runs the model some times. Returns the outputs of the last run, and a row for each run:
        the nanoseconds of a clock at its start and after each of `signature.steps`, as if each was
        done in one go: what a loop repeats counts as often as it runs, what a branch leaves out takes no time.

        Raises ModelError as `run` does, and for a model that is not compiled for profiling.
        """
        if not self.signature.profiled:
            raise ModelError(f"model '{self.signature.name}' is not compiled for profiling")
        runs = number_argument("runs", runs, 1, MAX_RUNS, ModelError)
        arrays, outputs = self._prepare(inputs)
        stamps = np.zeros((runs, len(self.signature.steps) + 1), np.int64)
        reads, writes = addresses(arrays), addresses(outputs.values())
        for row in stamps:
            self._executor.run(reads, writes, row)
        return outputs, stamps.cumsum(axis=1)

    def _prepare(self, inputs: Mapping[str, npt.ArrayLike]) -> tuple[list[Array], dict[str, Array]]:
        """Checked inputs, and memory for the outputs."""
        self._require_features()
        arrays = check_inputs(self.signature.inputs, inputs)
        outputs = {
            spec.name: allocated(spec.shape, spec.dtype, "output", spec.name)
            for spec in self.signature.outputs
        }
        return arrays, outputs

    def _require_features(self) -> None:
        if self.missing_features:
            refused = ", or Linux does not let this process use it" * (
                self.missing_features == (TILES,)
            )
            raise ModelError(
                f"the model was compiled for {self.signature.target}; this processor lacks "
                f"{few(self.missing_features)}{refused}"
            )

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
        code = self._require_code("cannot be saved again")
        code.save(path_argument("path", path, ModelError))

    def _require_code(self, consequence: str) -> ModelCode:
        if self.code is None:
            raise ModelError(f"a model that was loaded from a library {consequence}")
        return self.code


def named_arrays(specs: Sequence[Named], inputs: object) -> list[Array]:
    """
    The arrays of all inputs in order, of whatever shapes and dtypes.

    Raises ModelError for anything but a mapping, for missing or unknown names, and for what is no array.
    """
    if type(inputs) is not dict and not isinstance(inputs, Mapping):  # A dict is known at once.
        raise ModelError(f"the inputs are {kind_of(inputs)}, not a mapping of {few(specs)}")
    inputs = cast("Mapping[str, npt.ArrayLike]", inputs)
    missing = [spec.name for spec in specs if spec.name not in inputs]
    if missing or len(inputs) != len(specs):
        known = {spec.name for spec in specs}
        unknown = [name for name in inputs if name not in known]
        parts = [f"unknown input '{name}'" for name in unknown]
        parts += [f"missing input '{name}'" for name in missing]
        raise ModelError(f"{few(parts)}; the model takes {few(specs)}")
    arrays: list[Array] = []
    for spec in specs:
        try:
            arrays.append(np.asarray(inputs[spec.name]))
        except MemoryError:
            raise
        except Exception as error:
            # A method `__array__` raises whatever it likes.
            raise ModelError(f"input '{spec.name}' is no array: {error}") from error
    return arrays


def check_inputs(specs: tuple[TensorSpec, ...], inputs: object) -> list[Array]:
    """
    The arrays of all inputs in order, contiguous and aligned.

    Raises ModelError for what `named_arrays` refuses, and for other shapes or dtypes.
    """
    arrays = named_arrays(specs, inputs)
    try:
        # One loop: small models run hardly longer than it takes to begin some.
        for i, spec in enumerate(specs):
            require_type("input", spec, arrays[i])
            arrays[i] = contiguous(arrays[i])
        return arrays
    except MemoryError as error:
        raise ModelError(f"there is no memory for copies of inputs: {error}") from error


def symbol_name(text: str) -> str:
    """A C identifier for a model's name."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"model_{name}" if not name or name[0].isdigit() else name
