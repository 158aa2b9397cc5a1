"""A model on memory of the caller, looked at once and used again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from xrelay.runtime.arguments import count_given, few, kind_of
from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import Executor
from xrelay.runtime.memory import addresses
from xrelay.runtime.signature import Named, TensorSpec, listed

Array = npt.NDArray[Any]


class Binding:
    """
    A model whose inputs and outputs are arrays of the caller, as `Model.bind` and `DynamicModel.bind` make it. It
    keeps the arrays. `run` may be called from several threads at once where there are no outputs that they both write.
    """

    def __init__(self, executor: Executor, inputs: Sequence[Array], outputs: Sequence[Array]):
        self._executor = executor
        self._arrays = *inputs, *outputs
        self._reads, self._writes = addresses(inputs), addresses(outputs)

    def run(self) -> None:
        """
        Runs the model on what the arrays of the inputs hold now. Nothing is checked and nothing is copied.

        Raises ModelError when the system refuses to start threads, or the memory of the workspace.
        """
        self._executor.run(self._reads, self._writes)


def arrays_by_name(kind: str, specs: Sequence[Named], arrays: object) -> dict[str, Array]:
    """
    The arrays of one `kind`, "input" or "output", by name: of a mapping, or of a sequence in the order of the signature.
    Those of subclasses of NumPy's are seen as NumPy's own.

    Raises ModelError that names what is missing, unknown or no array.
    """
    names = [spec.name for spec in specs]
    if isinstance(arrays, list | tuple):
        given = list(cast(Sequence[object], arrays))
        if len(given) != len(names):
            raise ModelError(f"{count_given(len(given), kind)}, expected {listed(specs)}")
        by_name = dict(zip(names, given, strict=True))
    elif isinstance(arrays, Mapping):
        by_name = dict(cast("Mapping[str, object]", arrays))
    else:
        raise ModelError(f"the {kind}s are {kind_of(arrays)}, expected {listed(specs)}")
    parts = [f"unknown {kind} {name!r}" for name in by_name if name not in names]
    parts += [f"missing {kind} '{name}'" for name in names if name not in by_name]
    if parts:
        raise ModelError(f"{few(parts)}; the model has {listed(specs)}")
    found: dict[str, Array] = {}
    for spec in specs:
        each = by_name[spec.name]
        if not isinstance(each, np.ndarray):
            raise ModelError(f"{kind} '{spec.name}' is {kind_of(each)}, expected the array {spec}")
        array = cast(Array, each)
        found[spec.name] = array if type(array) is np.ndarray else np.asarray(array)
    return found


def require_types(kind: str, specs: Sequence[TensorSpec], arrays: Mapping[str, Array]) -> None:
    """Raises ModelError for an array of another shape or dtype."""
    for spec in specs:
        array = arrays[spec.name]
        if array.shape != spec.shape or array.dtype != spec.dtype:
            found = f"{array.dtype}{list(array.shape)}"
            raise ModelError(f"{kind} '{spec.name}' is {found}, expected {spec}")
