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
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from xrelay.runtime.arguments import few
from xrelay.runtime.dynamic import DynamicModel, DynamicSignature, InStages, Specialisation
from xrelay.runtime.errors import ModelError
from xrelay.runtime.memory import wrong_type
from xrelay.runtime.model import Array, Model, named_arrays
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.signature import Named, OpenTensor, TensorSpec


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
class Carried:
    """What a round hands to the next one."""

    given: str
    """The value that the first round takes, by its name around the loop."""
    before: str
    """What a round takes, by its name in the model of a round."""
    after: str
    """What it gives."""
    result: str
    """What the last round gives, by its name around the loop; empty where nothing takes it."""


@dataclass(frozen=True)
class Sliced:
    """A tensor of which each round takes a slice."""

    given: str
    name: str
    """The slice, in the model of a round."""
    axis: int
    backwards: bool
    """Whether the first round takes the last slice."""

    def of(self, array: Array, number: int) -> Array:
        """What the round of a number takes."""
        return np.take(array, -1 - number if self.backwards else number, self.axis)


@dataclass(frozen=True)
class Join:
    """How what rounds add becomes one tensor."""

    axis: int
    backwards: bool = False
    """Whether what the last round adds comes first."""
    before: tuple[str, ...] = ()
    """The first parts, by their names around the loop."""
    concatenates: bool = False
    """Whether the axis is one of the parts, which are of any length along it, and no new one."""
    is_list: bool = False
    """Whether the parts are a list in the model, of which there has to be one."""


@dataclass(frozen=True)
class Added:
    """A tensor to which each round adds a slice, or a part."""

    name: str
    """The slice, in the model of a round."""
    result: str
    join: Join

    def of(self, parts: Sequence[Array]) -> Array:
        """
        The tensor of some parts.

        Raises ModelError for parts that do not fit each other.
        """
        join = self.join
        try:
            joined = np.concatenate if join.concatenates else np.stack
            return joined(parts[::-1] if join.backwards else parts, join.axis)
        except ValueError:
            shapes = few(dict.fromkeys(str(list(part.shape)) for part in parts))
            along = "axis" if join.concatenates else "a new axis"
            raise ModelError(
                f"rounds of a loop add tensors to '{self.result}' that cannot be joined along {along} {join.axis}: {shapes}"
            ) from None

    def of_none(self, stated: TensorSpec | OpenTensor) -> Array:
        """
        The tensor of no parts, with what is stated of one; 0 for lengths that are open.

        Raises ModelError where there has to be one, or not even its rank is stated.
        """
        dims = stated.shape if isinstance(stated, TensorSpec) else stated.dims
        axis = self.join.axis
        if self.join.is_list or dims is None:
            raise ModelError(
                f"a loop makes no round, and '{self.result}' is made of what rounds add, expected one or more"
            )
        shape = [0 if isinstance(dim, str) else dim for dim in dims]
        shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 0)
        return np.empty(shape, stated.dtype)


@dataclass(frozen=True)
class Loop:
    """What goes in and out of the rounds of a loop. Names are empty where there is no such value."""

    limit: str
    """So many rounds at most, by its name around the loop."""
    condition: str
    """Whether there is a first round."""
    count: str
    """The number of the round, in the model of a round."""
    going: str
    """The condition that a round takes, and in `goes_on` the one that it gives."""
    goes_on: str
    carried: tuple[Carried, ...]
    sliced: tuple[Sliced, ...]
    added: tuple[Added, ...]


@dataclass(frozen=True)
class Rounds(Generic[ModelT]):
    """A loop, each of whose rounds runs a model."""

    loop: Loop
    body: ModelT
    operands: tuple[OpenTensor, ...]
    """What the loop and its rounds take of the values around it."""
    constants: Mapping[str, Array]
    """Those values around it that are stated in the model."""


@dataclass(frozen=True)
class Stages(Generic[ModelT]):
    """
    Two models, of which the second takes inputs of the whole, and results of the first. Names are those of the whole
    where the values are.
    """

    first: ModelT | Rounds[ModelT]
    second: ModelT | None
    """None where nothing is left to compute."""
    parts: Mapping[str, Part]
    """The results of the first that are tensors of a bound, and what part of them is used."""


AnyModel: TypeAlias = "Model | PartitionedModel | DynamicModel | StagedModel"


class Repeated:
    """A loop as a stage."""

    def __init__(self, name: str, rounds: Rounds[Any], body: AnyModel):
        """`body` is what the model of a round, which is not kept, has been compiled into."""
        self.loop, self.body, self._constants = rounds.loop, body, rounds.constants
        self.signature = DynamicSignature(name, rounds.operands, ())
        self._outputs = {each.name: each for each in body.signature.outputs}

    @property
    def stages(self) -> tuple[Model | PartitionedModel | DynamicModel, ...]:
        """The models that run one after the other in a round."""
        return self.body.stages if isinstance(self.body, StagedModel) else (self.body,)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """
        What the loop gives, by names. After no round, tensors of slices have the lengths that the model states, 0 where it
        states none.

        Raises ModelError for scanned tensors of several lengths, for conditions and numbers of rounds that are several, and for
        rounds that add what does not fit.
        """
        loop, known = self.loop, {**self._constants, **inputs}
        limit = int(_single(known[loop.limit], loop.limit)) if loop.limit else self._slices(known)
        going = _single(known[loop.condition], loop.condition) if loop.condition else np.array(True)
        carried = {each.before: known[each.given] for each in loop.carried}
        slices: dict[str, list[Array]] = {each.name: [] for each in loop.added}
        number = 0
        while going and (limit is None or number < limit):
            scanned = {each.name: each.of(known[each.given], number) for each in loop.sliced}
            own = {loop.count: np.array(number), loop.going: going}
            given = {**known, **own, **carried, **scanned}
            results = self.body.run(_taken(self.body.signature.inputs, given))
            carried = {each.before: results[each.after] for each in loop.carried}
            for name, parts in slices.items():
                parts.append(results[name])
            if loop.goes_on:
                going = _single(results[loop.goes_on], loop.goes_on)
            number += 1
        found = {each.result: carried[each.before] for each in loop.carried}
        if not number:
            # Results are the caller's, inputs are not.
            found = {name: array.copy() for name, array in found.items()}
        for each in loop.added:
            parts = [*(known[name] for name in each.join.before), *slices[each.name]]
            found[each.result] = each.of(parts) if parts else each.of_none(self._outputs[each.name])
        return found

    def _slices(self, known: Mapping[str, Array]) -> int | None:
        """As many rounds as scanned tensors have slices; None where there are none of these."""
        lengths = {each.given: known[each.given].shape[each.axis] for each in self.loop.sliced}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
            raise ModelError(f"the tensors that a loop goes through have several lengths: {told}")
        return next(iter(lengths.values()), None)


class StagedModel(InStages):
    """
    A model that runs as two, of which the second takes results of the first whose sizes the first finds out. `run` may be
    called from several threads at once.
    """

    def __init__(
        self,
        signature: DynamicSignature,
        first: AnyModel | Repeated,
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
            for stage in (side.stages if isinstance(side, StagedModel | Repeated) else (side,))
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
                raise wrong_type("input", spec, array)
        results = self.first.run(_taken(self.first.signature.inputs, given))
        values: dict[str, Array] = {}
        for name, array in results.items():
            part = self._parts.get(name)
            values[name] = array if part is None else part.of(array, results[part.count])
        if self.second is not None:
            # An output may have the name of an input; what is handed over has not.
            values.update(
                self.second.run(_taken(self.second.signature.inputs, {**values, **given}))
            )
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

    def profile(self, inputs: object, runs: object = 1) -> NoReturn:
        """Raises ModelError: each program of each stage has steps of its own."""
        del inputs, runs
        self._refuse("has a profile of its own")

    def _refuse(self, what: str) -> NoReturn:
        raise ModelError(
            f"model '{self.signature.name}' has sizes that depend on data and runs in {len(self.stages)} stages, each "
            f"of which {what}"
        )


def _single(array: Array, name: str) -> Array:
    """The only element of an array. Raises ModelError for arrays of another size."""
    if array.size != 1:
        raise ModelError(f"'{name}' has {array.size} elements, a loop expects one")
    return array.reshape(())


def _taken(specs: Sequence[Named], known: Mapping[str, Array]) -> dict[str, Array]:
    """What a stage takes of what is known."""
    return {spec.name: known[spec.name] for spec in specs}
