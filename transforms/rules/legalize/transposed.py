"""
Rules of `legalize` for the transposes of convolutions.

    relay.nn.conv1d_transpose   a line is an image of height 1: relay.nn.conv2d_transpose
    relay.nn.conv3d_transpose   relay.nn.dilate by the strides, then relay.nn.conv3d with the weight
                                [O, C / groups, KD, KH, KW] in the opposite order of taps; padding
                                (K - 1) * dilation less than before

`legalize-layouts` brings tensors into the order of axes that these are described in. `legalize-convolutions` has what becomes
of relay.nn.conv2d_transpose: the same as of relay.nn.conv3d_transpose, or more.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp, Conv3DOp
from xrelay.dialects.conv.transpose import Conv1DTransposeOp, Conv3DTransposeOp
from xrelay.dialects.nn.dilate import DilateOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.transforms.rules.emitting import reshaped
from xrelay.transforms.rules.rewriting import Emitter, Rule


def _line(op: Conv1DTransposeOp, emit: Emitter) -> SSAValue | None:
    if not op.is_plain:
        return None
    left, right = op.pads
    image = emit(
        Conv2DTransposeOp(
            emit(ExpandDimsOp(op.data, 2)),
            emit(ExpandDimsOp(op.weight, 2)),
            strides=(1, *op.window_strides),
            output_padding=(0, *op.output_padding.get_values()),
            padding=(0, left, 0, right),
            dilation=(1, *op.window_dilation),
            groups=op.group_count(),
            kernel_layout="IOHW",
            out_dtype=op.out_dtype,
        )
    )
    return emit(SqueezeOp(image, (2,)))


def _volume(op: Conv3DTransposeOp, emit: Emitter) -> SSAValue | None:
    return dilated(emit, op) if op.is_plain else None


def dilated(emit: Emitter, op: Conv2DTransposeOp | Conv3DTransposeOp) -> SSAValue:
    """One convolution of `data` with zeros between its elements."""
    data: SSAValue = op.data
    _, _, *kernel = shape_of(op.weight)
    if {*op.window_strides} != {1}:
        data = emit(DilateOp(data, (1, 1, *op.window_strides)))
    reach = [(taps - 1) * gap for taps, gap in zip(kernel, op.window_dilation, strict=True)]
    extra = (*[0] * op.spatial_axes, *op.output_padding.get_values())
    borders = [
        far - pad + more for far, pad, more in zip((*reach, *reach), op.pads, extra, strict=True)
    ]
    return convolved(emit, op, data, mirrored(emit, op), borders, op.window_dilation)


def convolved(
    emit: Emitter,
    op: Conv2DTransposeOp | Conv3DTransposeOp,
    data: SSAValue,
    weight: SSAValue,
    borders: Sequence[int],
    dilation: Sequence[int],
) -> SSAValue:
    """
    A convolution with padding on all sides, those before each axis first, or as many elements less where more is cut off
    than windows reach.
    """
    kind = Conv2DOp if isinstance(op, Conv2DTransposeOp) else Conv3DOp
    images = emit(
        kind(
            data,
            weight,
            padding=[max(border, 0) for border in borders],
            dilation=dilation,
            groups=op.group_count(),
            out_dtype=op.out_dtype,
        )
    )
    cuts = [max(-border, 0) for border in borders]
    if not any(cuts):
        return images
    _, _, *size = shape_of(images)
    stops = [length - cut for length, cut in zip(size, cuts[len(size) :], strict=True)]
    return emit(StridedSliceOp(images, cuts[: len(size)], stops, axes=range(2, 2 + len(size))))


def mirrored(emit: Emitter, op: Conv2DTransposeOp | Conv3DTransposeOp) -> SSAValue:
    """The weight as [O, C / groups, …], with the taps in the opposite order."""
    groups = op.group_count()
    first, second, *kernel = shape_of(op.weight)
    if op.kernel_layout.data == op.KERNEL_LAYOUT:  # [C, O / groups, …]
        shape, order = (groups, first // groups, second, *kernel), (0, 2, 1)
        outputs, inputs = second, first // groups
    else:  # [O / groups, C, …]
        shape, order = (first, groups, second // groups, *kernel), (1, 0, 2)
        outputs, inputs = first, second // groups
    apart = reshaped(emit, op.weight, shape)
    swapped = emit(TransposeOp(apart, (*order, *range(3, 3 + len(kernel)))))
    joined = reshaped(emit, swapped, (groups * outputs, inputs, *kernel))
    last, before_first = [taps - 1 for taps in kernel], [-taps - 1 for taps in kernel]
    axes = range(2, 2 + len(kernel))
    return emit(StridedSliceOp(joined, last, before_first, [-1] * len(kernel), axes=axes))


TRANSPOSED_RULES: dict[type[Operation], Rule] = {
    Conv1DTransposeOp: _line,
    Conv3DTransposeOp: _volume,
}
"""What replaces the transposes of convolutions of lines and volumes."""
