"""Operators that move elements between the axes of images, batches of them and their borders."""

from abc import ABC
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.fields import (
    Integer,
    IntegerPairs,
    Integers,
    Real,
    Tensor,
    Text,
    operand,
    prop,
)
from xrelay.dialects.lengths import may_exceed
from xrelay.dialects.shapes import (
    dimension_product,
    divided,
    normalize_axis,
    require_one_of,
    require_same_dtype,
    same_dimension,
    shape_text,
    with_shape,
)
from xrelay.dialects.tensor.layout import IMAGE, Layout, canonical_shape, layout_of, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

Pairs = tuple[tuple[int, ...], ...]
"""(before, after) for each of some axes."""


def pairs_of(value: ArrayAttr[DenseArrayBase[IntegerType]], what: str, count: int) -> Pairs:
    """A property with two numbers that are not negative for each of `count` axes."""
    pairs = tuple(pair.get_values() for pair in value.data)
    if len(pairs) != count or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise VerifyException(
            f"'{what}' is {[list(pair) for pair in pairs]}, expected two numbers that are not "
            f"negative for each of {count} axes"
        )
    return pairs


def _padded(type_: TensorType[Attribute], widths: Pairs) -> TensorType[Attribute]:
    """A type with more elements before and after each axis."""
    shape = [
        dim if dim == DYNAMIC_INDEX else dim + sum(pair)
        for dim, pair in zip(type_.get_shape(), widths, strict=True)
    ]
    return with_shape(type_, shape)


@irdl_op_definition
class MirrorPadOp(RelayOp):
    """
    `data` with `pad_width`[i] = [before, after] mirrored elements added to axis i. In mode
    "SYMMETRIC" the mirror stands at the border, whose element is repeated:
    result[-1] = data[0]; in mode "REFLECT" on the first and last element: result[-1] = data[1].
    At most the length of the axis may be added on a side, in mode "REFLECT" one less.

    Source: Relay's `nn.mirror_pad`.
    """

    name = "relay.nn.mirror_pad"

    data: Tensor = operand()
    mode: Text = prop(default="SYMMETRIC")
    pad_width: IntegerPairs = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def widths(self) -> Pairs:
        """(before, after) for each axis."""
        return pairs_of(self.pad_width, "pad_width", self.data.type.get_num_dims())

    @property
    def border(self) -> int:
        """How many elements at each border are not repeated."""
        require_one_of("mode", self.mode, "SYMMETRIC", "REFLECT")
        return 1 if self.mode.data == "REFLECT" else 0

    def infer_type(self) -> Attribute:
        shape, border = self.data.type.get_shape(), self.border
        for length, pair in zip(shape, self.widths, strict=True):
            if length != DYNAMIC_INDEX and max(pair) > max(length - border, 0):
                raise VerifyException(
                    f"'pad_width' {list(pair)} is too wide for mode \"{self.mode.data}\" on an "
                    f"axis of length {length}"
                )
        return _padded(self.data.type, self.widths)


class SubPixelOp(RelayOp, ABC):
    """
    Moves `block_size` x `block_size` blocks of pixels of `data` [N, C, H, W] to channels, or back.
    `layout` may state another order of the axes, and blocks of channels.
    """

    data: Tensor = operand()
    block_size: Integer = prop(default=1, kw_only=False)
    layout: Text = prop(default=IMAGE)
    mode: Text = prop(default="DCR")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def block(self) -> int:
        """`block_size`"""
        size = self.block_size.value.data
        if size < 1:
            raise VerifyException(f"'block_size' is {size}, expected at least 1")
        return size

    @property
    def data_layout(self) -> Layout:
        """The layout of `data` and of the result."""
        return layout_of(self.layout, "layout", IMAGE, splits="C")

    def _in_layout(self, shape: Sequence[int]) -> Attribute:
        return with_shape(self.data.type, shape_in_layout(shape, "layout", self.data_layout, IMAGE))


@irdl_op_definition
class DepthToSpaceOp(SubPixelOp):
    """
    Channels as pixels: with b = `block_size` and C' = C / b ** 2, rounded down as in Relay,
    result[n, c, y * b + i, x * b + j] = data[n, (i * b + j) * C' + c, y, x] in mode "DCR", and
    data[n, c * b ** 2 + i * b + j, y, x] in mode "CRD".

    Source: Relay's `nn.depth_to_space`, ONNX's DepthToSpace.
    """

    name = "relay.nn.depth_to_space"

    def infer_type(self) -> Attribute:
        require_one_of("mode", self.mode, "DCR", "CRD")
        batch, channels, *image = canonical_shape(self.data, "'data'", self.data_layout, IMAGE)
        rest = channels if channels == DYNAMIC_INDEX else channels // self.block**2
        return self._in_layout([batch, rest, *(dimension_product((n, self.block)) for n in image)])


@irdl_op_definition
class SpaceToDepthOp(SubPixelOp):
    """
    Pixels as channels, the opposite of `relay.nn.depth_to_space` in mode "DCR": with
    b = `block_size`, result[n, (i * b + j) * C + c, y, x] = data[n, c, y * b + i, x * b + j].
    `mode` must be "DCR".

    Source: Relay's `nn.space_to_depth`, ONNX's SpaceToDepth.
    """

    name = "relay.nn.space_to_depth"

    def infer_type(self) -> Attribute:
        require_one_of("mode", self.mode, "DCR")
        batch, channels, *image = canonical_shape(self.data, "'data'", self.data_layout, IMAGE)
        sizes = [
            divided(length, self.block, f"the {name} of 'data'")
            for length, name in zip(image, ("height", "width"), strict=True)
        ]
        return self._in_layout([batch, dimension_product((channels, self.block**2)), *sizes])


class BlockOp(RelayOp, ABC):
    """Moves blocks of the axes after the first one of `data` to the first one, or back."""

    data: Tensor = operand()
    block_shape: Integers = prop(default=(1, 1), kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def blocks(self) -> tuple[int, ...]:
        """The length of the blocks of each axis from axis 1 on."""
        count = len(self.block_shape.get_values())
        blocks = positive_numbers(self.block_shape, "block_shape", count)
        if count >= self.data.type.get_num_dims():
            raise VerifyException(
                f"'block_shape' {list(blocks)} is for {count} axes after the first one, 'data' is "
                f"{self.data.type}"
            )
        return blocks


@irdl_op_definition
class BatchToSpaceNDOp(BlockOp):
    """
    With `block_shape` [b1, …, bm] and N' = N / (b1 * … * bm), where N is the length of axis 0, rounded
    down as in Relay:
    result[n, p1 - before1, …] = data[k * N' + n, p1 / b1, …], rounded down, where k is the
    row-major offset of (p1 % b1, …, pm % bm) in a block. `crops`[i] = [before, after] elements are
    cut off axis i + 1.

    Source: Relay's `nn.batch_to_space_nd`.
    """

    name = "relay.nn.batch_to_space_nd"

    crops: IntegerPairs = prop(kw_only=True)

    @property
    def cuts(self) -> Pairs:
        """(before, after) for each axis of blocks."""
        return pairs_of(self.crops, "crops", len(self.blocks))

    def infer_type(self) -> Attribute:
        blocks = self.blocks
        batch, *rest = self.data.type.get_shape()
        spatial, others = rest[: len(blocks)], rest[len(blocks) :]
        lengths = [dimension_product(pair) for pair in zip(spatial, blocks, strict=True)]
        for axis, (length, cut) in enumerate(zip(lengths, self.cuts, strict=True)):
            if length == DYNAMIC_INDEX:
                continue
            if sum(cut) > length:
                raise VerifyException(
                    f"'crops' {list(cut)} are more than the {length} elements of axis {axis + 1}"
                )
            lengths[axis] = length - sum(cut)
        count = batch if batch == DYNAMIC_INDEX else batch // prod(blocks)
        return with_shape(self.data.type, [count, *lengths, *others])


@irdl_op_definition
class SpaceToBatchNDOp(BlockOp):
    """
    The opposite of `relay.nn.batch_to_space_nd`: `paddings`[i] = [before, after] elements
    `pad_value` are added to axis i + 1; then result[k * N + n, q1, …] =
    padded[n, q1 * b1 + k1, …], where k is the row-major offset of (k1, …, km) in a block.
    `pad_value` is rounded to integers.

    Source: Relay's `nn.space_to_batch_nd`.
    """

    name = "relay.nn.space_to_batch_nd"

    paddings: IntegerPairs = prop(kw_only=True)
    pad_value: Real = prop(default=0.0)

    @property
    def widths(self) -> Pairs:
        """(before, after) for each axis of blocks."""
        return pairs_of(self.paddings, "paddings", len(self.blocks))

    def infer_type(self) -> Attribute:
        blocks = self.blocks
        batch, *rest = self.data.type.get_shape()
        spatial, others = rest[: len(blocks)], rest[len(blocks) :]
        lengths = [
            length
            if length == DYNAMIC_INDEX
            else divided(length + sum(pair), block, f"the padded length of axis {axis + 1}")
            for axis, (length, pair, block) in enumerate(
                zip(spatial, self.widths, blocks, strict=True)
            )
        ]
        count = dimension_product((batch, *blocks))
        return with_shape(self.data.type, [count, *lengths, *others])


@irdl_op_definition
class FifoBufferOp(RelayOp):
    """
    `buffer` with `data` pushed in at its end along `axis`, and as much pushed out at its start: the
    last elements of both together, as many as `buffer` has.

    Source: Relay's `nn.fifo_buffer`.
    """

    name = "relay.nn.fifo_buffer"

    data: Tensor = operand()
    buffer: Tensor = operand()
    axis: Integer = prop(default=0)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.buffer.type.get_num_dims())

    def infer_type(self) -> Attribute:
        data, buffer, axis = self.data.type, self.buffer.type, self.normalized_axis
        require_same_dtype(data, "data", buffer, "buffer")
        new, old = data.get_shape(), buffer.get_shape()
        if len(new) != len(old) or not all(
            i == axis or same_dimension(*pair) for i, pair in enumerate(zip(new, old, strict=True))
        ):
            raise VerifyException(
                f"'data' {shape_text(new)} and 'buffer' {shape_text(old)} differ in more than axis "
                f"{axis}"
            )
        return buffer


@irdl_op_definition
class PadOp(RelayOp):
    """
    `data` with `pad_width`[i] = [before, after] elements added to axis i: `pad_val` (a scalar,
    converted to the dtype of `data` by the rules of `relay.cast`) in mode "constant", the nearest
    element in mode "edge", a mirror image without the border in mode "reflect". A negative width
    leaves out elements instead.

    Source: Relay's `nn.pad`, ONNX's Pad.
    """

    name = "relay.nn.pad"

    data: Tensor = operand()
    pad_val: Tensor = operand()
    pad_width: IntegerPairs = prop()
    pad_mode: Text = prop(default="constant")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def widths(self) -> Pairs:
        """(before, after) for each axis."""
        return tuple(pair.get_values() for pair in self.pad_width.data)

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        widths = self.widths
        require_one_of("pad_mode", self.pad_mode, "constant", "edge", "reflect")
        if self.pad_val.type.get_num_dims() != 0:
            raise VerifyException(f"'pad_val' is {self.pad_val.type}, expected a scalar")
        if len(widths) != len(shape) or any(len(pair) != 2 for pair in widths):
            raise VerifyException(
                f"'pad_width' is {[list(pair) for pair in widths]}, expected two numbers for each "
                f"of {len(shape)} axes"
            )
        for dim, pair in zip(shape, widths, strict=True):
            if dim != DYNAMIC_INDEX and dim + sum(pair) < 0:
                raise VerifyException(
                    f"'pad_width' {list(pair)} leaves out more than an axis of length {dim} has"
                )
            limit = {"edge": 0, "reflect": 1}.get(self.pad_mode.data)
            if (
                limit is None
                or dim == DYNAMIC_INDEX
                or not any(may_exceed(each, 0) for each in pair)
            ):
                continue
            if dim < 1 or (limit and any(each >= dim for each in pair)):
                raise VerifyException(
                    f"'pad_width' {list(pair)} is too wide for mode \"{self.pad_mode.data}\" on "
                    f"an axis of length {dim}"
                )
        return _padded(self.data.type, widths)
