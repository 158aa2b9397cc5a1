"""
Models with results whose sizes depend on data, in stages: programs, each of which takes tensors of sizes that the one before found.

    x ──► first: relu, non-zero ──► rows [6, 2], count 4 ──► rows[:4] ──► second: gather, … ──► y
          └──────────────────────────── relu [2, 3] ───────────────────────►┘

The first writes such a result into a buffer of as many rows as there can be, and says how many there are. The second has
inputs with open dimensions, so that one program serves many numbers of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from xrelay.runtime.dynamic import DynamicModel, DynamicSignature, Specialisation
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Array, Model, named_arrays
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.signature import Named


@dataclass(frozen=True)
class Part:
    """The part of a buffer that is used: so many slices along an axis as a result of one element says."""

    count: str
    """The name of that result."""
    axis: int = 0

    def of(self, buffer: Array, count: Array) -> Array:
        """The part: the buffer itself or its beginning, without a copy, where that is in one piece."""
        used = buffer[(slice(None),) * self.axis + (slice(int(count.item())),)]
        return np.ascontiguousarray(used).reshape(used.shape)


ModelT = TypeVar("ModelT")
"""What a model is written as."""


@dataclass(frozen=True)
class Stages(Generic[ModelT]):
    """
    Two models, of which the second takes inputs of the whole, and results of the first. Names are those of the whole
    where the values are.
    """

    first: ModelT
    second: ModelT | None
    """None where nothing is left to compute."""
    parts: Mapping[str, Part]
    """The results of the first that are tensors of a bound, and what part of them is used."""


class StageSignature(Protocol):
    """What is used of the signature of a stage."""

    @property
    def inputs(self) -> Sequence[Named]:
        """What it takes."""
        ...


AnyModel: TypeAlias = "Model | PartitionedModel | DynamicModel | StagedModel"


class StagedModel:
    """
    A model that runs as two, of which the second takes results of the first whose sizes the first finds out. `run` may be
    called from several threads at once.
    """

    def __init__(
        self,
        signature: DynamicSignature,
        first: AnyModel,
        second: AnyModel | None,
        parts: Mapping[str, Part],
    ):
        """`parts` says which results of the first are buffers, and what part of them is used."""
        self.signature = signature
        self.first = first
        self.second = second
        self._parts = dict(parts)

    def __repr__(self) -> str:
        return f"<StagedModel {self.signature}, {len(self.stages)} stages>"

    @property
    def stages(self) -> tuple[Model | PartitionedModel | DynamicModel, ...]:
        """The models that run one after the other."""
        sides = (self.first,) if self.second is None else (self.first, self.second)
        return tuple(
            stage
            for side in sides
            for stage in (side.stages if isinstance(side, StagedModel) else (side,))
        )

    @property
    def specialisations(self) -> tuple[Specialisation, ...]:
        """The programs that stages with open dimensions keep."""
        return tuple(
            each
            for stage in self.stages
            if isinstance(stage, DynamicModel)
            for each in stage.specialisations
        )

    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """
        Runs the model on named arrays and returns named arrays, in the shapes that follow from the data.

        Raises ModelError that names the input, what was found and what is expected, and what
        `xrelay.compile` raises for sizes for which the model makes no sense.
        """
        specs = self.signature.inputs
        arrays = named_arrays(specs, inputs)
        given = {spec.name: array for spec, array in zip(specs, arrays, strict=True)}
        for spec, array in zip(specs, arrays, strict=True):
            if not spec.describes(array):
                found = f"{array.dtype}{list(array.shape)}"
                raise ModelError(f"input '{spec.name}' is {found}, expected {spec}")
        results = self.first.run(_taken(self.first.signature, given))
        values: dict[str, Array] = {}
        for name, array in results.items():
            part = self._parts.get(name)
            values[name] = array if part is None else part.of(array, results[part.count])
        if self.second is not None:
            # An output may have the name of an input; what is handed over has not.
            values.update(self.second.run(_taken(self.second.signature, {**values, **given})))
        return {
            spec.name: values[spec.name] if spec.name in values else given[spec.name].copy()
            for spec in self.signature.outputs
        }

    @property
    def llvm_ir(self) -> str:
        """Raises ModelError: each program of each stage has its own."""
        self._refuse("has LLVM IR of its own")

    def save(self, path: str | Path) -> None:
        """Raises ModelError: there is no program that is the whole model."""
        self._refuse(f"could be saved as '{path}'")

    def bind(self, inputs: object, outputs: object) -> NoReturn:
        """Raises ModelError: arrays of the caller cannot have shapes that are not known before the model runs."""
        del inputs, outputs
        self._refuse(
            "runs on arrays of the caller: the sizes of results are known when it has run. Use `run`"
        )

    def profile(self, inputs: object, runs: object) -> NoReturn:
        """Raises ModelError: each program of each stage has steps of its own."""
        del inputs, runs
        self._refuse("has a profile of its own")

    def _refuse(self, what: str) -> NoReturn:
        raise ModelError(
            f"model '{self.signature.name}' has sizes that depend on data and runs in {len(self.stages)} stages, each "
            f"of which {what}"
        )


def _taken(signature: StageSignature, known: Mapping[str, Array]) -> dict[str, Array]:
    """What a stage takes of what is known."""
    return {spec.name: known[spec.name] for spec in signature.inputs}
