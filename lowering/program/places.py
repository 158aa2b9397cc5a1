"""
Where the tensors of a program lie, and during which steps their buffers are in use.

A buffer is in use from the first step that uses it to the last one. One that is made outside of a loop and used
within is in use in all rounds.
"""

from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute

from xrelay.analysis.facts.memory_plan import ALIGNMENT, Lifetime
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import LengthsAttr, is_open, place_of
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.emit.format import Format
from xrelay.lowering.emit.packing import Packing
from xrelay.lowering.program.storage import Storage, StoragePlan, byte_size, origin, tensor_type_of


@dataclass(frozen=True)
class ConstantData:
    """A constant, and where its elements lie among the constants of a program."""

    offset: int
    op: ConstantOp
    size: int
    packing: Packing | None = None
    """The order of elements that the kernels expect; row-major by default."""


@dataclass(frozen=True)
class PlacedTensor:
    """A tensor in a buffer."""

    type: TensorType[Attribute]
    format: Format
    offset: int
    """Bytes from the start of the buffer to the element at the origin."""
    step: int
    """The first step that writes it."""
    relation: str
    """`own` for one that the buffer was made for, `part` of a concatenation, `in place` of another
    tensor."""


@dataclass(eq=False)
class _Rounds:
    """A loop that is being lowered."""

    first: int
    """Its first step."""
    used: "dict[_Buffer, None]" = field(default_factory=dict["_Buffer", None])
    """The buffers from outside that it uses."""


@dataclass(eq=False)
class _Buffer:
    """A buffer of the workspace."""

    size: int
    loops: tuple[_Rounds, ...]
    """The loops around what it was made for."""
    first: int
    last: int

    def use(self, first: int, last: int) -> None:
        self.first, self.last = min(self.first, first), max(self.last, last)


@dataclass(eq=False)
class Constants:
    """The constants of a program, or of several that are kept together: equal ones share their place."""

    placed: dict[Hashable, ConstantData] = field(default_factory=dict[Hashable, ConstantData])
    bytes: int = 0

    def place(self, op: ConstantOp, packing: Packing | None) -> ConstantData:
        """The place of a constant in some order of elements."""
        key = (op.value, op.result.type, packing)
        known = self.placed.get(key)
        if known is None:
            type_ = op.result.type
            size = byte_size(type_)
            if packing is not None:
                own = element(type_.element_type).bytes
                size = packing.byte_size(type_.get_shape(), own)
            known = self.placed[key] = ConstantData(self.bytes, op, size, packing)
            self.bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return known


class Places:
    """The tensors that have places so far."""

    def __init__(
        self,
        plan: StoragePlan,
        wanted: Mapping[Leaf, Storage],
        targets: Mapping[Leaf, Leaf],
        constants: Constants,
    ):
        self.plan = plan
        self.wanted = wanted
        """Results that kernels write straight to an output."""
        self.targets = targets
        """What a branch computes straight into the place of what the branches give."""
        self.storage: dict[Leaf, Storage] = {}
        self.placed: list[tuple[Leaf, int]] = []
        """The tensors that steps write, in order, each with the number of the first step."""
        self.constants = constants
        self.steps = 0
        """The number of the next step."""
        self._buffers: list[_Buffer] = []
        self._loops: tuple[_Rounds, ...] = ()

    def locate(self, leaf: Leaf) -> Storage:
        """Where a tensor lies."""
        leaf = origin(leaf)
        if leaf not in self.storage:
            op = leaf[0].owner
            if isinstance(op, tensor.EmptyOp):
                return self.place(leaf)
            assert isinstance(op, ConstantOp)
            self.storage[leaf] = self.length(op) or self.constant(op)
        return self.storage[leaf]

    def length(self, op: ConstantOp) -> Storage | None:
        """
        The place of a constant that holds lengths: the table has them, as the code of the target reads integers of 64 bits,
        and the first bytes of one as a narrower integer.
        """
        if not isinstance(op.value, LengthsAttr) or not any(map(is_open, op.value.data)):
            return None
        if len(op.value) > 1 and op.result.type.element_type != i64:
            return None
        return Storage("length", place_of(*op.value.data))

    def constant(self, op: ConstantOp, packing: Packing | None = None) -> Storage:
        """A place among the constants; equal ones share it."""
        return Storage("constant", self.constants.place(op, packing).offset)

    def new_buffer(self, size: int, before: int = 0) -> Storage:
        """A buffer of the workspace."""
        self._buffers.append(_Buffer(size, self._loops, self.steps, self.steps))
        return Storage("buffer", len(self._buffers) - 1, before)

    def place(self, leaf: Leaf) -> Storage:
        """A place for a tensor that the next step computes, or that it computes a part of."""
        if leaf in self.storage:
            return self.storage[leaf]
        part, target = self.plan.parts.get(leaf), self.targets.get(leaf)
        kind = element(tensor_type_of(leaf).element_type)
        if leaf in self.wanted:
            place = self.wanted[leaf]
        elif target is not None:
            place = self.place(target)
        elif part is not None:
            whole = self.place(part.whole)
            place = Storage(whole.place, whole.number, whole.before + part.offset)
        elif leaf in self.plan.in_place:
            place = self.locate(self.plan.in_place[leaf])
        else:
            format = self.plan.format(leaf)
            place = self.new_buffer(format.size * kind.bytes, format.before * kind.bytes)
        self.storage[leaf] = place
        self.placed.append((leaf, self.steps))
        return place

    def use(self, place: Storage, step: int) -> None:
        """Notes that a step uses a place."""
        if place.place != "buffer":
            return
        buffer = self._buffers[place.number]
        buffer.use(step, step)
        if self._loops and self._loops[-1] not in buffer.loops:
            self._loops[-1].used[buffer] = None

    @contextmanager
    def loop(self) -> Generator[None]:
        """What is placed meanwhile is used in rounds."""
        rounds = _Rounds(self.steps)
        around, self._loops = self._loops, (*self._loops, rounds)
        yield
        self._loops = around
        for buffer in rounds.used:
            if rounds.first < self.steps:
                buffer.use(rounds.first, self.steps - 1)
            if around and around[-1] not in buffer.loops:
                around[-1].used[buffer] = None

    def lifetimes(self) -> list[Lifetime]:
        """When the buffers are in use, in order."""
        most = max(self.steps - 1, 0)
        return [
            Lifetime(each.size, min(each.first, most), min(each.last, most))
            for each in self._buffers
        ]

    def tensors(self) -> dict[int, list[PlacedTensor]]:
        """What lies in the numbered buffers."""
        result: dict[int, list[PlacedTensor]] = {}
        for leaf, step in self.placed:
            place = self.storage[leaf]
            if place.place != "buffer":
                continue
            relation = "part" if leaf in self.plan.parts else "own"
            if leaf in self.plan.in_place or leaf in self.targets:
                relation = "in place"
            type_ = tensor_type_of(leaf)
            placed = PlacedTensor(type_, self.plan.format(leaf), place.before, step, relation)
            result.setdefault(place.number, []).append(placed)
        return result
