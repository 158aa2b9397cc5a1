"""
Models whose parts run in several engines.

    step 0 ──┬─ step 1 (threads 1) ─┬── step 3
             └─ step 2 (threads 1) ─┘
    stage 0        stage 1              stage 2

Stages run one after the other. The steps of a stage need nothing of each other, and run at once, each on threads of
its own; as a rule each step is a stage.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from xrelay.runtime.arguments import check_callable, kind_of
from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import aligned_bytes, allocated
from xrelay.runtime.memory import contiguous
from xrelay.runtime.model import check_inputs
from xrelay.runtime.signature import Signature, TensorSpec, restored, stored

logger = logging.getLogger("xrelay.backends")

Array = npt.NDArray[Any]
RunRegion: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array] | None]
"""Fills the outputs, or returns arrays in their place."""


@dataclass(frozen=True)
class Slot:
    """A tensor between the steps of a model."""

    spec: TensorSpec
    offset: int | None = None
    """Where it lies in the workspace; None for inputs, outputs and constants."""


@dataclass
class RegionStep:
    """One step of a model: a region that one engine runs."""

    name: str
    """The name of the region."""
    backend: str
    """The name of the engine."""
    described: str
    """The region in messages."""
    run: RunRegion
    reads: tuple[int, ...]
    """The slots of its inputs."""
    writes: tuple[int, ...]
    """The slots of its outputs."""
    stage: int
    """When it runs: in order, and at the same time as others of the stage."""
    fallback: Callable[[], RunRegion] | None = None
    """Makes what runs the region when the engine fails."""
    failures: list[str] = field(default_factory=list[str])
    """Why the engine does not run it any more."""
    engine_failed: bool = False
    lock: Lock = field(default_factory=Lock)
    """Held while something else takes the place of the engine."""

    def replace_engine(self, error: BaseException) -> RunRegion:
        """What runs the region after the engine failed, in whichever thread it did so first."""
        assert self.fallback is not None
        with self.lock:
            if not self.engine_failed:
                self.run = self.fallback()
                self.failures.append(str(error))
                self.engine_failed = True
            return self.run


@dataclass(frozen=True)
class _Memory:
    """A workspace and the tensors in it, which are found once: that takes longer than small regions do."""

    reads: list[Array | None]
    """What regions read, by slots: constants and tensors in the workspace. None for what each run has for itself."""
    writes: list[Array | None]
    """What they write, by slots: tensors in the workspace."""


class PartitionedModel:
    """
    A model whose regions run in several engines. `run` may be called from several threads at once.
    """

    def __init__(
        self,
        signature: Signature,
        inputs: Sequence[int],
        outputs: Sequence[int],
        slots: Sequence[Slot],
        constants: Mapping[int, Array],
        steps: Sequence[RegionStep],
    ):
        """
        `inputs` and `outputs` are the slots of what the signature names. Several outputs may be the
        same one. Steps are in the order of their stages.
        """
        self.signature = signature
        self.steps = tuple(steps)
        """The regions in the order in which they run."""
        self._inputs, self._outputs, self._slots = tuple(inputs), tuple(outputs), tuple(slots)
        self._constants = {slot: contiguous(array) for slot, array in constants.items()}
        first = {slot: number for number, slot in reversed(list(enumerate(outputs)))}
        self._is_first = [first[slot] == number for number, slot in enumerate(outputs)]
        """Whether no earlier output has the slot of each output."""
        self._read = frozenset(slot for step in steps for slot in step.reads)
        """The slots that steps read."""
        self._idle: deque[_Memory] = deque()
        """Workspaces that no run uses."""
        self.stages = tuple(tuple(each) for _, each in groupby(self.steps, lambda step: step.stage))
        """The regions that run at once, in order."""

        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        """What runs the steps of a stage but the first, and the process that it is of."""
        self._pool_lock = Lock()

    def _beside(self) -> ThreadPoolExecutor:
        """The pool of this process; a child of `fork` has none of the threads of its parent."""
        with self._pool_lock:
            if self._pool is None or self._pool[0] != os.getpid():
                self._pool = os.getpid(), ThreadPoolExecutor(max(map(len, self.stages)) - 1)
            return self._pool[1]

    def __repr__(self) -> str:
        engines = ", ".join(dict.fromkeys(step.backend for step in self.steps)) or "none"
        steps = f"{len(self.steps)} step{'s' * (len(self.steps) != 1)} on {engines}"
        return f"<PartitionedModel {self.signature}, {steps}>"

    def run(
        self,
        inputs: Mapping[str, npt.ArrayLike],
        *,
        after_step: Callable[[RegionStep], None] | None = None,
    ) -> dict[str, Array]:
        """
        Runs the model on named arrays and returns named arrays. `after_step` is told of each step
        when it and those that run at the same time are done.

        Raises ModelError that names the input, what was found and what is expected, and when an
        engine fails.
        """
        if after_step is not None:
            check_callable("after_step", after_step, ModelError)
        given = [stored(array) for array in check_inputs(self.signature.inputs, inputs)]
        try:
            memory = self._idle.pop()
        except IndexError:
            memory = self._new_memory()
        reads = memory.reads.copy()
        for slot, array in zip(self._inputs, given, strict=True):
            reads[slot] = _read_only(array)
        made: dict[int, Array] = {}
        try:
            for stage in self.stages:
                self._run_stage(stage, memory, reads, made)
                if after_step is not None:
                    for step in stage:
                        after_step(step)
        except Exception:
            self._idle.append(memory)
            raise
        # Who is interrupted may leave steps behind that still write to theirs: it is for no other run.
        self._idle.append(memory)
        results: dict[str, Array] = {}
        for spec, slot, is_first in zip(
            self.signature.outputs, self._outputs, self._is_first, strict=True
        ):
            # What the caller has, or got before, is not given out a second time; what it gets is its own.
            array = made.get(slot)
            if array is None:
                array = cast(Array, reads[slot]).copy()
            elif not is_first or not array.flags.writeable:
                array = array.copy()
            results[spec.name] = restored(array, spec.dtype)
        return results

    def _new_memory(self) -> _Memory:
        """Another workspace."""
        whole = aligned_bytes(
            self.signature.workspace_bytes, f"the workspace of model '{self.signature.name}'"
        )
        reads: list[Array | None] = [None] * len(self._slots)
        writes: list[Array | None] = [None] * len(self._slots)
        for number, slot in enumerate(self._slots):
            if slot.offset is not None:
                part = whole[slot.offset : slot.offset + slot.spec.size]
                writes[number] = part.view(slot.spec.dtype).reshape(slot.spec.shape)
        for number, array in (*enumerate(writes), *self._constants.items()):
            if array is not None:
                reads[number] = _read_only(array)
        return _Memory(reads, writes)

    def _run_stage(
        self,
        stage: Sequence[RegionStep],
        memory: _Memory,
        reads: list[Array | None],
        made: dict[int, Array],
    ) -> None:
        """Runs the steps of a stage at once, all of them, also where one fails."""
        first, *others = stage
        if not others:
            self._run_step(first, memory, reads, made)
            return
        beside: list[Future[None]] = []
        try:
            pool = self._beside()
            for each in others:
                beside.append(pool.submit(self._run_step, each, memory, reads, made))
            self._run_step(first, memory, reads, made)
        finally:
            errors = [each.exception() for each in beside]
        for error in filter(None, errors):
            raise error

    def _run_step(
        self,
        step: RegionStep,
        memory: _Memory,
        reads: list[Array | None],
        made: dict[int, Array],
    ) -> None:
        """Runs a step, from what it reads to what it makes, which later ones read."""
        given = [cast(Array, reads[slot]) for slot in step.reads]
        kept = [memory.writes[slot] for slot in step.writes]
        writes = [
            self._allocated(slot) if array is None else array
            for slot, array in zip(step.writes, kept, strict=True)
        ]
        # Another thread may replace the engine meanwhile.
        is_fallback, run = step.engine_failed, step.run
        try:
            # Engines may change the lists that they get: own code writes to what is in these without a look.
            results = _checked(run([*given], [*writes]), given, writes)
        except (Exception, SystemExit) as error:
            problem = f"{step.described} fails on backend '{step.backend}': {error}"
            if step.fallback is None or is_fallback:
                raise ModelError(problem) from error
            logger.warning("%s; it runs on xrelay's own code from now on", problem)
            run = step.replace_engine(error)
            results = _checked(run([*given], [*writes]), given, writes)
        for slot, array, place in zip(step.writes, results, kept, strict=True):
            if array is not place:
                made[slot] = array
                if slot in self._read:
                    reads[slot] = _read_only(array)

    def _allocated(self, slot: int) -> Array:
        """New memory for a tensor."""
        spec = self._slots[slot].spec
        return allocated(spec.shape, spec.dtype, "tensor", spec.name)


def _read_only(array: Array) -> Array:
    """A view that an engine cannot write to by mistake: the caller's arrays are among its inputs."""
    view = array.view()
    view.flags.writeable = False
    return view


def _checked(
    results: Sequence[Array] | None, reads: Sequence[Array], writes: Sequence[Array]
) -> Sequence[Array]:
    """
    The outputs of a region. Arrays that it returns in their place must be like them; those in the
    memory of inputs and of other outputs, which later steps use for other tensors, are copied.
    """
    if results is None:
        return writes
    if not isinstance(cast(object, results), Sequence):
        raise ModelError(
            f"it returns {kind_of(results)}, expected a sequence of arrays, or None when the "
            "outputs are filled"
        )
    if len(results) != len(writes):
        raise ModelError(f"it returns {len(results)} arrays, expected {len(writes)}")
    found: list[Array] = []
    for i, (result, write) in enumerate(zip(results, writes, strict=True)):
        array = np.asarray(result)
        if array.shape != write.shape or array.dtype != write.dtype:
            raise ModelError(
                f"result {i} is {array.dtype}{list(array.shape)}, "
                f"expected {write.dtype}{list(write.shape)}"
            )
        others = (*reads, *(each for each in writes if each is not write), *found)
        if any(np.may_share_memory(array, other) for other in others):
            array = array.copy()
        found.append(contiguous(array))
    return found
