"""Elementwise operators by what an element costs, which fusion and code generation decide by."""

from xrelay.dialects.binary import BINARY_OPS, PowerOp
from xrelay.dialects.norm import BiasAddOp, PReluOp
from xrelay.dialects.transform import WhereOp
from xrelay.dialects.unary import ClipOp, CopyOp, LeakyReluOp, NegativeOp, ReluOp

LIGHT_OPS = (
    *(op for op in BINARY_OPS if op is not PowerOp),
    *(ReluOp, ClipOp, LeakyReluOp, NegativeOp, CopyOp, WhereOp, BiasAddOp, PReluOp),
)
"""Elementwise operators of a few instructions."""
