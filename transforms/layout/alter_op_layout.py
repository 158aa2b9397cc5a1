"""
`alter-op-layout`: images in blocks of channels, NCHW{x}c, where that is faster.

    %0 = relay.nn.conv2d %x, %w            %0 = relay.layout_transform %x     NCHW → NCHW16c
    %1 = relay.nn.bias_add %0, %b          %1 = relay.nn.conv2d %0, %w        data_layout NCHW16c
    %2 = relay.nn.relu %1           ──►    %2 = relay.add %1, %c              [1, C / 16, 1, 1, 16]
    %3 = relay.nn.batch_flatten %2         %3 = relay.nn.relu %2
                                           %4 = relay.layout_transform %3     NCHW16c → NCHW
                                           %5 = relay.nn.batch_flatten %4

The decision is `xrelay.analysis.facts.blocking.plan_large_blocks`. This file carries it out, in one walk over
each block: every operator that works in blocks gets a version on blocked operands beside it. At
the end a value of which operators in NCHW are left is transformed back, once, and the versions in
NCHW disappear. Constants are transformed at once. When the channels are no multiple of x, those
that transforming back adds are cut off by `relay.strided_slice`.

Works in blocks: conv2d with constant weights (one group, depthwise, or groups of whole blocks),
elementwise operators, operators that broadcast channels or numbers, bias_add, pooling, nn.pad of rows and
columns, mean over rows and columns, concatenation of whole blocks. A convolution of few channels,
as of RGB images, takes NCHW and gives blocks.

Leaves alone: everything else, which sees NCHW, types of function results, shapes that are not
known, elements of more than 32 bits, the bodies of `relay.fused` and `relay.composite`, functions for
other compilers. Run it after simplify-inference, fold-scale-axis and fold-constant, and before
fuse-ops. Running it twice changes nothing.

Tile registers multiply 64 bytes of each position at once. `byte-lanes` and `float-lanes` say how many channels these
are; blocks have as many where they are whole ones in all convolutions, of one group.

With another `target` its hooks decide for each operator alone, as in Relay, and what lies between follows them
(`xrelay.transforms.rules.relayout`). `llvm` is TVM's own choice for processors without records of tuning:
conv2d in the largest blocks of at most `lanes` channels that divide the channels.

Source: Relay's AlterOpLayout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.blocking import (
    BlockingPlan,
    both_layouts,
    cuts_last_block,
    has_channels,
    image_dimensions,
    is_whole,
    plan_large_blocks,
)
from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.fusion.plan import fusion_blocks
from xrelay.analysis.layouts.alteration import TARGETS
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import GlobalAvgPool2DOp, GlobalPool2DOp, Pool2DOp
from xrelay.dialects.shapes import int_array, is_tensor_type, same_shape, string, with_shape
from xrelay.dialects.tensor.binary import AddOp, DivideOp, FloorDivideOp, FloorModOp, ModOp
from xrelay.dialects.tensor.layout import (
    IMAGE,
    Layout,
    LayoutTransformOp,
    block_count,
    blocked_image,
)
from xrelay.dialects.tensor.reduce import MeanOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp
from xrelay.interpreters.constants import constant_op, known_array
from xrelay.interpreters.tensor.layout import change_layout
from xrelay.transforms.rules.operands import insert_before
from xrelay.transforms.rules.relayout import Relayout, operations_outside_kernels
from xrelay.transforms.rules.rewriting import like

DIVISIONS = (DivideOp, FloorDivideOp, FloorModOp, ModOp)
"""Operators whose second operand is 1, not 0, in the lanes that are padding."""
CPU = "cpu"
"""The target that code is generated for here, where costs decide."""


class BlockRewriter:
    """Puts the operators of one block that `plan` names into blocks of channels."""

    def __init__(self, plan: BlockingPlan):
        self.plan = plan
        self.lanes = plan.lanes
        self.layout = blocked_image(plan.lanes)
        self._blocked: dict[tuple[SSAValue, int], SSAValue] = {}
        """The blocked version of a value, and what its padding is."""
        self._replaced: list[tuple[Operation, SSAValue]] = []
        """The operators whose result is there in blocks, and that result."""

    def rewrite(self) -> None:
        """Rewrites the block."""
        for op in tuple(self.plan.block.ops):
            if self.plan.is_blocked(op):
                new = self._version(op)
                blocked = insert_before(op, new)
                blocked.name_hint = op.results[0].name_hint
                self._blocked[op.results[0], 0] = blocked
                self._replaced.append((op, blocked))
                continue
            known = both_layouts(op, self.lanes)
            if known is not None:
                self._use(op, *known)
            elif cuts_last_block(op, self.lanes) and (op.data, 0) in self._blocked:
                self._use(op, op.result, self._blocked[op.data, 0])
        for op, blocked in reversed(self._replaced):
            if not op.results[0].uses or self.plan.is_blocked(op):
                self._remove(op, blocked)

    def _use(self, op: Operation, plain: SSAValue, blocked: SSAValue) -> None:
        """Uses what an operator of the program says: that it has one image in both layouts."""
        known = self._blocked.setdefault((plain, 0), blocked)
        if plain is op.results[0]:
            self._replaced.append((op, blocked))
        elif known is not blocked and is_whole(plain, self.lanes):
            Rewriter.replace_op(op, (), (known,))

    def _remove(self, op: Operation, blocked: SSAValue) -> None:
        """Erases an operator that has a version in blocks; what is left uses that one."""
        (result,) = op.results
        if result.uses:
            owner = blocked.owner
            assert isinstance(owner, Operation) and is_tensor_type(result.type)
            back = LayoutTransformOp(blocked, self.layout, IMAGE)
            new: list[Operation] = [back]
            if not is_whole(result, self.lanes):
                channels = result.type.get_shape()[1]
                new.append(StridedSliceOp(back, [0], [channels], axes=[1]))
            for each in new:
                each.location = op.location
            Rewriter.insert_op(new, InsertPoint.after(owner))
            result.replace_all_uses_with(new[-1].results[0])
        pending = list(op.operands)
        Rewriter.erase_op(op)
        while pending:
            unused = pending.pop().owner
            if (
                isinstance(unused, ConstantOp | TupleOp)
                and unused.parent
                and not unused.result.uses
            ):
                pending.extend(unused.operands)
                Rewriter.erase_op(unused)

    # -- operands -----------------------------------------------------------------------------

    def _image(
        self,
        value: SSAValue,
        op: Operation,
        *,
        dimensions: Sequence[int] | None = None,
        padding: int = 0,
    ) -> SSAValue:
        """
        A value, seen as an image of some dimensions, in blocks for `op`: transformed when this is
        the first need of it. Constants have `padding` in the lanes after the last channel.
        """
        array = known_array(value)
        key = value, 0 if array is None else padding
        if key in self._blocked:
            return self._blocked[key]
        dimensions = dimensions or image_dimensions(value)
        if array is not None:
            layouts = Layout.parse(IMAGE, "layout"), Layout.parse(self.layout, "layout")
            blocked = change_layout(array.reshape(dimensions), *layouts, padding=padding)
            new: Operation = constant_op(blocked)
        else:
            assert is_tensor_type(value.type)
            if not same_shape(value.type.get_shape(), dimensions):
                value = insert_before(op, ReshapeOp(value, dimensions))
            new = LayoutTransformOp(value, IMAGE, self.layout)
        self._blocked[key] = insert_before(op, new)
        return self._blocked[key]

    def _broadcast(self, value: SSAValue, op: Operation, padding: int) -> SSAValue:
        """An operand that is broadcast against images in blocks."""
        assert is_tensor_type(op.results[0].type)
        if has_channels(value, op.results[0].type.get_shape()[1]):
            return self._image(value, op, padding=padding)
        dimensions = image_dimensions(value)
        if set(dimensions) == {1}:
            return value
        # The same in every channel: rows and columns keep their place before the lanes.
        assert is_tensor_type(value.type)
        return insert_before(op, ExpandDimsOp(value, value.type.get_num_dims()))

    # -- versions in blocks -------------------------------------------------------------------

    def _version(self, op: Operation) -> Operation:
        """The operator on operands in blocks."""
        match op:
            case Conv2DOp():
                if op.data in self.plan.decisions[op].images:
                    layouts = {"data_layout": string(self.layout), "out_layout": string("")}
                    return self._like(op, [self._image(op.data, op), op.weight], layouts)
                return self._like(op, op.operands, {"out_layout": string(self.layout)})
            case Pool2DOp() | GlobalPool2DOp():
                layouts = {"layout": string(self.layout), "out_layout": string("")}
                return self._like(op, [self._image(op.data, op)], layouts)
            case MeanOp():
                return GlobalAvgPool2DOp(self._image(op.data, op), self.layout)
            case BiasAddOp():
                channels = (1, op.bias.type.get_shape()[0], 1, 1)
                bias = self._image(op.bias, op, dimensions=channels)
                return AddOp(self._image(op.data, op), bias)
            case PadOp():
                widths = ArrayAttr([*op.pad_width.data, int_array((0, 0))])
                operands = [self._image(op.data, op), op.pad_val]
                return self._like(op, operands, {"pad_width": widths})
            case ConcatenateOp():
                fields = [self._image(image, op) for image in self.plan.decisions[op].images]
                return ConcatenateOp(insert_before(op, TupleOp(fields)), axis=1)
            case _ if len(op.operands) == 1:
                return self._like(op, [self._image(op.operands[0], op)], {})
            case _:
                operands = [
                    self._broadcast(value, op, int(i == 1 and isinstance(op, DIVISIONS)))
                    for i, value in enumerate(op.operands)
                ]
                return self._like(op, operands, {})

    def _like(
        self, op: Operation, operands: Sequence[SSAValue], properties: Mapping[str, Attribute]
    ) -> Operation:
        """`op` on other operands and with other properties, whose result is in blocks."""
        type_ = op.results[0].type
        assert is_tensor_type(type_)
        batch, channels, *image = type_.get_shape()
        shape = [batch, block_count(channels, self.lanes), *image, self.lanes]
        return like(op, operands, with_shape(type_, shape), properties)


@dataclass(frozen=True)
class AlterOpLayoutPass(RelayPass):
    """
    Puts images in blocks of channels where that is faster.

    A wrong option raises PassOptionError.
    """

    name = "alter-op-layout"

    lanes: int = 16
    """How many channels a block has: the elements of f32 in a vector register."""
    byte_lanes: int = 0
    """How many where all convolutions in blocks multiply bytes, and fill such blocks; 0 for `lanes`."""
    float_lanes: int = 0
    """How many where they multiply f32 or bf16, likewise."""
    target: str = CPU
    """`cpu`, or a target of `xrelay.analysis.layouts.alteration` whose hooks say where layouts begin."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(1, lanes=self.lanes)
        require_at_least(0, byte_lanes=self.byte_lanes, float_lanes=self.float_lanes)
        if self.target != CPU:
            alter = TARGETS.alteration(self.target, self.lanes)
            Relayout(alter).rewrite(operations_outside_kernels(op))
            return
        is_kept = Within(keeps_body)
        for block in fusion_blocks(op):
            parent = block.parent_op()
            if parent is None or isinstance(parent, CompositeOp) or is_kept(parent):
                continue
            sizes = self.lanes, self.byte_lanes, self.float_lanes
            BlockRewriter(plan_large_blocks(block, *sizes)).rewrite()
