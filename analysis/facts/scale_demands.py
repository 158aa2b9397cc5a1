"""
Which scales operators take in their weights, summands or factors, in place of the values that they read or make.

    conv2d(x, w) ─► add b ─► relu ─► · s           backward: what `relu` gives comes out scaled when
          ▲           ▲        ▲                   w and b are, by what is not negative
          w · s     b · s    s ≥ 0

    · s ─► relu ─► add b ─► conv2d(·, w)           forward: what `relu` gets need not be scaled when
             ▲        ▲            ▲               w is, and b is divided by what has no zeros
           s ≥ 0    b / s        w · s

`Backward` and `Forward` visit the operations of a program once, backward in its order and forward against it.
For each value they keep the *demand* on scales, and the *steps*: which operands are scaled, and
which values in turn.

- Convolutions and dense take a scale along their channels in the weight, and end the way.
- A sum takes it in a summand that is a vector along the same axes, and passes it on.
- relu and leaky relu pass on what is not negative.
- All other operators refuse, and so does a value that something else uses (backward), or one of whose users
  refuses (forward).

With the rules `cpu` every demand is met by a single number as well. Then convolutions of groups take a scale, sums take it in
constants of any shape, products with constants in these, pools pass it on (forward), and what moves elements,
and products of matrices, pass on a single number.

Source: Relay's ForwardFoldScaleAxis and BackwardFoldScaleAxis, whose messages of axes and a flag for positive
scales are the demands. They give up without saying why.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import NoReturn

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp, Conv3DOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.shapes import dimension_product, same_shape, same_type
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeFamilyOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import LeakyReluOp, ReluOp

ConvOp = Conv2DOp | Conv3DOp
SumOp = AddOp | SubtractOp
PoolOp = AvgPool2DOp | GlobalAvgPool2DOp | GlobalMaxPool2DOp | MaxPool2DOp


class Refused(Exception):
    """A scale is not taken; the message says by what and why."""


def refuse(op: Operation, why: str) -> NoReturn:
    """Raises Refused."""
    raise Refused(f"{op.name} {why}")


@dataclass(frozen=True)
class Demand:
    """Which scales are taken."""

    axes: tuple[int, ...] | None
    """The axes that factors lie along; none of them for a single number only, None for any one."""
    not_negative: Operation | None = None
    """An operator that only scales without negative factors pass, and without zeros unless what is infinite need not stay so."""
    divides: Operation | None = None
    """An operator that divides by the scale."""
    constant: Operation | None = None
    """An operator that only constants may be moved into: a product, which is one as before with others."""

    def of_number(self) -> "Demand":
        """The same, for a single number only."""
        return replace(self, axes=())

    def with_other(self, other: "Demand") -> "Demand":
        """The demand on a scale that meets two."""
        axes = self.axes if other.axes in (None, self.axes) else other.axes
        if None not in (self.axes, other.axes) and self.axes != other.axes:
            axes = ()
        return Demand(
            axes,
            self.not_negative or other.not_negative,
            self.divides or other.divides,
            self.constant or other.constant,
        )


@dataclass(frozen=True)
class Edit:
    """An operand that is scaled."""

    op: Operation
    index: int
    rank: int
    """The rank of what factors are laid out for."""
    axes: tuple[int, ...] | None = None
    """Where the factors stand there; None for the axes that they have on the scaled value."""
    divide: bool = False
    """Whether the operand is divided by the factors."""
    groups: int = 1
    """The factors along the input channels of grouped convolutions: see `fold-scale-axis`."""


@dataclass(frozen=True)
class Step:
    """How one operator takes a scale."""

    op: Operation
    demand: Demand
    edits: tuple[Edit, ...] = ()
    onward: tuple[SSAValue, ...] = ()
    """The values that are scaled in turn."""


@dataclass(frozen=True)
class Given:
    """What a program and the options of the pass say."""

    rules: str
    """`relay` for Relay's rules, `cpu` for more than them."""
    constants: frozenset[SSAValue]
    """The values that are computed of nothing but constants."""
    constant_weights: bool = False
    """Whether only constants may be scaled."""
    unsafe: bool = False
    """Whether NaN and infinities need not stay where they are."""


def varies_along(shape: Sequence[int], data: Sequence[int], axes: Sequence[int]) -> bool:
    """
    Whether a tensor of some shape that is broadcast against `data` has its lengths on some axes, which are
    known, and 1 on all others.
    """
    offset = len(data) - len(shape)
    if offset < 0 or any(axis < offset for axis in axes):
        return False
    return all(
        certainly(length, data[axis]) and data[axis] != DYNAMIC_INDEX
        if axis in axes
        else certainly(length, 1)
        for axis, length in enumerate(shape, offset)
    )


def axes_text(axes: Sequence[int] | None) -> str:
    """Axes in messages."""
    if not axes:
        return "any axis" if axes is None else "no axis"
    return f"ax{'es' if len(axes) > 1 else 'is'} {', '.join(map(str, axes))}"


class Demands(ABC):
    """The demands on the values of a program in one direction."""

    def __init__(self, given: Given):
        self.given = given
        self.steps: dict[SSAValue, list[Step]] = {}
        self._demands: dict[SSAValue, Demand] = {}
        self._refusals: dict[SSAValue, str] = {}

    @abstractmethod
    def visit(self, op: Operation, folded: Demand | None) -> None:
        """
        Notes how an operation takes scales. `folded` is the demand that a multiplication meets which goes itself.
        """

    def demand(self, value: SSAValue) -> Demand:
        """The demand on scales of a value. Raises Refused."""
        if value in self._refusals or value not in self._demands:
            raise Refused(self._refusals.get(value, "the scaled value is not used"))
        return self._demands[value]

    def add(self, value: SSAValue, step: Step) -> None:
        """Notes that a step takes a scale of a value, as those do that are noted already."""
        known = self._demands.get(value)
        self._demands[value] = (
            step.demand if known is None else self.met(step.op, step.demand, known)
        )
        self.steps.setdefault(value, []).append(step)

    def add_refusal(self, value: SSAValue, why: str) -> None:
        """Notes that a value cannot have a scale."""
        self._refusals.setdefault(value, why)

    @property
    def beyond_relay(self) -> bool:
        """Whether the rules are more than Relay's."""
        return self.given.rules == "cpu"

    def require_constant(self, op: Operation, value: SSAValue, why: str) -> None:
        """Refuses what has to be computed when the program runs, if that counts."""
        if self.given.constant_weights and value not in self.given.constants:
            refuse(op, why)

    def weight(self, op: ConvOp | DenseOp, axes: tuple[int, ...], groups: int = 1) -> Edit:
        """The edit of the weight of an operator, with the factors at some of its axes."""
        if op.weight.type.element_type != op.result.type.element_type:
            refuse(op, "has a weight of another type")
        if op.data.type.element_type != op.result.type.element_type:
            refuse(op, "has data of another type")
        self.require_constant(op, op.weight, "has a weight that is not constant")
        return Edit(op, 1, op.weight.type.get_num_dims(), axes, groups=groups)

    def met(self, op: Operation, one: Demand, other: Demand) -> Demand:
        """The demand on a scale that meets two. Refuses when no scale of the rules does."""
        both = one.with_other(other)
        if both.axes == () and not self.beyond_relay:
            refuse(op, f"takes a scale along {axes_text(one.axes)}, not {axes_text(other.axes)}")
        return both

    def convolution(self, op: ConvOp, images: Layout, *, of_outputs: bool) -> Step:
        """How a convolution takes a scale along the channels of its result or of its data."""
        _, kernels, _ = op.layouts
        filters_and_depth = zip(op.weight_shape, (op.groups.value.data, 1), strict=False)
        is_depthwise = all(starmap(certainly, filters_and_depth)) and not op.multiplies_depth
        groups = 1 if is_depthwise else op.groups.value.data
        plain = self.beyond_relay and str(kernels) == op.KERNEL_LAYOUT and not op.multiplies_depth
        if groups > 1 and not plain:
            refuse(op, f"has {groups} groups and a weight in the layout {kernels}")
        channels = _places(images, "C")
        filters = _places(kernels, "O" if of_outputs or is_depthwise else "I")
        # Factors are laid out anew for the blocks of the weight.
        blocks = {"C" in images.blocks, "O" in kernels.blocks, "I" in kernels.blocks}
        if of_outputs:
            groups = 1
        factors = _elements((op.result if of_outputs else op.data).type, channels)
        if len(blocks) > 1 or factors != groups * _elements(op.weight.type, filters):
            refuse(op, f"has the layouts {images} and {kernels}")
        return Step(op, Demand(channels), (self.weight(op, filters, groups),))

    def sum(self, op: SumOp, index: int, demand: Demand, *, divide: bool) -> Step:
        """
        How a sum takes the scale of one operand in the other, and hands it on. `demand` is that on what stands in
        front of it, or with `divide` behind it.
        """
        data, other = (op.lhs, op.rhs) if index == 0 else (op.rhs, op.lhs)
        if not same_type(data.type, op.result.type):
            refuse(op, "broadcasts the scaled value")
        shape, lengths = other.type.get_shape(), data.type.get_shape()
        is_vector = demand.axes and varies_along(shape, lengths, demand.axes)
        if not is_vector and not (self.beyond_relay and other in self.given.constants):
            refuse(op, "adds a value that is no vector along the axis of the scale")
        self.require_constant(op, other, "adds a value that is not constant")
        edit = Edit(op, 1 - index, op.result.type.get_num_dims(), divide=divide)
        if divide:
            return Step(op, replace(demand, divides=op), (edit,), (op.result,))
        return Step(op, demand, (edit,), (data,))

    def bias(self, op: BiasAddOp, demand: Demand, *, divide: bool) -> Step:
        """How the addition of a bias takes the scale of its data in the bias, as `sum` does."""
        demand = self.met(op, Demand((op.channel_axis,)), demand)
        self.require_constant(op, op.bias, "adds a value that is not constant")
        edit = Edit(op, 1, 1, (0,), divide)
        if divide:
            return Step(op, replace(demand, divides=op), (edit,), (op.result,))
        return Step(op, demand, (edit,), (op.data,))

    def product(self, op: MultiplyOp, index: int, folded: Demand | None) -> Step:
        """How a product of an operand and a constant takes a scale in the latter."""
        other = op.operands[1 - index]
        fits = other in self.given.constants and same_type(op.operands[index].type, op.result.type)
        if not fits or not self.beyond_relay:
            refuse(op, "does not take a scale")
        edit = Edit(op, 1 - index, op.result.type.get_num_dims())
        return Step(op, replace(folded or Demand(None), constant=op), (edit,))


class Backward(Demands):
    """The demands on scales of results: what makes a value takes its scale."""

    def visit(self, op: Operation, folded: Demand | None) -> None:
        if not isinstance(op, RelayOp) or len(op.results) != 1:
            return
        try:
            self.add(op.results[0], self._step(op, folded))
        except Refused as refused:
            self.add_refusal(op.results[0], str(refused))

    def of_operand(self, value: SSAValue, user: Operation) -> Demand:
        """The demand on scales of a value that `user` alone reads. Raises Refused."""
        op = value.owner
        if not isinstance(op, RelayOp):
            raise Refused("the scaled value is no result of an operator")
        if not value.has_one_use():
            refuse(op, "has a result that is used more than once")
        if op.parent is not user.parent:
            refuse(op, "stands in another scope")
        return self.demand(value)

    def _step(self, op: RelayOp, folded: Demand | None) -> Step:
        match op:
            case Conv2DOp() | Conv3DOp():
                return self.convolution(op, op.layouts[2], of_outputs=True)
            case DenseOp():
                axis = op.result.type.get_num_dims() - 1
                return Step(op, Demand((axis,)), (self.weight(op, (0,)),))
            case ReluOp() | LeakyReluOp():
                demand = replace(self.of_operand(op.data, op), not_negative=op)
                return Step(op, demand, onward=(op.data,))
            case AddOp() | SubtractOp():
                return self._sum(op)
            case BiasAddOp():
                return self.bias(op, self.of_operand(op.data, op), divide=False)
            case MultiplyOp():
                return self.product(op, 0 if op.rhs in self.given.constants else 1, folded)
            case BatchMatmulOp() | MatmulOp() if self.beyond_relay:
                demand = self.of_operand(op.tensor_a, op).of_number()
                return Step(op, demand, onward=(op.tensor_a,))
            case ExpandDimsOp() | ReshapeFamilyOp() | TransposeOp() if self.beyond_relay:
                return Step(op, self.of_operand(op.data, op).of_number(), onward=(op.data,))
            case _:
                refuse(op, "does not take a scale")

    def _sum(self, op: SumOp) -> Step:
        """A sum of two values that take a scale, or of one and a vector."""
        demands: dict[int, Demand] = {}
        refusals: list[Refused] = []
        for index, operand in enumerate(op.operands):
            try:
                demands[index] = self.of_operand(operand, op)
            except Refused as refused:
                refusals.append(refused)
        if len(demands) > 1:
            both = self.met(op, demands[0], demands[1])
            shapes = op.lhs.type.get_shape(), op.rhs.type.get_shape()
            # Lengths that may turn out to be equal are not asked: a program is to serve both cases.
            if same_shape(*shapes) or both.axes is not None and _agree(*shapes, both.axes):
                return Step(op, both, onward=(op.lhs, op.rhs))
        for index, demand in demands.items():
            try:
                return self.sum(op, index, demand, divide=False)
            except Refused as refused:
                refusals.append(refused)
        raise refusals[-1]


class Forward(Demands):
    """The demands on scales of operands: what reads a value takes its scale."""

    def visit(self, op: Operation, folded: Demand | None) -> None:
        for index, operand in enumerate(op.operands):
            try:
                self.add(operand, self._step(op, index, folded))
            except Refused as refused:
                self.add_refusal(operand, str(refused))

    def demand(self, value: SSAValue) -> Demand:
        demand = super().demand(value)
        # Blocks that jump to each other may hold users in front of a value.
        if len(self.steps[value]) < sum(1 for _ in value.uses):
            raise Refused("the scaled value is used in another block")
        return demand

    def _step(self, op: Operation, index: int, folded: Demand | None) -> Step:
        match op:
            case Conv2DOp() | Conv3DOp() if index == 0:
                return self.convolution(op, op.layouts[0], of_outputs=False)
            case DenseOp() if index == 0:
                axis = op.data.type.get_num_dims() - 1
                return Step(op, Demand((axis,)), (self.weight(op, (1,)),))
            case ReluOp() | LeakyReluOp():
                demand = replace(self.demand(op.result), not_negative=op)
                return Step(op, demand, onward=(op.result,))
            case AddOp() | SubtractOp():
                demand = self.demand(op.result)
                if index == 1 and not self.beyond_relay and self._is_left_first(op, demand):
                    refuse(op, "takes a scale on its left side")
                return self.sum(op, index, demand, divide=True)
            case BiasAddOp() if index == 0 and self.beyond_relay:
                return self.bias(op, self.demand(op.result), divide=True)
            case MultiplyOp():
                return self.product(op, index, folded)
            case MaxPool2DOp() | GlobalMaxPool2DOp() if self.beyond_relay:
                return self._pool(op, not_negative=op)
            case AvgPool2DOp() | GlobalAvgPool2DOp() if self.beyond_relay:
                return self._pool(op)
            case ExpandDimsOp() | ReshapeFamilyOp() | TransposeOp() if self.beyond_relay:
                return Step(op, self.demand(op.result).of_number(), onward=(op.result,))
            case _:
                refuse(op, "does not take a scale")

    @staticmethod
    def _is_left_first(op: SumOp, demand: Demand) -> bool:
        """Whether the left operand may be the scaled one, to which Relay then keeps, whatever it is."""
        shapes = op.rhs.type.get_shape(), op.lhs.type.get_shape()
        return demand.axes is not None and varies_along(*shapes, demand.axes)

    def _pool(self, op: PoolOp, not_negative: PoolOp | None = None) -> Step:
        """A pool, which passes on a scale along the channels."""
        channels = Demand(_places(op.data_layout, "C"), not_negative)
        return Step(op, self.met(op, channels, self.demand(op.result)), onward=(op.result,))


def _places(layout: Layout, name: str) -> tuple[int, ...]:
    """Where an axis stands in a layout, and its block, if it has one."""
    if name not in layout.blocks:
        return (layout.index(name),)
    return layout.index(name), layout.index(name, block=True)


def _agree(one: Sequence[int], other: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether two shapes have the same lengths on some axes, which are counted from the front."""
    return (
        not axes
        or len(one) == len(other)
        and all(certainly(one[axis], other[axis]) for axis in axes)
    )


def _elements(type_: TensorType[Attribute], axes: Sequence[int]) -> int:
    """How many elements some axes of a tensor have."""
    shape = type_.get_shape()
    return dimension_product([shape[axis] for axis in axes])
