"""
Convolutions in Winograd's two steps, the first of which constant weights absorb.

    %0 = relay.nn.conv2d %x, %w      %0 = relay.nn.contrib_conv2d_winograd_weight_transform %w
                              ──►    %1 = relay.transpose %0
                                     %2 = relay.nn.contrib_conv2d_winograd_without_weight_transform %x, %1
"""

from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv2DOp, Conv3DOp
from xrelay.dialects.conv.winograd import (
    TRANSFORMED_TAPS,
    ContribConv2DWinogradWeightTransformOp,
    ContribConv2DWinogradWithoutWeightTransformOp,
    ContribConv3DWinogradWeightTransformOp,
    ContribConv3DWinogradWithoutWeightTransformOp,
    transforms_depth,
)
from xrelay.dialects.shapes import integer, string
from xrelay.dialects.tensor.layout import canonical_shape
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.transforms.rules.emitting import relaid
from xrelay.transforms.rules.rewriting import Emitter, has_static_type, is_floating


def in_two_steps(op: Conv2DOp | Conv3DOp, tile: int, emit: Emitter) -> SSAValue | None:
    """The result of a convolution by tiles of outputs, None where there is none: see `layout-rewrite`."""
    images, kernels, results = op.layouts
    if images.blocks or kernels.blocks or results.blocks or not is_floating(op.data):
        return None
    if not is_floating(op.weight) or not is_floating(op.result) or not has_static_type(op.weight):
        return None
    ones = (1,) * op.spatial_axes
    if op.window_strides != ones or op.window_dilation != ones or op.groups.value.data != 1:
        return None
    _, _, *taps = canonical_shape(op.weight, "'weight'", kernels, op.KERNEL_LAYOUT)
    if taps[-1] not in TRANSFORMED_TAPS or len(set(taps[-2:])) > 1:
        return None
    # Weights of such a depth are taken for those whose depth is transformed.
    if len(taps) == 3 and not transforms_depth(taps) and taps[0] == tile + taps[-1] - 1:
        return None
    weight = relaid(emit, op.weight, kernels, op.KERNEL_LAYOUT)
    properties = {"tile_size": integer(tile), "kernel_layout": string(op.KERNEL_LAYOUT)}
    if isinstance(op, Conv2DOp):
        made = emit(ContribConv2DWinogradWeightTransformOp(weight, tile))
        made = emit(TransposeOp(made, (0, 1, 3, 2)))
        kind = ContribConv2DWinogradWithoutWeightTransformOp
    else:
        made = emit(ContribConv3DWinogradWeightTransformOp(weight, tile))
        kind = ContribConv3DWinogradWithoutWeightTransformOp
    return emit(
        kind.create(
            operands=[op.data, made],
            result_types=[op.result.type],
            properties=op.properties | properties,
        )
    )
