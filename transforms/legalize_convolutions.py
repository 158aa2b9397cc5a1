"""
`legalize-convolutions`: convolutions that have no kernels of their own, by ones that have.

    relay.nn.conv1d %x, %w             [N, C, W] → [N, C, 1, W], relay.nn.conv2d, → [N, O, W']

    relay.nn.conv2d_transpose %x, %w   relay.nn.dilate %x by the strides, then relay.nn.conv2d with
                                       the weight [O, C / groups, KH, KW] upside down; padding
                                       (K - 1) * dilation less than before; likewise
                                       relay.nn.conv1d_transpose and relay.nn.conv3d_transpose

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
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xrelay.analysis.scopes import UNFUSED_FUNCTIONS, has_flag
from xrelay.dialects.conv import Conv1DOp, Conv2DOp, Conv3DOp
from xrelay.dialects.conv_transpose import (
    Conv1DTransposeOp,
    Conv2DTransposeOp,
    Conv3DTransposeOp,
    TransposedConvolutionOp,
)
from xrelay.dialects.core import CompositeOp
from xrelay.dialects.dilate import DilateOp
from xrelay.dialects.layout import Layout, LayoutTransformOp
from xrelay.dialects.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.shapes import is_dynamic
from xrelay.dialects.transform import StridedSliceOp, TransposeOp
from xrelay.transforms.rewriting import Emitter, shape_of

LEGALIZED = (Conv1DOp, Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp)
"""The operators that this pass replaces."""

CORRELATIONS = {1: Conv1DOp, 2: Conv2DOp, 3: Conv3DOp}
"""Convolutions by the number of their spatial axes."""


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
        left, right = op.pads
        emit = Emitter()
        image = emit(
            Conv2DOp(
                emit(ExpandDimsOp(op.data, 2)),
                emit(ExpandDimsOp(op.weight, 2)),
                strides=(1, *op.window_strides),
                padding=(0, left, 0, right),
                dilation=(1, *op.window_dilation),
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

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, TransposedConvolutionOp) or belongs_to_backend(op):
            return
        if is_dynamic(op.weight.type) or is_dynamic(op.data.type):
            return
        emit = Emitter()
        image_layout, kernel_layout, out_layout = op.layouts
        data = self.in_layout(emit, op.data, image_layout, op.IMAGE_LAYOUT)
        # With the axes of the channels swapped, a weight needs no transposition of its own.
        swapped = ("O", "I", *op.KERNEL_LAYOUT[2:])
        inputs_first = kernel_layout.names != swapped or bool(kernel_layout.blocks)
        weight: SSAValue = op.weight
        if inputs_first:
            weight = self.in_layout(emit, op.weight, kernel_layout, op.KERNEL_LAYOUT)
        if {*op.window_strides} != {1}:
            data = emit(DilateOp(data, (1, 1, *op.window_strides)))
        _, _, *kernel = shape_of(weight)
        reach = [(taps - 1) * gap for taps, gap in zip(kernel, op.window_dilation, strict=True)]
        before, after = op.pads[: op.spatial_axes], op.pads[op.spatial_axes :]
        extra = op.output_padding.get_values()
        pads = [
            *(r - pad for r, pad in zip(reach, before, strict=True)),
            *(r - pad + more for r, pad, more in zip(reach, after, extra, strict=True)),
        ]
        whole = emit(
            CORRELATIONS[op.spatial_axes](
                data,
                self.mirrored(emit, weight, op.group_count(), inputs_first=inputs_first),
                padding=tuple(max(pad, 0) for pad in pads),
                dilation=op.window_dilation,
                groups=op.group_count(),
                out_dtype=op.out_dtype,
            )
        )
        images = self.without_borders(emit, whole, tuple(max(-pad, 0) for pad in pads))
        result = images
        if out_layout.names != tuple(op.IMAGE_LAYOUT) or out_layout.blocks:
            result = emit(LayoutTransformOp(images, op.IMAGE_LAYOUT, str(out_layout)))
        result.name_hint = op.result.name_hint
        rewriter.replace(op, emit.located(op), (result,))

    def in_layout(self, emit: Emitter, value: SSAValue, layout: Layout, canonical: str) -> SSAValue:
        """A tensor in `layout` with its axes in the order `canonical`."""
        if layout.names == tuple(canonical) and not layout.blocks:
            return value
        return emit(LayoutTransformOp(value, str(layout), canonical))

    def without_borders(
        self, emit: Emitter, images: SSAValue, borders: tuple[int, ...]
    ) -> SSAValue:
        """Images without the borders that more padding than windows reach cuts off."""
        if not any(borders):
            return images
        _, _, *size = shape_of(images)
        before, after = borders[: len(size)], borders[len(size) :]
        stops = [length - cut for length, cut in zip(size, after, strict=True)]
        return emit(StridedSliceOp(images, before, stops, axes=tuple(range(2, 2 + len(size)))))

    def mirrored(
        self, emit: Emitter, weight: SSAValue, groups: int, *, inputs_first: bool
    ) -> SSAValue:
        """
        A weight [C, O / groups, …], or [O / groups, C, …], as [O, C / groups, …] with the taps in
        the opposite order.
        """
        first, second, *kernel = shape_of(weight)
        spatial = range(3, 3 + len(kernel))
        empty = 0 in shape_of(weight)
        if inputs_first:
            shape, order = (groups, first // groups, second, *kernel), (0, 2, 1, *spatial)
            outputs, inputs = second, first // groups
        else:
            shape, order = (first, groups, second // groups, *kernel), (1, 0, 2, *spatial)
            outputs, inputs = first, second // groups
        swapped = emit(TransposeOp(emit(ReshapeOp(weight, shape, allowzero=empty)), order))
        shape = (groups * outputs, inputs, *kernel)
        joined = emit(ReshapeOp(swapped, shape, allowzero=empty))
        last = [taps - 1 for taps in kernel]
        before_first = [-taps - 1 for taps in kernel]
        axes = tuple(range(2, 2 + len(kernel)))
        return emit(StridedSliceOp(joined, last, before_first, [-1] * len(kernel), axes=axes))


@dataclass(frozen=True)
class LegalizeConvolutionsPass(ModulePass):
    """Replaces convolutions that have no kernels of their own."""

    name = "legalize-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Transposed convolutions of lines become convolutions of lines first.
        for pattern in (TransposedAsDilated(), LineAsImage()):
            PatternRewriteWalker(pattern, apply_recursively=False).rewrite_module(op)
