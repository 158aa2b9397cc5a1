"""`xrelay.interpret`: a model in the NumPy interpreter, which also runs what has no machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy.typing as npt
from xdsl.utils.exceptions import InterpretationError

from xrelay.analysis.facts.ports import entry_function, ports
from xrelay.backends.regions import nested
from xrelay.compiler import read_model
from xrelay.deep import with_room
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.errors import CompileError
from xrelay.interpreters.arrays import Array, arrays_in
from xrelay.interpreters.relay import SizeLimit, interpret
from xrelay.options import ModelSource
from xrelay.program_weights import require_weights
from xrelay.runtime.arguments import kind_of
from xrelay.runtime.dynamic import DynamicSignature
from xrelay.runtime.errors import ModelError
from xrelay.runtime.memory import wrong_type
from xrelay.runtime.model import named_arrays
from xrelay.runtime.signature import (
    InputSequence,
    Known,
    Shapes,
    UnknownDimensions,
    restored,
    stored,
    taken_inputs,
)
from xrelay.specialise import described

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp


def interpret_model(
    model: str | Path | ModelProto | ModuleOp,
    inputs: Mapping[str, npt.ArrayLike],
    *,
    shapes: Shapes | None = None,
    max_nodes: int = DEFAULT_LIMITS.max_nodes,
    max_bytes: int = DEFAULT_LIMITS.max_bytes,
) -> dict[str, Array]:
    """
    Runs a model in NumPy, operator by operator: slowly, but also what `xrelay.compile` refuses, such as control
    flow, recursion, functions as values, data types and dimensions that depend on data.

    `model`, `shapes`, `max_nodes` and `max_bytes` are those of `xrelay.compile`, `inputs` and the result those of
    `Model.run`; the results of each operation have at most `max_bytes`, too. Unknown dimensions of inputs have the lengths
    of the arrays; inputs on whose elements dimensions depend are constants.

    Raises DiagnosticException for models that cannot be read, ModelError for inputs that differ in name, shape or
    dtype, and CompileError for programs that cannot be interpreted.
    """
    limits = Limits(max_nodes, max_bytes)
    known: dict[str, Known | InputSequence] = {}
    while True:
        try:
            found = interpreted(model, {**(shapes or {}), **known}, limits)
        except UnknownDimensions as unknown:
            if not known:
                inputs, sequences = _arrays_and_sequences(unknown, inputs)
                known.update(sequences)
                if sequences:
                    continue
            more = unknown.known_of(cast(dict[str, Array], inputs))
            if more.items() <= known.items():
                raise
            known.update(more)
        else:
            return found.run(taken_inputs(inputs, known) if known else inputs)


def _arrays_and_sequences(
    unknown: UnknownDimensions, inputs: Mapping[str, npt.ArrayLike]
) -> tuple[dict[str, npt.ArrayLike], dict[str, InputSequence]]:
    """The inputs that are tensors, and the lists of arrays for those that are sequences."""
    names = [spec.name for spec in unknown.inputs if spec.dtype is None]
    given = {name: inputs[name] for name in names if name in inputs}
    for name in names:
        if not isinstance(given.get(name), list | tuple):
            raise ModelError(
                f"input '{name}' is {kind_of(given.get(name))}, expected a list of arrays"
            )
    specs = [spec for spec in unknown.inputs if spec.dtype is not None]
    rest = {name: each for name, each in inputs.items() if name not in given} if given else inputs
    arrays = named_arrays(specs, rest)
    return (
        {spec.name: array for spec, array in zip(specs, arrays, strict=True)},
        {
            name: InputSequence.of(cast(Sequence[npt.ArrayLike], each))
            for name, each in given.items()
        },
    )


def interpreted(model: ModelSource, shapes: Shapes | None, limits: Limits) -> InterpretedModel:
    """A model read for the interpreter. Raises UnknownDimensions for an ONNX model that leaves some open."""
    module, name = with_room(lambda: read_model(model, shapes, limits))
    require_weights(module, model)
    return InterpretedModel(module, name, limits)


class InterpretedModel:
    """A model in the interpreter."""

    def __init__(self, module: ModuleOp, name: str, limits: Limits):
        self._module = module
        self._limit = SizeLimit(limits)
        self._function = entry_function(module)
        inputs, outputs = (tuple(map(described, side)) for side in ports(self._function))
        self.signature = DynamicSignature(name, inputs, outputs)

    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """As `Model.run`. Raises CompileError for a program that cannot be interpreted."""
        specs, function = self.signature.inputs, self._function
        arrays = named_arrays(specs, inputs)
        for spec, array in zip(specs, arrays, strict=True):
            if not spec.describes(array):
                raise wrong_type("input", spec, array)
        arguments = nested(list(map(stored, arrays)), function.function_type.inputs.data)
        try:
            results = with_room(
                lambda: interpret(self._module, arguments, function.sym_name.data, [self._limit])
            )
        except InterpretationError as error:
            raise CompileError(f"the program cannot be interpreted: {error}") from error
        return {
            spec.name: restored(array, spec.dtype)
            for spec, array in zip(self.signature.outputs, arrays_in(results), strict=True)
        }
