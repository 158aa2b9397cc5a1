"""
Evaluation on demand: a consumer asks its producers for the elements at a position.

Nothing between the operators of a group touches memory: `Evaluator.get(value, position)` emits
the code that computes those elements, by asking the rule of the operator that defines the value,
which asks for its operands' elements in turn. Elements that were computed before, at the same
position and in a block that is still open, are used again, so diamonds cost nothing.

Rules are generators: they yield what they need and are sent its value. One driver with a stack of
its own runs them, so deep groups do not run into Python's recursion limit.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.core.values import CompositeOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import leaf_type, same_shape, static_tensor
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.format import Format
from xrelay.lowering.emit.index import Condition, Index
from xrelay.lowering.emit.position import Position, at

Leaf: TypeAlias = tuple[SSAValue, int]
"""One tensor of a value: its number among the flattened tuple fields, 0 for a tensor."""


@dataclass(frozen=True)
class Demand:
    """The elements of one tensor at a position."""

    leaf: Leaf
    position: Position


Rule: TypeAlias = Generator[Demand, SSAValue, SSAValue]
"""A computation of elements that yields demands, is sent their values, and returns the result."""

RuleFunction: TypeAlias = Callable[["Evaluator", Operation, int, Position], Rule]
"""Starts the rule of an operator for one tensor of its result."""


@dataclass(frozen=True)
class EachLane:
    """A rule for single elements as one for vectors, which it computes lane by lane."""

    rule: RuleFunction

    def __call__(self, ev: "Evaluator", op: Operation, leaf: int, position: Position) -> Rule:
        lanes: list[SSAValue] = []
        for i in range(position.lanes):
            lanes.append((yield from self.rule(ev, op, leaf, position.lane(ev.b, i))))
        return ev.b.from_lanes(lanes)


@dataclass(frozen=True)
class Buffer:
    """A tensor in memory. Steps along the last axis are steps of one element."""

    pointer: SSAValue
    """Where the element at the origin lies."""
    format: Format
    element: Element

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.format.shape

    def offset(self, b: KernelBuilder, position: Position) -> Index:
        """How many elements after the origin lane 0 of a position lies."""
        split = len(position.outer)
        if self.format.dense_axes >= len(self.shape) - split:
            coords, inner = position.outer, position.inner
        else:
            (*coords, inner) = position.coords(b)
        return b.add(self.origin(b, coords), inner)

    def origin(self, b: KernelBuilder, coords: Sequence[Index]) -> Index:
        """How many elements after the origin the given leading coordinates lie."""
        offset: Index = 0
        for coord, stride in zip(coords, self.format.strides, strict=False):
            offset = b.add(offset, b.mul(coord, stride))
        return offset


@dataclass(eq=False)
class Evaluator:
    """Computes elements of the values of one group."""

    b: KernelBuilder
    rules: dict[type[Operation], RuleFunction]
    buffers: dict[Leaf, Buffer] = field(default_factory=dict[Leaf, Buffer])
    """Tensors that are in memory: parameters, and what was materialised."""
    _known: dict[Demand, tuple[SSAValue, Block]] = field(
        default_factory=dict[Demand, tuple[SSAValue, Block]]
    )

    def get(self, leaf: Leaf, position: Position) -> SSAValue:
        """Emits code for the elements of a tensor: a scalar, or a vector for several lanes."""
        demand = Demand(leaf, position)
        known = self._lookup(demand)
        if known is not None:
            return known
        stack = [(demand, self._start(demand))]
        answer: SSAValue | None = None
        while True:
            demand, rule = stack[-1]
            try:
                wanted = next(rule) if answer is None else rule.send(answer)
            except StopIteration as stop:
                stack.pop()
                answer = stop.value
                assert answer is not None
                self.bind(demand.leaf, demand.position, answer)
                if not stack:
                    return answer
                continue
            answer = self._lookup(wanted)
            if answer is None:
                stack.append((wanted, self._start(wanted)))

    def run(self, rule: Rule) -> SSAValue:
        """Emits code for a computation that no operator stands for."""
        answer: SSAValue | None = None
        while True:
            try:
                wanted = next(rule) if answer is None else rule.send(answer)
            except StopIteration as stop:
                return stop.value
            answer = self.get(wanted.leaf, wanted.position)

    def bind(self, leaf: Leaf, position: Position, value: SSAValue) -> None:
        """States that `value` holds the elements of a tensor at a position."""
        self._known[Demand(leaf, position)] = (value, self.b.block)

    def _lookup(self, demand: Demand) -> SSAValue | None:
        known = self._known.get(demand)
        if known is None or not any(known[1] is block for block in self.b.open_blocks):
            return None
        return known[0]

    def _start(self, demand: Demand) -> Rule:
        leaf, position = demand.leaf, demand.position
        if leaf in self.buffers:
            return self._load(leaf, position)
        op = leaf[0].owner
        if not isinstance(op, Operation):
            return self._pass_on(argument_of(leaf[0]), leaf[1], position)
        rule = self.rules.get(type(op))
        if rule is None:
            raise DiagnosticException(f"no kernel code for {op.name}")
        return rule(self, op, leaf[1], position)

    def _pass_on(self, value: SSAValue, number: int, position: Position) -> Rule:
        return (yield Demand((value, number), position))

    def _load(self, leaf: Leaf, position: Position) -> Rule:
        buffer = self.buffers[leaf]
        if not buffer.format.holds_in_order(position):
            lanes = [position.lane(self.b, i) for i in range(position.lanes)]
            return (yield from self.each_lane(leaf, lanes))
        yield from ()
        offset = buffer.offset(self.b, position)
        return self.b.load(buffer.pointer, offset, buffer.element, position.lanes)

    # -- what rules are made of ---------------------------------------------------------------

    def each_lane(self, leaf: Leaf, positions: Sequence[Position]) -> Rule:
        """Elements at unrelated positions as one vector."""
        values: list[SSAValue] = []
        for position in positions:
            values.append((yield Demand(leaf, position)))
        return self.b.from_lanes(values)

    def broadcast(self, operand: SSAValue, position: Position) -> Rule:
        """The elements of `operand` that broadcasting pairs with a position of the result."""
        shape = shape_of(operand)
        if same_shape(shape, position.shape):
            return (yield Demand((operand, 0), position))
        b, lanes, extra = self.b, position.lanes, len(position.shape) - len(shape)
        padded = (1,) * extra + shape
        split = len(position.outer)

        def paired(coords: Sequence[Index]) -> list[Index]:
            pairs = zip(shape, coords[extra:], strict=True)
            return [0 if certainly(dim, 1) else coord for dim, coord in pairs]

        if all(certainly(dim, 1) for dim in padded[split:]):
            inner, lanes = 0, 1
        elif same_shape(padded[split:], position.shape[split:]):
            inner = position.inner
        elif position.in_row and all(certainly(dim, 1) for dim in padded[split:-1]):
            inner = b.mod(position.inner, padded[-1])
        elif position.in_row:
            lanes = 1 if certainly(padded[-1], 1) else lanes
            own = at(shape, paired(position.coords(b)), lanes)
            return b.splat((yield Demand((operand, 0), own)), position.lanes)
        else:
            return (yield from self.mapped((operand, 0), position, paired, contiguous=False))
        outer = [
            0 if certainly(d, 1) else c for d, c in zip(padded[:split], position.outer, strict=True)
        ]
        if extra <= split:
            own = Position(shape, tuple(outer[extra:]), inner, lanes)
        else:  # the span reaches beyond the operand's first axis, over axes of length 1
            own = Position(shape, (), inner if shape else 0, lanes)
        return b.splat((yield Demand((operand, 0), own)), position.lanes)

    def chosen(
        self, condition: Condition, then: Callable[[], Rule], otherwise: Callable[[], Rule]
    ) -> Rule:
        """One computation where a condition holds, and else another."""
        if isinstance(condition, bool):
            return (yield from (then if condition else otherwise)())
        b, blocks = self.b, (Block(), Block())
        with b.inside(blocks[0]):
            one = yield from then()
        with b.inside(blocks[1]):
            other = yield from otherwise()
        return b.join(condition, (blocks[0], one), (blocks[1], other))

    def mapped(
        self,
        leaf: Leaf,
        position: Position,
        source: Callable[[tuple[Index, ...]], Sequence[Index]],
        *,
        contiguous: Condition,
        backwards: bool = False,
    ) -> Rule:
        """
        The elements whose coordinates in another tensor `source` computes. `contiguous` tells
        whether steps along the last axis from lane to lane are steps along the last axis there,
        which are `backwards` or not.
        """
        b = self.b
        shape = leaf_shape(leaf)

        def together() -> Rule:
            first = position.lane(b, position.lanes - 1) if backwards else position
            value = yield Demand(leaf, at(shape, source(first.coords(b)), position.lanes))
            if backwards and position.lanes > 1:
                return b.shuffle(value, range(position.lanes)[::-1])
            # A scalar has one element for all lanes.
            return b.splat(value, position.lanes)

        def apart() -> Rule:
            lanes = [position.lane(b, i).coords(b) for i in range(position.lanes)]
            return (yield from self.each_lane(leaf, [at(shape, source(c)) for c in lanes]))

        if position.lanes == 1 or not position.in_row:
            contiguous = position.lanes == 1
        return (yield from self.chosen(contiguous, together, apart))


def argument_of(parameter: SSAValue) -> SSAValue:
    """What a composite is given for one of its parameters. Those of kernels are in memory."""
    assert isinstance(parameter, BlockArgument)
    composite = parameter.owner.parent_op()
    assert isinstance(composite, CompositeOp)
    return composite.args[parameter.index]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    return tuple(static_tensor(value.type).get_shape())


def leaf_shape(leaf: Leaf) -> tuple[int, ...]:
    """The static shape of one tensor of a value."""
    return tuple(leaf_type(leaf[0].type, leaf[1]).get_shape())


def leaf_element(leaf: Leaf) -> Element:
    """The element type of one tensor of a value."""
    return element(leaf_type(leaf[0].type, leaf[1]).element_type)


def element_of(value: SSAValue) -> Element:
    """The element type of a tensor value."""
    return element(static_tensor(value.type).element_type)
