"""
`legalize-convolutions`: convolutions that have no kernels of their own, by ones that have.

    relay.nn.conv1d %x, %w             [N, C, W] → [N, C, 1, W], relay.nn.conv2d, → [N, O, W']

    relay.nn.conv2d_transpose %x, %w   relay.nn.dilate %x by the strides, then relay.nn.conv2d with
                                       the weight [O, C / groups, KH, KW] upside down; padding
                                       (K - 1) * dilation less than before

The weight is transposed by operators, which `fold-constant` computes when it is a constant.

Leaves alone: `relay.composite`, which a backend knows by its shape, and functions for other
compilers. Run it before fold-constant and alter-op-layout.

Source: Relay's Legalize.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xrelay.analysis.scopes import UNFUSED_FUNCTIONS, has_flag
from xrelay.dialects.conv import Conv1DOp, Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.core import CompositeOp
from xrelay.dialects.dilate import DilateOp
from xrelay.dialects.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.shapes import is_dynamic
from xrelay.dialects.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.windows import expand_padding, line_padding, positive_numbers, positive_pair
from xrelay.transforms.rewriting import Emitter, shape_of

LEGALIZED = (Conv1DOp, Conv2DTransposeOp)
"""The operators that this pass replaces."""


def belongs_to_backend(op: Operation) -> bool:
    """Whether `op` is in a composite or in a function for another compiler."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, CompositeOp):
            return True
        if isinstance(parent, func.FuncOp) and has_flag(parent, UNFUSED_FUNCTIONS):
            return True
        parent = parent.parent_op()
    return False


class LineAsImage(RewritePattern):
    """A line is an image of height 1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Conv1DOp, rewriter: PatternRewriter, /) -> None:
        if belongs_to_backend(op):
            return
        left, right = line_padding(op.padding.get_values())
        emit = Emitter()
        image = emit(
            Conv2DOp(
                emit(ExpandDimsOp(op.data, 2)),
                emit(ExpandDimsOp(op.weight, 2)),
                strides=(1, *positive_numbers(op.strides, "strides", 1)),
                padding=(0, left, 0, right),
                dilation=(1, *positive_numbers(op.dilation, "dilation", 1)),
                groups=op.group_count(),
                out_dtype=op.out_dtype,
            )
        )
        result = emit(SqueezeOp(image, (2,)))
        result.name_hint = op.result.name_hint
        rewriter.replace(op, emit.located(op), (result,))


class TransposedAsDilated(RewritePattern):
    """
    What a window adds to an element of the result comes from every element of `data` that the
    mirrored window meets, when there are strides - 1 zeros between those.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Conv2DTransposeOp, rewriter: PatternRewriter, /) -> None:
        if belongs_to_backend(op) or is_dynamic(op.weight.type) or is_dynamic(op.data.type):
            return
        strides = positive_pair(op.strides, "strides")
        dilation = positive_pair(op.dilation, "dilation")
        emit = Emitter()
        data: SSAValue = op.data
        if strides != (1, 1):
            data = emit(DilateOp(data, (1, 1, *strides)))
        top, left, bottom, right = expand_padding(op.padding.get_values())
        below, beside = op.output_padding.get_values()
        _, _, *kernel = op.weight.type.get_shape()
        reach = [(taps - 1) * gap for taps, gap in zip(kernel, dilation, strict=True)]
        pads = (
            reach[0] - top,
            reach[1] - left,
            reach[0] - bottom + below,
            reach[1] - right + beside,
        )
        whole = emit(
            Conv2DOp(
                data,
                self.mirrored(emit, op),
                padding=tuple(max(pad, 0) for pad in pads),
                dilation=dilation,
                groups=op.group_count(),
                out_dtype=op.out_dtype,
            )
        )
        result = self.without_borders(emit, whole, tuple(max(-pad, 0) for pad in pads))
        result.name_hint = op.result.name_hint
        rewriter.replace(op, emit.located(op), (result,))

    def without_borders(
        self, emit: Emitter, images: SSAValue, borders: tuple[int, ...]
    ) -> SSAValue:
        """Images without the rows and columns that more padding than windows reach cuts off."""
        if not any(borders):
            return images
        top, left, bottom, right = borders
        _, _, rows, columns = shape_of(images)
        return emit(
            StridedSliceOp(images, (top, left), (rows - bottom, columns - right), axes=(2, 3))
        )

    def mirrored(self, emit: Emitter, op: Conv2DTransposeOp) -> SSAValue:
        """The weight as [O, C / groups, KH, KW], with the taps in the opposite order."""
        weight, groups = op.weight, op.group_count()
        first, second, *kernel = weight.type.get_shape()
        if op.kernel_layout.data == "OIHW":
            shape, order = (first, groups, second // groups, *kernel), (1, 0, 2, 3, 4)
            outputs, inputs = first, second // groups
        else:
            shape, order = (groups, first // groups, second, *kernel), (0, 2, 1, 3, 4)
            outputs, inputs = second, first // groups
        empty = 0 in weight.type.get_shape()
        swapped = emit(TransposeOp(emit(ReshapeOp(weight, shape, allowzero=empty)), order))
        shape = (groups * outputs, inputs, *kernel)
        joined = emit(ReshapeOp(swapped, shape, allowzero=empty))
        last = [taps - 1 for taps in kernel]
        before_first = [-taps - 1 for taps in kernel]
        return emit(StridedSliceOp(joined, last, before_first, (-1, -1), axes=(2, 3)))


@dataclass(frozen=True)
class LegalizeConvolutionsPass(ModulePass):
    """Replaces convolutions that have no kernels of their own."""

    name = "legalize-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = GreedyRewritePatternApplier(
            [LineAsImage(), TransposedAsDilated()], dce_enabled=False
        )
        PatternRewriteWalker(patterns, apply_recursively=False).rewrite_module(op)
