"""
`legalize-layouts`: convolutions and pools of images in the layouts that kernels are written for.

    relay.nn.conv2d %x, %w in NHWC, HWIO     relay.layout_transform of %x to NCHW and of %w to OIHW,
                                             relay.nn.conv2d, relay.layout_transform to NHWC

and other convolutions, transposed ones, and pools likewise. Blocks of channels go, too, for
`alter-op-layout` chooses those that kernels are fast with; channels that only fill the last block of
images are cut off. `relay.nn.contrib_conv2d_NCHWc` becomes `relay.nn.conv2d`, and the weight
[C, M, …] of a convolution with M filters for each channel [C * M, 1, …].

A transform after another one becomes one transform, or none. What becomes of weights are operators,
which `fold-constant` computes when the weights are constants.

Leaves alone: `relay.nn.conv3d` without blocks, and pools of lines and volumes, whose kernels know
every order of axes; operators on tensors with unknown dimensions, `relay.composite`, which a backend
knows by its shape, functions for other compilers, and kernels whose strategies are stated. Run it after legalize-quantized-products, and
before legalize and legalize-convolutions, which know one order of axes only.

Source: Relay's ConvertLayout, for one operator at a time.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import (
    Conv2DOp,
    Conv3DOp,
    LaidOutConvolutionOp,
    TransposedConvolutionOp,
)
from xrelay.dialects.conv.packed import PackedConv2DOp
from xrelay.dialects.pool.pool import GlobalPool2DOp, Pool2DOp
from xrelay.dialects.shapes import shape_of, string, with_shape
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.transform import StridedSliceOp
from xrelay.transforms.rules.emitting import relaid, reshaped
from xrelay.transforms.rules.legalize.tables import of_static_shapes
from xrelay.transforms.rules.rewriting import ApplyRule, Emitter, like


def _correlation(op: LaidOutConvolutionOp, emit: Emitter) -> SSAValue | None:
    images, kernels, results = op.layouts
    canonical = (op.IMAGE_LAYOUT, op.KERNEL_LAYOUT, op.IMAGE_LAYOUT)
    if not isinstance(op, PackedConv2DOp) and not op.multiplies_depth:
        if (str(images), str(kernels), str(results)) == canonical:
            return None
        if isinstance(op, Conv3DOp) and not any(each.blocks for each in op.layouts):
            return None
    data = relaid(emit, op.data, images, op.IMAGE_LAYOUT)
    weight = relaid(emit, op.weight, kernels, op.KERNEL_LAYOUT)
    if op.multiplies_depth:
        weight = reshaped(emit, weight, op.weight_shape)
    channels = op.weight_shape[1] * op.group_count()
    if shape_of(data)[1] != channels:
        data = emit(StridedSliceOp(data, [0], [channels], axes=[1]))
    operator = Conv2DOp if isinstance(op, PackedConv2DOp) else type(op)
    plain = operator(
        data,
        weight,
        strides=op.window_strides,
        padding=op.pads,
        dilation=op.window_dilation,
        groups=op.group_count(),
        data_layout=op.IMAGE_LAYOUT,
        kernel_layout=op.KERNEL_LAYOUT,
        out_dtype=op.out_dtype,
    )
    return relaid(emit, emit(plain), op.IMAGE_LAYOUT, results)


def _transposed(op: TransposedConvolutionOp, emit: Emitter) -> SSAValue | None:
    if op.is_plain:
        return None
    images, kernels, results = op.layouts
    plain = type(op)(
        relaid(emit, op.data, images, op.IMAGE_LAYOUT),
        relaid(emit, op.weight, kernels, op.KERNEL_LAYOUT),
        strides=op.window_strides,
        output_padding=op.output_padding.get_values(),
        padding=op.pads,
        dilation=op.window_dilation,
        groups=op.group_count(),
        data_layout=op.IMAGE_LAYOUT,
        kernel_layout=op.KERNEL_LAYOUT,
        out_dtype=op.out_dtype,
    )
    return relaid(emit, emit(plain), op.IMAGE_LAYOUT, results)


def _pool(op: Pool2DOp | GlobalPool2DOp, emit: Emitter) -> SSAValue | None:
    layout = op.data_layout
    if str(layout) == op.IMAGE_LAYOUT:
        return None
    lengths = layout.lengths(shape_of(op.result))
    plain = like(
        op,
        [relaid(emit, op.data, layout, op.IMAGE_LAYOUT)],
        with_shape(op.result.type, [lengths[name] for name in op.IMAGE_LAYOUT]),
        {"layout": string(op.IMAGE_LAYOUT), "out_layout": string("")},
    )
    return relaid(emit, emit(plain), op.IMAGE_LAYOUT, layout)


def merged(op: LayoutTransformOp, emit: Emitter) -> SSAValue | None:
    """Two transforms become one, or none, when the first adds no padding."""
    first = op.data.owner
    if not isinstance(first, LayoutTransformOp):
        return None
    source, between = first.layouts
    if str(between) != op.src_layout.data or between.lengths(
        shape_of(first.result)
    ) != source.lengths(shape_of(first.data)):
        return None
    return relaid(emit, first.data, source, op.dst_layout.data)


OPERATORS = GreedyRewritePatternApplier(
    [
        ApplyRule(LaidOutConvolutionOp, of_static_shapes(_correlation)),
        ApplyRule(TransposedConvolutionOp, of_static_shapes(_transposed)),
        ApplyRule((Pool2DOp, GlobalPool2DOp), of_static_shapes(_pool)),
    ],
    dce_enabled=False,
)
"""What puts the operators of each family between changes of layout."""


@dataclass(frozen=True)
class LegalizeLayoutsPass(RelayPass):
    """Changes the layouts of convolutions and pools into those that kernels know."""

    name = "legalize-layouts"

    def rewrite(self, op: ModuleOp) -> None:
        for pattern in (OPERATORS, ApplyRule(LayoutTransformOp, merged)):
            PatternWalker(
                Outside(belongs_to_backend, pattern), apply_recursively=False
            ).rewrite_module(op)
