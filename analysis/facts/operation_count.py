"""How many operations operators do."""

from math import prod

from xdsl.ir import Operation

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, YieldOp
from xrelay.dialects.nn.dense import DenseOp, MatrixProductOp
from xrelay.dialects.shapes import leaf_types


def operation_count(op: Operation) -> int:
    """
    Floating-point operations of convolutions and matrix products, a multiply-add counted as two;
    one for each element of the result of any other operator. Composites have those inside.
    """
    if isinstance(op, ConstantOp | YieldOp):
        return 0
    if isinstance(op, CompositeOp):
        return sum(map(operation_count, op.block.ops))
    results = sum(prod(type_.get_shape()) for type_ in leaf_types(op.results[0].type))
    match op:
        case Conv2DOp():
            out_channels, *filters = op.weight_shape
            _, _, layout = op.layouts
            lengths = layout.lengths(leaf_types(op.result.type)[0].get_shape())
            image = lengths["N"] * lengths["H"] * lengths["W"]
            return 2 * image * out_channels * prod(filters)
        case DenseOp():
            return 2 * results * leaf_types(op.data.type)[0].get_shape()[-1]
        case MatrixProductOp():
            axis = -2 if op.transpose_a.value.data else -1
            return 2 * results * leaf_types(op.tensor_a.type)[0].get_shape()[axis]
        case _:
            return results
