"""
Models whose inputs have unknown dimensions: programs for many lengths, and for each combination of lengths that comes
where one program cannot serve many.

Lengths are read off the inputs of a call. So are the elements of inputs that dimensions depend on, as the shape that a
Reshape takes. For a combination that is new, a program that serves it is looked for, or compiled; what is made for it is
kept for the next call, within a number of programs and of bytes, beyond which those go that were used longest ago.
"""

from __future__ import annotations

import logging
import sys
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from operator import index
from pathlib import Path
from threading import Lock, Thread
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.utils.exceptions import DiagnosticException

from xrelay.runtime.arguments import few, path_argument
from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import Binding
from xrelay.runtime.layouts import ROW_MAJOR, Layouts, computed_apart, layouts_of
from xrelay.runtime.lengths import MOST_LENGTH
from xrelay.runtime.memory import arrays_by_name, require_types, wrong_type
from xrelay.runtime.model import Array, Model, named_arrays
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.signature import (
    InputValue,
    Known,
    OpenTensor,
    Ranges,
    UnknownDimensions,
    is_shape,
    taken_inputs,
)

logger = logging.getLogger("xrelay.lengths")

MOST_PROGRAMS = 32
"""How many static programs a model keeps, and how many for many lengths."""
MOST_LENGTHS = 1024
"""For how many combinations it knows, at most, which program for many lengths serves them: these share code and workspaces."""
MOST_COUNTED = 1024
"""Of how many combinations of lengths calls are counted."""
MOST_BYTES = 4 << 30
"""How many bytes their constants and workspaces may have together."""


@dataclass(frozen=True)
class DynamicSignature:
    """The interface of a model with unknown dimensions."""

    name: str
    inputs: tuple[OpenTensor, ...]
    outputs: tuple[OpenTensor, ...]
    """As the model states them; what comes out has the lengths that follow from the inputs."""

    def __str__(self) -> str:
        inputs, outputs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"'{self.name}': {inputs or 'none'} -> {outputs or 'none'}"


class InStages(ABC):
    """A model in stages, as `xrelay.runtime.staged` has them."""

    @property
    @abstractmethod
    def stages(self) -> tuple[Model | PartitionedModel | DynamicModel, ...]:
        """The models that run one after the other."""
        ...

    @property
    @abstractmethod
    def specialisations(self) -> tuple[Specialisation, ...]:
        """The programs of all stages."""
        ...

    @abstractmethod
    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """As `DynamicModel.run`."""
        ...


@dataclass(frozen=True)
class Specialisation:
    """A program of a dynamic model at some lengths."""

    shapes: Mapping[str, Known]
    """The shape of each input, or its elements where they decide about others."""
    model: Model | PartitionedModel

    @property
    def conditions(self) -> tuple[str, ...] | None:
        """For which other lengths its program serves as well; None for a program of these alone."""
        return self.model.conditions if isinstance(self.model, Model) else None

    @property
    def bytes(self) -> int:
        """What its workspace takes, and the constants that it does not share with others."""
        signature = self.model.signature
        own = 0 if self.conditions is not None else signature.constant_bytes
        return own + signature.workspace_bytes


_Key: TypeAlias = tuple[tuple[Known, ...], bool, Layouts]
"""What a program is for, whether for that alone, and how arrays lie."""


Program: TypeAlias = Model | PartitionedModel | InStages
Specialise: TypeAlias = Callable[[dict[str, Known], Layouts], Program]
"""Compiles the model for the shapes, or the elements, of all inputs, and arrays that lie in some way."""


@dataclass(frozen=True)
class _Kept:
    """What runs at some lengths: a program, or several in stages."""

    shapes: Mapping[str, Known]
    model: Program

    @property
    def specialisations(self) -> tuple[Specialisation, ...]:
        """The programs."""
        if isinstance(self.model, InStages):
            return self.model.specialisations
        return (Specialisation(self.shapes, self.model),)

    @property
    def serves_others(self) -> bool:
        """Whether it is on the code of a program for many lengths."""
        return isinstance(self.model, Model) and self.model.conditions is not None

    @property
    def code(self) -> int:
        """What stands for its machine code, which models at many lengths share."""
        return id(self.model.code) if isinstance(self.model, Model) else 0

    @property
    def bytes(self) -> int:
        """What they take, but for stages with open dimensions, which drop programs themselves."""
        if not isinstance(self.model, InStages):
            return Specialisation(self.shapes, self.model).bytes
        alone = (each for each in self.model.stages if not isinstance(each, DynamicModel))
        return sum(Specialisation({}, each).bytes for each in alone)


class DynamicModel:
    """
    A model with unknown dimensions. `run` may be called from several threads at once: a combination of
    lengths is compiled once, and other combinations do not wait for it.
    """

    def __init__(
        self,
        signature: DynamicSignature,
        specialise: Specialise,
        most_programs: int = MOST_PROGRAMS,
        most_bytes: int = MOST_BYTES,
        values: Sequence[str] = (),
        for_many: Callable[[dict[str, Known], Layouts], Program | None] | None = None,
        ranges: Ranges | None = None,
        save: Callable[[Path, Sequence[Specialisation]], None] | None = None,
        staged: Callable[[UnknownDimensions, DynamicSignature], InStages | None] | None = None,
        specialise_after: int = 0,
        stages_for: Callable[[Mapping[str, Known]], InStages | None] = lambda shapes: None,
    ):
        """
        `ranges` says what lengths are between; others are refused. `save` writes programs for many lengths into a file,
        those of the specialisations among them; None for a model whose programs are in one already. After
        `specialise_after` calls with the same lengths these get a program of their own in the background; 0 for never.
        `values` names inputs whose elements programs are made for; compiling one may find others. `for_many` gives a
        model for shapes and layouts on the code of a program for many of them, or stages for all, where there can be such.
        `staged` makes the model that runs instead once it turns out that sizes depend on data, or None where there is none;
        `stages_for` finds stages for some shapes that were made for others.
        """
        self.signature = signature
        self._specialise = specialise
        self._for_many = for_many
        self._staged = staged
        self._stages_for = stages_for
        self._stages: InStages | None = None
        self._ranges = ranges or {}
        self._save = save
        self._specialise_after = specialise_after
        self._calls: dict[_Key, int] = {}
        """With lengths on the code of a program for many."""
        self._background: Thread | None = None
        """What compiles a program beside the calls."""
        self._most_programs = most_programs
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._values = frozenset(values)
        self._programs: OrderedDict[_Key, Future[_Kept]] = OrderedDict()
        """Those that were used last at the end."""
        self._codes: set[int] = set()
        """What stands for the machine code of those for many lengths."""

    def __repr__(self) -> str:
        return f"<DynamicModel {self.signature}, {len(self.specialisations)} specialisations>"

    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """
        Runs the model on named arrays and returns named arrays.

        Raises ModelError that names the input, what was found and what is expected, and what
        `xrelay.compile` raises for lengths for which the model makes no sense.
        """
        specs = self.signature.inputs
        arrays = named_arrays(specs, inputs)
        self._check(arrays)
        named = {spec.name: array for spec, array in zip(specs, arrays, strict=True)}
        if self._stages is None:
            try:
                found = self._program_for(arrays)
            except UnknownDimensions as unknown:
                self._cut(unknown)
            else:
                return found.model.run(taken_inputs(named, found.shapes))
        assert self._stages is not None
        return self._stages.run(named)

    def _cut(self, unknown: UnknownDimensions) -> None:
        """Makes the stages that the model has. Raises `unknown` where there are none."""
        with self._lock:
            if self._stages is None and self._staged is not None:
                self._stages = self._staged(unknown, self.signature)
            if self._stages is None:
                raise unknown

    def bind(
        self,
        inputs: Sequence[Array] | Mapping[str, Array],
        outputs: Sequence[Array] | Mapping[str, Array],
    ) -> Binding:
        """
        The program for the lengths of arrays, by name or in the order of the signature, on these arrays. They are checked
        now: `run` of what this returns neither checks nor copies. Inputs whose elements decide about lengths are read
        now.

        An array is C-contiguous, or the first rows of a larger one along an axis, as `cache[:, :, :n]`. An output
        may lie over an input, `cache[:, :, :n + 1]`, where the program appends to the input: it writes what is new. One
        that lies exactly on an input is copied there in the end.

        Raises ModelError that names the arrays, what was found and what is expected, for a model with other
        engines, and what `xrelay.compile` raises, also where an output over an input is computed otherwise.
        """
        arrays = arrays_by_name("input", self.signature.inputs, inputs)
        results = arrays_by_name("output", self.signature.outputs, outputs)
        given = list(arrays.values())
        self._check(given)
        for spec in self.signature.outputs:
            array = results[spec.name]
            # Models may state lengths of outputs that are others: those are compared with what the program has.
            rank = array.ndim if spec.dims is None else len(spec.dims)
            if spec.dtype is not None and (array.dtype, array.ndim) != (spec.dtype, rank):
                raise wrong_type("output", spec, array)
        # The programs of a file know nothing of outputs in the place of inputs.
        apart = computed_apart(arrays, results) if self._save is None else {}
        layouts = layouts_of(arrays, {**results, **apart})
        model, shapes = self._own_program(
            given, layouts, "which do not run on arrays of the caller; use `run`"
        )
        require_types("output", model.signature.outputs, results.values())
        taken = taken_inputs(arrays, shapes)
        return model.bound(list(taken.values()), results, apart)

    def profile(
        self, inputs: Mapping[str, npt.ArrayLike], runs: int
    ) -> tuple[dict[str, Array], npt.NDArray[np.int64]]:
        """
        As `Model.profile`, of the program for the lengths of the inputs, which is the last of `specialisations` then.

        Raises ModelError also for a model in stages, or with other engines, and what `xrelay.compile` raises.
        """
        specs = self.signature.inputs
        arrays = named_arrays(specs, inputs)
        self._check(arrays)
        named = {spec.name: array for spec, array in zip(specs, arrays, strict=True)}
        model, shapes = self._own_program(
            arrays, ROW_MAJOR, "each of which has a profile of its own"
        )
        return model.profile(taken_inputs(named, shapes), runs)

    def _own_program(
        self, arrays: Sequence[Array], layouts: Layouts, otherwise: str
    ) -> tuple[Model, Mapping[str, Known]]:
        """
        The program for a call, and what it is for. Raises ModelError where there are several, which are `otherwise`: one behind
        the other, or on other engines.
        """
        several = ModelError(
            f"model '{self.signature.name}' has parts on other engines, or behind sizes that depend on data, {otherwise}"
        )
        try:
            kept = self._program_for(arrays, layouts)
            if isinstance(kept.model, InStages):
                # For these lengths alone it may be one program.
                kept = self._program_for(arrays, layouts, alone=True)
        except UnknownDimensions as unknown:
            if not unknown.many:
                raise
            raise several from unknown
        if not isinstance(kept.model, Model):
            raise several
        return kept.model, kept.shapes

    def _program_for(
        self, arrays: Sequence[Array], layouts: Layouts = ROW_MAJOR, *, alone: bool = False
    ) -> _Kept:
        """
        The program for a call, with `alone` one that serves no others. It may turn out to depend on the elements of more inputs
        than others did.
        """
        specs = self.signature.inputs
        while True:
            values = self._values
            key = [
                InputValue.of(array) if spec.name in values else array.shape
                for spec, array in zip(specs, arrays, strict=True)
            ]
            try:
                return self._program(key, layouts.without(values), alone=alone)
            except UnknownDimensions as unknown:
                if unknown.many or values.issuperset(unknown.values):
                    raise
                with self._lock:
                    self._values |= frozenset(unknown.values)

    def specialise(self, shapes: Mapping[str, Sequence[int] | InputValue]) -> Program:
        """
        The static program for some shapes, compiled now if it is not there yet. Inputs whose elements
        decide about dimensions are given by an InputValue; the program does not take them.

        Raises ModelError for shapes that are not those of all inputs, and for a model in stages, and what `xrelay.compile` raises.
        """
        specs = self.signature.inputs
        given_names = list(shapes or {})
        if set(given_names) != {spec.name for spec in specs}:
            raise ModelError(
                f"shapes are given of {few(given_names)}, expected those of all inputs: {few(specs)}"
            )
        given = [shapes[spec.name] for spec in specs]
        for spec, each in zip(specs, given, strict=True):
            if not isinstance(each, InputValue) and not is_shape(each):
                raise ModelError(f"the shape of '{spec.name}' is {each!r}, expected whole numbers")
        key = [each if isinstance(each, InputValue) else tuple(map(index, each)) for each in given]
        self._check_shapes([each.shape if isinstance(each, InputValue) else each for each in key])
        model = self._program(key, alone=True).model
        if isinstance(model, InStages):
            raise ModelError(f"{self._in_stages()}; use `run`")
        return model

    @property
    def specialisations(self) -> tuple[Specialisation, ...]:
        """The programs that are kept, those that were used last at the end; of all stages where sizes depend on data."""
        if self._stages is not None:
            return self._stages.specialisations
        with self._lock:
            # Stages may serve several lengths.
            ready = {id(kept.model): kept for _, kept in self._ready()}
        return tuple(each for kept in ready.values() for each in kept.specialisations)

    @property
    def stages(self) -> tuple[Model | PartitionedModel | DynamicModel, ...]:
        """
        The models that run one after the other, once a call has shown that sizes depend on data, where these are the same for
        all shapes; none before, and for other models.
        """
        return () if self._stages is None else self._stages.stages

    @property
    def llvm_ir(self) -> str:
        """Raises ModelError: each specialisation has its own."""
        if self._stages is not None:
            raise ModelError(
                f"{self._in_stages()}, each of which has LLVM IR of its own: `specialisations` lists them"
            )
        raise ModelError(f"{self._many_programs()} has LLVM IR of its own")

    def save(self, path: str | Path) -> None:
        """
        Writes programs for many lengths, as `Model.save` does: `.so` for `xrelay.load` and `.o`, each with a C header whose
        functions take the dimensions, or `.ll`. They are compiled for it: those that the ranges of `shapes=` need, or for
        dimensions without one those for lengths of 1 and more, and those of the specialisations. docs/running.md
        says more.

        Raises ModelError when the suffix is unknown or the place cannot be written, for a model that was loaded from
        a library and one with parts on other engines, or in stages, and what `xrelay.compile` raises.
        """
        with self._lock:
            staged = any(isinstance(kept.model, InStages) for _, kept in self._ready())
        if staged or self._stages is not None:
            raise ModelError(f"{self._in_stages()}; they cannot be saved as '{path}'")
        if self._save is None:
            raise ModelError(
                f"model '{self.signature.name}' cannot be saved: it was loaded from a library, or has parts on other engines"
            )
        # One that was asked for with elements of other inputs is no program of this model.
        known = [
            each
            for each in self.specialisations
            if self._values
            == frozenset(n for n, s in each.shapes.items() if isinstance(s, InputValue))
        ]
        self._save(path_argument("path", path, ModelError), known)

    def _in_stages(self) -> str:
        return f"sizes of model '{self.signature.name}' depend on data, so that it is several programs in stages"

    def _many_programs(self) -> str:
        open_inputs = few(
            spec for spec in self.signature.inputs if spec.is_open or spec.name in self._values
        )
        return (
            f"model '{self.signature.name}' has unknown dimensions ({open_inputs}) and a program for each "
            "combination of lengths. Compile it with shapes=, or take one by `specialise`, which"
        )

    def _program(
        self, shapes: Sequence[Known], layouts: Layouts = ROW_MAJOR, *, alone: bool = False
    ) -> _Kept:
        """The program for some shapes and layouts: with `alone` one that serves no others."""
        key = tuple(shapes), True, layouts
        many = None if alone or key in self._programs else self._for_many
        if many is not None:
            key = tuple(shapes), False, layouts
        with self._lock:
            future = self._programs.get(key)
            find_stages = future is None and not alone
            stages = self._stages_for(self._named(shapes)) if find_stages else None
            if stages is not None:
                return _Kept(self._named(shapes), stages)
            mine = future is None
            if future is None:
                future = self._programs[key] = Future()
            self._programs.move_to_end(key)
        if not mine:
            known = future.result()
            if self._specialise_after and not alone and known.serves_others:
                self._count(key)
            return known
        named = self._named(shapes)
        try:
            model = None if many is None else many(named, layouts)
            found = _Kept(named, model or self._specialise(named, layouts))
        except BaseException as error:
            with self._lock:
                self._programs.pop(key, None)
            if isinstance(error, DiagnosticException):
                self._add_lengths(error, shapes)
            future.set_exception(error)
            raise
        future.set_result(found)
        with self._lock:
            if found.serves_others:
                self._codes.add(found.code)
            is_many = len(self._codes) > self._most_programs or len(self._programs) > MOST_LENGTHS
            if not found.serves_others or is_many:
                self._forget(key)
        return found

    def _add_lengths(self, error: DiagnosticException, shapes: Sequence[Known]) -> None:
        """Adds to a message for which lengths the model makes no sense."""
        if isinstance(error, UnknownDimensions) or len(error.args) != 1:
            return
        lengths: dict[str, int] = {}
        for spec, shape in zip(self.signature.inputs, shapes, strict=True):
            lengths |= spec.open_numbers(shape)
        if lengths:
            told = few(f"{name} = {length}" for name, length in lengths.items())
            error.args = (f"{error.args[0]} (for {told})",)

    def _named(self, shapes: Sequence[Known]) -> dict[str, Known]:
        return {spec.name: shape for spec, shape in zip(self.signature.inputs, shapes, strict=True)}

    def _count(self, key: _Key) -> None:
        """Counts a further call, and starts to compile a program for its lengths alone when there were enough."""
        with self._lock:
            calls = self._calls.pop(key, 1) + 1
            if len(self._calls) >= MOST_COUNTED:
                self._calls.clear()
            self._calls[key] = calls
            is_busy = self._background is not None and self._background.is_alive()
            if calls < self._specialise_after or is_busy:
                return
            self._calls[key] = -sys.maxsize  # Once: where that fails, it would fail again.
            self._background = Thread(target=self._improve, args=(key,))
            self._background.start()

    def _improve(self, key: _Key) -> None:
        """Compiles a program for some lengths alone, which takes the place of that for many once it is there."""
        shapes, _, layouts = key
        named = self._named(shapes)
        try:
            found = _Kept(named, self._specialise(named, layouts))
        except (DiagnosticException, RuntimeError) as error:
            # No call waits for it. RuntimeError: at exit, threads may no longer start others.
            logger.info("no program for %s alone: %s", named, error)
            return
        future: Future[_Kept] = Future()
        future.set_result(found)
        with self._lock:
            self._calls.pop(key, None)
            self._programs.pop(key, None)
            self._programs[shapes, True, layouts] = future
            self._forget((shapes, True, layouts))

    def _ready(self) -> list[tuple[_Key, _Kept]]:
        return [
            (key, future.result())
            for key, future in self._programs.items()
            if future.done() and future.exception() is None
        ]

    def _forget(self, newest: _Key) -> None:
        """Drops what was used longest ago, until programs for some lengths alone are few and small enough, and others few."""
        ready = self._ready()
        # The code that was used last comes last.
        codes = list(dict.fromkeys(k.code for _, k in reversed(ready) if k.serves_others))[::-1]
        self._codes = set(codes[-self._most_programs :])
        shared: list[_Key] = []
        for key, kept in ready:
            if kept.serves_others and kept.code not in self._codes:
                del self._programs[key]
            elif kept.serves_others and key != newest:
                shared.append(key)
        if len(shared) >= MOST_LENGTHS:
            # Many at once: whoever meets more lengths than that would look at all of them for each.
            for key in shared[: len(shared) - MOST_LENGTHS // 2]:
                del self._programs[key]
        alone = [(key, kept.bytes) for key, kept in ready if not kept.serves_others]
        count, size = len(alone), sum(size for _, size in alone)
        for key, bytes_of_one in alone:
            if count <= self._most_programs and size <= self._most_bytes:
                return
            if key != newest:
                del self._programs[key]
                count, size = count - 1, size - bytes_of_one

    def _check(self, arrays: Sequence[Array]) -> None:
        """Raises ModelError for arrays of other dtypes, ranks or lengths than the model states."""
        for spec, array in zip(self.signature.inputs, arrays, strict=True):
            if array.dtype != spec.dtype:
                raise wrong_type("input", spec, array)
        self._check_shapes([array.shape for array in arrays])

    def _check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> None:
        lengths: dict[str, tuple[int, str]] = {}
        """Of each name, with the input that has it first."""
        for spec, shape in zip(self.signature.inputs, shapes, strict=True):
            if spec.dims is None:
                continue
            if len(shape) != len(spec.dims):
                raise ModelError(
                    f"input '{spec.name}' has the shape {list(shape)} of rank {len(shape)}, expected {spec}"
                )
            for axis, (dim, length) in enumerate(zip(spec.dims, shape, strict=True)):
                if isinstance(dim, int):
                    if dim != length:
                        raise ModelError(
                            f"input '{spec.name}' has the shape {list(shape)}, expected {spec}: "
                            f"dimension {axis} is {dim}"
                        )
                elif dim:
                    known, first = lengths.setdefault(dim, (length, spec.name))
                    if known != length:
                        raise ModelError(
                            f"'{dim}' is {known} in input '{first}' and {length} in input '{spec.name}', "
                            "expected one length"
                        )
                least, most = self._ranges.get(str(dim), (0, MOST_LENGTH))
                if not isinstance(dim, int) and not least <= length <= most:
                    what = f"'{dim}'" if dim else f"dimension {axis}"
                    raise ModelError(
                        f"{what} is {length} in input '{spec.name}', expected {least} to {most}"
                    )
