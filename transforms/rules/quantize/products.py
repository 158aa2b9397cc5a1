"""Rules of products, whose sums are integers of 32 bits, and of the biases that are added to them: PRODUCT_RULES."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.qnn.products import (
    QnnBatchMatmulOp,
    QnnConv2DOp,
    QnnConv2DTransposeOp,
    QnnDenseOp,
    QnnProductOp,
)
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import MultiplyOp
from xrelay.dialects.tensor.layout import layout_of
from xrelay.transforms.rules.quantize.constants import quantized_constant
from xrelay.transforms.rules.quantize.moving import on_integers
from xrelay.transforms.rules.quantize.values import (
    Affine,
    IntegerRule,
    Kept,
    Quantized,
    Site,
    requantized,
)

PRODUCTS: Mapping[type[Operation], type[QnnProductOp]] = {
    BatchMatmulOp: QnnBatchMatmulOp,
    Conv2DOp: QnnConv2DOp,
    Conv2DTransposeOp: QnnConv2DTransposeOp,
    DenseOp: QnnDenseOp,
}
"""The products of integers, whose sums are of i32."""


def _channel_axes(op: Operation, data: Affine) -> tuple[int, int]:
    """The axes of output channels in the second factor and in the result."""
    if isinstance(op, Conv2DOp | Conv2DTransposeOp):
        kernel = layout_of(op.kernel_layout, "kernel_layout", op.KERNEL_LAYOUT, splits="OI")
        stated = op.out_layout if op.out_layout.data else op.data_layout
        image = layout_of(stated, "out_layout", op.IMAGE_LAYOUT, splits="C")
        return kernel.index("O"), image.index("C")
    if isinstance(op, DenseOp):
        return 0, op.result.type.get_num_dims() - 1
    return -1, data.axis


def product_of_integers(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    """A product of integers, whose sums stand for numbers with the product of the scales."""
    (lhs, left), (rhs, right) = [(arg.value, arg.affine) for arg in args]
    kernel_axis, result_axis = _channel_axes(op, left)
    if not right.is_whole and right.axis_of(rhs) != kernel_axis:
        raise Kept(f"the scales of the second factor of {op.name} are not those of output channels")
    integers = PRODUCTS[type(op)]
    names = integers.get_irdl_definition().properties
    properties: dict[str, Any] = {n: each for n, each in op.properties.items() if n in names}
    properties["out_dtype"] = i32
    parameters = (left.zero_point, right.zero_point, left.scale, right.scale)
    value = site.emit(integers.of([lhs, rhs, *parameters], properties))
    scale = site.folded(MultiplyOp(left.scale, right.scale))
    zero = site.emit.constant(np.zeros(shape_of(scale), np.int32))
    return Quantized(value, Affine(scale, zero, result_axis, i32))


def _bias_add(op: BiasAddOp, args: list[Quantized], site: Site) -> Quantized:
    """Integers of 32 bits around 0 are added as they are, once they have one scale."""
    data, bias = args
    kind = data.affine
    if kind.dtype != i32 or not kind.is_centred:
        raise Kept(f"{op.name} adds to integers that are no sums of products")
    if not kind.is_whole and kind.axis_of(data.value) != op.channel_axis:
        raise Kept(f"the scales of {op.name} are not those of the axis of its bias")
    along = replace(kind, axis=0)
    if bias.kind is None:
        bias = quantized_constant(bias, along, site, axis=0)
    elif not along.is_near(bias.affine, bias.value):
        vector = replace(bias, kind=replace(bias.affine, axis=0))
        bias = requantized(site.emit, vector, along, i32)
    return Quantized(on_integers(op, [data, bias], site), kind)


PRODUCT_RULES: Mapping[type[Operation], IntegerRule] = {
    BiasAddOp: IntegerRule(_bias_add),
    **{op: IntegerRule(product_of_integers) for op in PRODUCTS},
}
"""What Relay's pass knows."""
