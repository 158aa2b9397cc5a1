"""
Which multiplications by constants can be folded into the weights of a convolution or dense, and why
others cannot.

    conv2d(x, w) ─► bias_add ─► relu ─► multiply by s        backward: from a multiplication towards
          ▲            ▲          ▲          │               the inputs
          w · s      b · s      s > 0 ◄──────┘

    multiply by s ─► relu ─► conv2d(·, w)                    forward: towards the results
          │            ▲            ▲
          └─────────► s > 0       w · s

A *plan* for one multiplication is the list of operands to scale instead of its result. It is found by
walking from the multiplication, each step asking one operator what it demands of the scale:

- *linear* operators absorb the scale in a weight (conv2d, dense), or in a constant (add, subtract,
  bias_add, multiply) and pass it on;
- relu and leaky relu pass a positive scale on, max pooling too, average pooling any;
- everything else refuses, and so does a value that something else uses (backward), or one of whose
  users refuses (forward).

The scale is one number for each element along one axis, or a single number (axis None), which goes
through reshapes, transposes and products too. No value is walked over twice by plans of one direction, as a walk
backward goes through values with one use only, and one forward ends at the next multiplication.

Infinite scales stay where they are: a zero in a weight would become NaN. Forward, an addition divides
its constant by the scale: it refuses scales with zeros, where Relay
produces NaN.

Source: Relay's ForwardFoldScaleAxis and BackwardFoldScaleAxis, which hold the demands in messages of
axes and a flag for positive scales, and give up without saying why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import BlobAttr, ConstantOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeFamilyOp, ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import LeakyReluOp, ReluOp
from xrelay.interpreters.arrays import Array, constant_array

Direction = Literal["backward", "forward"]


@dataclass(frozen=True)
class Scale:
    """The constant factors of a multiplication: one for each element along an axis."""

    factors: Array
    """A vector; one element when `axis` is None."""
    axis: int | None
    """The axis of the scaled value, counted from the front; None for one factor for all."""

    @property
    def finite(self) -> bool:
        """Whether no factor is infinite or NaN."""
        return bool(np.all(np.isfinite(self.factors)))

    @property
    def positive(self) -> bool:
        """Whether all factors are above 0."""
        return bool(np.all(self.factors > 0))

    @property
    def invertible(self) -> bool:
        """Whether all quotients by the factors, which are finite, are finite."""
        with np.errstate(all="ignore"):
            return bool(np.all(np.isfinite(1 / self.factors)))


@dataclass(frozen=True)
class Edit:
    """An operand that is scaled instead."""

    op: Operation
    index: int
    shape: tuple[int, ...]
    """The shape in which the factors multiply the operand."""
    divide: bool = False
    """Whether the operand is divided by the factors."""
    groups: int = 1
    """The factors along the input channels of grouped convolutions: see `fold-scale-axis`."""


@dataclass(frozen=True)
class Plan:
    """What happens to one multiplication."""

    multiply: MultiplyOp
    direction: Direction
    data: SSAValue
    """The operand that is not the scale."""
    scale: Scale
    edits: Sequence[Edit] = ()
    refusal: str = ""
    """Why the multiplication stays, empty when it is folded."""

    @property
    def folds(self) -> bool:
        """Whether the multiplication disappears."""
        return not self.refusal

    def __str__(self) -> str:
        what = f"{self.multiply.name} %{self.multiply.result.name_hint or '?'} {self.direction}"
        if self.refusal:
            return f"{what}: stays, {self.refusal}"
        return f"{what}: folded into {', '.join(edit.op.name for edit in self.edits)}"


class _Refused(Exception):
    """A walk ends without a plan; the message says why."""


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant whose bytes are known."""
    op = value.owner
    if not isinstance(op, ConstantOp):
        return False
    return not isinstance(op.value, BlobAttr) or op.value.data.data is not None


def becomes_constant(value: SSAValue) -> bool:
    """Whether a value is a constant, or constants that were scaled before and not yet folded."""
    op = value.owner
    if isinstance(op, MultiplyOp | DivideOp | ReshapeOp):
        return all(map(becomes_constant, op.operands))
    return is_constant(value)


def scale_of(op: MultiplyOp) -> tuple[SSAValue, Scale] | None:
    """
    The scaled value and the scale of a multiplication of floating-point tensors, None when neither
    operand is a constant that differs along one axis only.
    """
    type_ = op.result.type
    if not is_float(type_.element_type) or not type_.has_static_shape():
        return None
    for data, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if data.type != type_ or not is_constant(factor) or becomes_constant(data):
            continue
        assert isinstance(factor.owner, ConstantOp)
        long = [axis for axis, length in enumerate(factor.type.get_shape()) if length != 1]
        if len(long) > 1 or 0 in type_.get_shape():
            continue
        axis = long[0] + type_.get_num_dims() - factor.type.get_num_dims() if long else None
        return data, Scale(constant_array(factor.owner).reshape(-1), axis)
    return None


def along(scale: Scale, rank: int) -> tuple[int, ...]:
    """The shape in which the factors broadcast to a tensor of `rank` dimensions."""
    if scale.axis is None:
        return ()
    return (len(scale.factors), *[1] * (rank - scale.axis - 1))


@dataclass
class _Walk:
    """A walk from one multiplication, which collects edits."""

    scale: Scale
    constant_weights: bool
    edits: list[Edit] = field(default_factory=list[Edit])

    def refuse(self, op: Operation, why: str) -> None:
        raise _Refused(f"{op.name} {why}")

    def require_positive(self, op: Operation) -> None:
        if not self.scale.positive:
            self.refuse(op, "needs a scale above 0")

    def channel_axis(self, op: RelayOp, layout: Layout) -> int:
        """Where the channels stand."""
        if layout.blocks:
            self.refuse(op, f"has the layout {layout}")
        return layout.index("C")

    def filters(self, op: Conv2DOp, name: str) -> tuple[int, ...]:
        """The shape in which the factors scale the axis O or I of a convolution's weight."""
        _, kernels, _ = op.layouts
        grouped = op.groups.value.data > 1 and str(kernels) != op.KERNEL_LAYOUT
        if kernels.blocks or grouped or op.multiplies_depth:
            self.refuse(op, f"has the layout {kernels}")
        return tuple(len(self.scale.factors) if each == name else 1 for each in kernels.names)

    def require_channel(self, op: RelayOp, axis: int) -> None:
        if self.scale.axis not in (None, axis):
            self.refuse(op, f"takes a scale along axis {axis}, not {self.scale.axis}")

    def weight(self, op: Conv2DOp | DenseOp, shape: tuple[int, ...], groups: int = 1) -> None:
        """Scales operand 1."""
        if op.weight.type.element_type != op.result.type.element_type:
            self.refuse(op, "has a weight of another type")
        if op.data.type.element_type != op.result.type.element_type:
            self.refuse(op, "has data of another type")
        if self.constant_weights and not becomes_constant(op.operands[1]):
            self.refuse(op, "has a weight that is not constant")
        shape = () if self.scale.axis is None else shape
        self.edits.append(Edit(op, 1, shape, groups=groups if shape else 1))

    def shift(self, op: AddOp | SubtractOp | BiasAddOp, data: int, divide: bool) -> None:
        """Scales the constant that is added to operand `data`."""
        other = op.operands[1 - data]
        if isinstance(op, BiasAddOp):
            self.require_channel(op, op.channel_axis)
            shape = along(self.scale, op.data.type.get_num_dims())[:1]
        else:
            shape = along(self.scale, op.result.type.get_num_dims())
        if divide and not self.scale.invertible:
            self.refuse(op, "needs a scale without zeros")
        if self.constant_weights and not becomes_constant(other):
            self.refuse(op, "adds a value that is not constant")
        self.edits.append(Edit(op, 1 - data, shape, divide))

    def backward(self, start: SSAValue) -> list[Edit]:
        """The operands to scale so that `start` comes out scaled."""
        pending = [start]
        while pending:
            value = pending.pop()
            op = value.owner
            if not isinstance(op, RelayOp):
                raise _Refused("the scaled value is no result of an operator")
            if len(list(value.uses)) != 1:
                self.refuse(op, "has a result that is used more than once")
            match op:
                case Conv2DOp():
                    self.require_channel(op, self.channel_axis(op, op.layouts[2]))
                    self.weight(op, self.filters(op, "O"))
                case DenseOp():
                    self.require_channel(op, op.result.type.get_num_dims() - 1)
                    self.weight(op, (len(self.scale.factors), 1))
                case MultiplyOp():
                    self.backward_product(op)
                case AddOp() | SubtractOp() | BiasAddOp():
                    pending.extend(self.backward_sum(op))
                case ReluOp() | LeakyReluOp():
                    self.require_positive(op)
                    pending.append(op.data)
                case BatchMatmulOp() | MatmulOp():
                    if self.scale.axis is not None:
                        self.refuse(op, "passes on a single number only")
                    pending.append(op.tensor_a)
                case TransposeOp() | ReshapeFamilyOp() | ExpandDimsOp():
                    if self.scale.axis is not None:
                        self.refuse(op, "passes on a single number only")
                    pending.append(op.data)
                case _:
                    self.refuse(op, "does not take a scale")
        return self.edits

    def backward_product(self, op: MultiplyOp) -> None:
        for index, operand in enumerate(op.operands):
            if becomes_constant(operand) and op.operands[1 - index].type == op.result.type:
                shape = along(self.scale, op.result.type.get_num_dims())
                self.edits.append(Edit(op, index, shape))
                return
        self.refuse(op, "does not take a scale")

    def backward_sum(self, op: AddOp | SubtractOp | BiasAddOp) -> list[SSAValue]:
        """The operands that are scaled in turn."""
        if isinstance(op, BiasAddOp):
            self.shift(op, 0, divide=False)
            return [op.data]
        for index in (0, 1):
            if op.operands[index].type == op.result.type and becomes_constant(
                op.operands[1 - index]
            ):
                self.shift(op, index, divide=False)
                return [op.operands[index]]
        if op.lhs.type != op.rhs.type:
            self.refuse(op, "broadcasts an operand that is not constant")
        return [op.lhs, op.rhs]

    def forward(self, start: SSAValue) -> list[Edit]:
        """The operands to scale so that `start` need not be."""
        pending = [start]
        while pending:
            value = pending.pop()
            if not value.uses:
                raise _Refused("the scaled value is not used")
            # Uses are listed in an order of their own: sort them for messages and edits.
            uses = sorted(value.uses, key=lambda use: (use.operation.name, use.index))
            for use in uses:
                op = use.operation
                pending.extend(self.forward_into(op, use.index))
        return self.edits

    def forward_into(self, op: Operation, index: int) -> list[SSAValue]:
        """The results that are scaled when operand `index` no longer is."""
        match op:
            case Conv2DOp() if index == 0:
                self.require_channel(op, self.channel_axis(op, op.layouts[0]))
                self.weight(op, self.filters(op, "I"), op.groups.value.data)
                return []
            case DenseOp() if index == 0:
                self.require_channel(op, op.data.type.get_num_dims() - 1)
                self.weight(op, (len(self.scale.factors),))
                return []
            case MultiplyOp() if (
                becomes_constant(op.operands[1 - index])
                and op.operands[index].type == op.result.type
            ):
                shape = along(self.scale, op.result.type.get_num_dims())
                self.edits.append(Edit(op, 1 - index, shape))
                return []
            case AddOp() | SubtractOp() | BiasAddOp() if op.operands[
                index
            ].type == op.result.type and becomes_constant(op.operands[1 - index]):
                self.shift(op, index, divide=True)
            case ReluOp() | LeakyReluOp():
                self.require_positive(op)
            case MaxPool2DOp() | GlobalMaxPool2DOp():
                self.require_channel(op, self.channel_axis(op, op.data_layout))
                self.require_positive(op)
            case AvgPool2DOp() | GlobalAvgPool2DOp():
                self.require_channel(op, self.channel_axis(op, op.data_layout))
            case TransposeOp() | ReshapeFamilyOp() | ExpandDimsOp() if self.scale.axis is None:
                pass
            case _:
                self.refuse(op, "does not take a scale")
        return list(op.results)


def plan(op: MultiplyOp, direction: Direction, constant_weights: bool) -> Plan | None:
    """
    What happens to a multiplication, None when it has no constant scale. `constant_weights`
    refuses weights that would have to be multiplied at run time.
    """
    scaled = scale_of(op)
    if scaled is None:
        return None
    data, scale = scaled
    walk = _Walk(scale, constant_weights)
    try:
        if not scale.finite:
            raise _Refused("the scale is not finite: 0 in a weight times infinity is NaN")
        if direction == "backward":
            edits = walk.backward(data)
        else:
            edits = walk.forward(op.result)
            _require_weight(edits)
    except _Refused as refusal:
        return Plan(op, direction, data, scale, refusal=str(refusal))
    return Plan(op, direction, data, scale, edits)


def _require_weight(edits: Sequence[Edit]) -> None:
    """Refuses to move a scale to another multiplication past nothing that takes it."""
    if not any(isinstance(edit.op, Conv2DOp | DenseOp | MultiplyOp) for edit in edits):
        raise _Refused("no weight takes the scale")


def plans(root: Operation, direction: Direction, constant_weights: bool = False) -> list[Plan]:
    """The plans of all multiplications by constants within an operation, in program order."""
    found = (
        plan(op, direction, constant_weights) for op in walk(root) if isinstance(op, MultiplyOp)
    )
    return [each for each in found if each is not None]
