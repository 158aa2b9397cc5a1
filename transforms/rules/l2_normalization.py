"""What several passes make of `nn.l2_normalize`."""

from xdsl.ir import SSAValue

from xrelay.dialects.nn.norm import L2NormalizeOp
from xrelay.dialects.tensor.binary import DivideOp, MaximumOp, MultiplyOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.unary import SqrtOp
from xrelay.transforms.rules.emitting import narrowed, widened
from xrelay.transforms.rules.rewriting import Emitter


def l2_normalized(op: L2NormalizeOp, emit: Emitter) -> SSAValue:
    """x / sqrt(max(sum of x * x, eps)), computed in f32 for narrower types."""
    x = widened(emit, op.data)
    squares = emit(SumOp(emit(MultiplyOp(x, x)), op.axis, keepdims=True))
    least = emit(MaximumOp(squares, emit.scalar(op.eps.value.data, squares)))
    return narrowed(emit, emit(DivideOp(x, emit(SqrtOp(least)))), op.data)
