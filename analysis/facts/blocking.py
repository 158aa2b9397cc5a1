"""
Which operators of a block compute on images whose channels are in blocks: NCHW{x}c.

    conv ─► relu ─► add ─► pool ─► flatten ─► dense        one walk forward: each operator with
     │               ▲                                     images decides by cost, given which of
     └──► conv ──────┘                                     its operands are in blocks by then

- A convolution with constant weights decides by its arithmetic, which is faster in blocks; every
  other operator that works lane by lane follows its operands, so that no transform comes between.
- A *transform* is a read and a write of an image. Entering blocks costs one for each operand that
  is not in blocks yet. Staying in NCHW costs one for each operand that is in blocks only. Leaving
  costs one where the first operators that cannot follow stand: `leaving`, from a walk backward.
- A value that has been transformed once is there in both layouts.

Both walks visit every use once.

Source: Relay's AlterOpLayout, which lets each operator decide alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias, TypeGuard

from xdsl.dialects.builtin import bf16, f16, f32, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.blob import element_bytes
from xrelay.dialects.core.values import ConstantOp, TupleOp
from xrelay.dialects.lengths import certainly, likely
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import GlobalPool2DOp, Pool2DOp
from xrelay.dialects.shapes import is_empty, is_integer_type, is_tensor_type
from xrelay.dialects.tensor.binary import BINARY_OPS
from xrelay.dialects.tensor.layout import IMAGE, LayoutTransformOp, block_count, blocked_image
from xrelay.dialects.tensor.reduce import MeanOp, SumOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp, WhereOp
from xrelay.dialects.tensor.unary import UNARY_OPS

MOVED_BYTE = 4.0
"""The cost of one byte that a transform reads or writes, in operations of a convolution in
blocks: some 80 of these take as long as a transform of 20 bytes from and to the caches."""
PLAIN_OPERATION = 2.0
"""The cost of an operation of a convolution in NCHW, likewise."""

FLOATS: tuple[Attribute, ...] = (f16, bf16, f32)
"""Floating-point elements of images in blocks, which are computed in f32."""

BROADCASTING = (*BINARY_OPS, WhereOp)
"""Operators with several operands that work element by element."""

Images: TypeAlias = tuple[SSAValue, ...]
"""The operands of an operator that it would take in blocks."""


@dataclass(frozen=True)
class Decision:
    """What was decided for one operator, and why."""

    images: Images
    """The operands that it takes in blocks. None for a convolution that enters blocks itself."""
    blocked_cost: float
    """Of working in blocks: the transforms that this needs, and the arithmetic."""
    plain_cost: float
    """Of working in NCHW."""

    @property
    def blocked(self) -> bool:
        """Whether the operator works in blocks."""
        return self.blocked_cost <= self.plain_cost


def blocked_images(op: Operation, lanes: int) -> Images | None:
    """
    The operands that `op` would take as images in blocks of `lanes` channels; None when it cannot
    compute its result in blocks.
    """
    rule = next((rule for types, rule in _RULES if isinstance(op, types)), None)
    if rule is None or not is_image(op.results[0].type):
        return None
    images: Images = rule(op, lanes)
    if not images or not all(is_image(image.type, rank=None) for image in images):
        return None
    return images


def is_image(type_: Attribute, *, rank: int | None = 4) -> bool:
    """Whether a type is that of images of at most 32 bits an element, of known shape and not empty."""
    return (
        is_tensor_type(type_)
        and _fits_lane(type_.element_type)
        and type_.has_static_shape()
        and not is_empty(type_.get_shape())
        and (rank is None or type_.get_num_dims() == rank)
    )


def _fits_lane(dtype: Attribute) -> bool:
    """Whether elements have a lane of the sums of convolutions each."""
    if is_integer_type(dtype):
        return dtype.width.data in (1, 8, 16, 32)
    return dtype in FLOATS


def image_dimensions(value: SSAValue) -> tuple[int, ...]:
    """The shape of a value as broadcasting against images sees it: four dimensions."""
    assert is_tensor_type(value.type)
    shape = value.type.get_shape()
    return (1,) * (4 - len(shape)) + tuple(shape)


def has_channels(value: SSAValue, channels: int) -> bool:
    """Whether a value that is broadcast against images differs from channel to channel."""
    dimensions = image_dimensions(value)
    return certainly(dimensions[1], channels) and not certainly(prod(dimensions), 1)


def _convolution(op: Conv2DOp, lanes: int) -> Images:
    if not op.is_plain:
        return ()
    layouts = {op.data_layout.data, op.out_layout.data} - {""}
    if layouts != {IMAGE} or not _has_lanes(op) or not isinstance(op.weight.owner, ConstantOp):
        return ()
    outputs, inputs, *_ = op.weight.type.get_shape()
    groups = op.groups.value.data
    depthwise = inputs == 1 and outputs == groups
    whole = inputs % lanes == 0 and outputs // groups % lanes == 0
    return (op.data,) if groups == 1 or depthwise or whole else ()


def _has_lanes(op: Conv2DOp) -> bool:
    """Whether a convolution sums what its operands hold in lanes of 32 bits."""
    operands = {op.data.type.element_type, op.weight.type.element_type}
    types = {*operands, op.result.type.element_type}
    if types <= set(FLOATS):
        # To round operands first, to less than they have, is not for kernels.
        return op.result.type.element_type == f32 or len(types) == 1
    return all(is_integer_type(each) and _fits_lane(each) and each != i1 for each in types)


def _data(op: Any, lanes: int) -> Images:
    return (op.data,)


def _pool(op: Pool2DOp | GlobalPool2DOp, lanes: int) -> Images:
    return (op.data,) if op.layout.data == IMAGE else ()


def _bias_add(op: BiasAddOp, lanes: int) -> Images:
    return (op.data,) if op.channel_axis == 1 else ()


def _pad(op: PadOp, lanes: int) -> Images:
    outer = (*op.widths[0], *op.widths[1])
    return (op.data,) if all(certainly(each, 0) for each in outer) else ()


def _reduction(op: MeanOp | SumOp, lanes: int) -> Images:
    """Of means those of floating point, of sums those of integers, which are the same in any order."""
    element = op.data.type.element_type
    fits = element in FLOATS if isinstance(op, MeanOp) else is_integer_type(element)
    if not fits:
        return ()
    return (op.data,) if op.reduced_axes == (2, 3) and op.keepdims.value.data else ()


def _concatenate(op: ConcatenateOp, lanes: int) -> Images:
    fields = op.data.owner
    if not isinstance(fields, TupleOp) or op.normalized_axis != 1:
        return ()
    images = tuple(fields.fields)
    channels = [image_dimensions(image)[1] for image in images]
    return images if all(certainly(count % lanes, 0) for count in channels[:-1]) else ()


def _broadcast(op: Operation, lanes: int) -> Images:
    assert is_tensor_type(op.results[0].type)
    channels = op.results[0].type.get_shape()[1]
    images = tuple(value for value in op.operands if has_channels(value, channels))
    # A result that only the channels of constants give would be no smaller in blocks.
    if all(isinstance(image.owner, ConstantOp) for image in images):
        return ()
    return images


_RULES: tuple[tuple[Any, Callable[[Any, int], Images]], ...] = (
    (Conv2DOp, _convolution),
    ((Pool2DOp, GlobalPool2DOp), _pool),
    (BiasAddOp, _bias_add),
    (PadOp, _pad),
    ((MeanOp, SumOp), _reduction),
    (ConcatenateOp, _concatenate),
    (UNARY_OPS, _data),
    (BROADCASTING, _broadcast),
)
"""The images of each kind of operator; empty when it cannot work in blocks."""


def both_layouts(op: Operation, lanes: int) -> tuple[SSAValue, SSAValue] | None:
    """The same image in NCHW and in blocks, when `op` is a transform from one to the other."""
    if isinstance(op, LayoutTransformOp):
        layouts = op.src_layout.data, op.dst_layout.data
        if layouts == (blocked_image(lanes), IMAGE):
            return op.result, op.data
        if layouts == (IMAGE, blocked_image(lanes)):
            return op.data, op.result
    return None


def cuts_last_block(op: Operation, lanes: int) -> TypeGuard[StridedSliceOp]:
    """
    Whether an operator cuts off channels at the end that lie in the last block. In blocks, where
    the lanes after the last channel hold anything, its result is its operand.
    """
    if not isinstance(op, StridedSliceOp) or not is_image(op.result.type):
        return False
    before, after = op.data.type.get_shape(), op.result.type.get_shape()
    return (
        all(certainly(before[axis], after[axis]) for axis in (0, 2, 3))
        and all((taken.start, taken.step) == (0, 1) for taken in op.slices)
        and block_count(before[1], lanes) == block_count(after[1], lanes)
    )


@dataclass(eq=False)
class BlockingPlan:
    """The decisions for the operators of one block."""

    block: Block
    lanes: int
    decisions: dict[Operation, Decision] = field(default_factory=dict[Operation, Decision])
    """In program order."""
    _images: dict[Operation, Images | None] = field(default_factory=dict[Operation, Images | None])
    _leaving: dict[SSAValue, float] = field(default_factory=dict[SSAValue, float])
    """What transforms cost after a value in blocks, where operators stand that cannot follow."""
    _in_blocks: set[SSAValue] = field(default_factory=set[SSAValue])
    """Values that are there in blocks."""
    _only_in_blocks: set[SSAValue] = field(default_factory=set[SSAValue])
    """Those of them that nothing has needed in NCHW yet."""

    def is_blocked(self, op: Operation) -> bool:
        """Whether an operator works in blocks."""
        return op in self.decisions and self.decisions[op].blocked

    def blocked_images(self, op: Operation) -> Images | None:
        """The operands that an operator takes in blocks; None if it does not work in blocks."""
        return self.decisions[op].images if self.is_blocked(op) else None

    def fills_blocks(self, op: Operation) -> bool:
        """Whether an operator leaves no lane of its blocks empty and has one group; true for all but convolutions in blocks."""
        if not isinstance(op, Conv2DOp) or not self.is_blocked(op):
            return True
        outputs, inputs, *_ = op.weight.type.get_shape()
        is_whole = not self.decisions[op].images or inputs % self.lanes == 0
        return op.groups.value.data == 1 and outputs % self.lanes == 0 and is_whole

    # -- backward -----------------------------------------------------------------------------

    def look_back(self, op: Operation) -> None:
        """Finds what it costs that the result of `op` leaves blocks. What follows is known."""
        self._images[op] = blocked_images(op, self.lanes)
        for result in op.results:
            if is_image(result.type):
                costs = [self._passing(use.operation, result) for use in result.uses]
                self._leaving[result] = max(costs, default=0.0)

    def _passing(self, user: Operation, value: SSAValue) -> float:
        """What transforms cost after `value` on the way through one user."""
        if user.parent is not self.block:
            return _moving([value])
        if isinstance(user, TupleOp):
            costs = [self._passing(use.operation, value) for use in user.result.uses]
            return max(costs, default=0.0)
        images = self._images[user]
        if images is None:
            known = both_layouts(user, self.lanes)
            if known is not None and known[0] is value:
                return 0.0
            follows = cuts_last_block(user, self.lanes)
        else:
            follows = isinstance(user, ConcatenateOp) or value in images
        if not follows:
            return _moving([value])
        if isinstance(user, Conv2DOp):
            return 0.0
        size = _moving([value])
        if isinstance(user, BROADCASTING) and any(
            _moving([image]) > size for image in images or ()
        ):
            return 0.0  # The largest image decides, and the others follow it.
        # At worst, the value itself is transformed for this user.
        return min(size, self._leaving[user.results[0]])

    # -- forward ------------------------------------------------------------------------------

    def decide(self, op: Operation) -> None:
        """Decides for `op`. What comes before is decided."""
        images = self._images[op]
        decision = None if images is None else self._weigh(op, images)
        if decision is not None:
            self.decisions[op] = decision
            if decision.blocked:
                self._in_blocks.update((*decision.images, op.results[0]))
                self._only_in_blocks.add(op.results[0])
                if not isinstance(op, ConcatenateOp):
                    self._need_plain([v for v in op.operands if v not in decision.images])
                return
        if cuts_last_block(op, self.lanes) and op.data in self._in_blocks:
            self._in_blocks.add(op.result)
            if op.data in self._only_in_blocks:
                self._only_in_blocks.add(op.result)
            return
        known = both_layouts(op, self.lanes)
        if known is not None:
            cancels = known[0] in self._in_blocks and is_whole(known[0], self.lanes)
            self._in_blocks.add(known[0])
            if cancels:
                return
        # Regions in regions are walked only for images that they could use.
        if self._only_in_blocks and not isinstance(op, TupleOp):
            for inner in walk(op):
                self._need_plain(inner.operands)

    def _need_plain(self, values: Sequence[SSAValue]) -> None:
        pending = list(values)
        while pending:
            value = pending.pop()
            if isinstance(value.owner, TupleOp):
                pending.extend(value.owner.fields)
            elif value in self._only_in_blocks:
                self._only_in_blocks.remove(value)
                if isinstance(value.owner, StridedSliceOp):
                    pending.append(value.owner.data)

    def _weigh(self, op: Operation, images: Images) -> Decision | None:
        """The decision for an operator; None when there is no reason to think of blocks."""
        entering = [image for image in images if image not in self._in_blocks]
        arithmetic = (0.0, 0.0)
        if isinstance(op, Conv2DOp):
            arithmetic = _arithmetic(op, self.lanes)
            if entering and takes_few_channels(op, self.lanes):
                images, entering = (), []
        elif len(entering) == len(images):
            return None
        plain = [image for image in images if image in self._only_in_blocks]
        return Decision(
            images,
            _moving(entering) + arithmetic[0] + self._leaving[op.results[0]],
            _moving(plain) + arithmetic[1],
        )


def plan_blocking(block: Block, lanes: int) -> BlockingPlan:
    """Decides for all operators of a block which of them work in blocks of `lanes` channels."""
    plan = BlockingPlan(block, lanes)
    ops = tuple(block.ops)
    for op in reversed(ops):
        plan.look_back(op)
    for op in ops:
        plan.decide(op)
    return plan


def plan_large_blocks(
    block: Block, lanes: int, byte_lanes: int = 0, float_lanes: int = 0
) -> BlockingPlan:
    """
    As `plan_blocking`, but in blocks of `byte_lanes` channels where all convolutions in blocks multiply bytes, or of
    `float_lanes` where all multiply f32 or bf16: if that leaves the same operators in blocks, on the same images, and
    fills all blocks that convolutions read and write. 0 is for none.
    """
    plan = plan_blocking(block, lanes)
    kinds = {
        op.weight.type.element_type
        for op in plan.decisions
        if isinstance(op, Conv2DOp) and plan.is_blocked(op)
    }
    larger = 0
    if kinds and all(is_integer_type(kind) and kind.width.data == 8 for kind in kinds):
        larger = byte_lanes
    elif kinds and kinds <= {bf16, f32}:
        larger = float_lanes
    if larger <= lanes:
        return plan
    other = plan_blocking(block, larger)
    alike = all(other.blocked_images(op) == plan.blocked_images(op) for op in block.ops)
    return other if alike and all(map(other.fills_blocks, other.decisions)) else plan


def is_whole(image: SSAValue, lanes: int) -> bool:
    """Whether the channels of an image fill all blocks."""
    return image_dimensions(image)[1] % lanes == 0


def takes_few_channels(op: Conv2DOp, lanes: int) -> bool:
    """Whether most lanes of a convolution's images would be padding, as on RGB images."""
    return op.groups.value.data == 1 and op.weight.type.get_shape()[1] < lanes


def _arithmetic(op: Conv2DOp, lanes: int) -> tuple[float, float]:
    """The cost of a convolution's operations in blocks, where padding is computed too, and not."""
    outputs, inputs, height, width = op.weight.type.get_shape()
    batch, _, rows, columns = op.result.type.get_shape()
    operations = 2.0 * likely(batch * rows * columns) * inputs * height * width
    padded = block_count(outputs, lanes) * lanes
    return operations * padded, PLAIN_OPERATION * operations * outputs


def _moving(values: Sequence[SSAValue]) -> float:
    """The cost of transforming values. Constants are transformed at compile time."""
    total = 0.0
    for value in values:
        assert is_tensor_type(value.type)
        if not isinstance(value.owner, ConstantOp):
            size = likely(prod(value.type.get_shape())) * element_bytes(value.type.element_type)
            total += 2 * size * MOVED_BYTE
    return total
