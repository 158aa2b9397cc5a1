"""Elementwise operators by what an element costs, which fusion and code generation decide by."""

from xrelay.dialects.nn.norm import BiasAddOp, PReluOp
from xrelay.dialects.tensor.binary import BINARY_OPS, PowerOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import ClipOp, CopyOp, LeakyReluOp, NegativeOp, ReluOp

LIGHT_OPS = (
    *(op for op in BINARY_OPS if op is not PowerOp),
    *(ReluOp, ClipOp, LeakyReluOp, NegativeOp, CopyOp, WhereOp, BiasAddOp, PReluOp),
)
"""Elementwise operators of a few instructions."""
