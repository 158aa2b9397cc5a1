"""
`legalize-quantized-products`: products of quantised tensors, by products of 32-bit integers.

    relay.qnn.conv2d %x, %w, %zx, %zw, …     relay.nn.conv2d (cast %x to i32) - %zx,
                                                             (cast %w to i32) - %zw

and `relay.qnn.conv2d_transpose`, `relay.qnn.dense` and `relay.qnn.batch_matmul` likewise. A zero
point that is known to be 0 is not subtracted. Integer arithmetic is exact, so that the order of
sums does not matter; shifted weights are computed by `fold-constant` when they are constants.

Leaves alone: `relay.composite`, which a backend knows by its shape, and functions for other
compilers. Run it before the other legalizations and fold-constant.

Source: Relay's qnn.Canonicalize.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.qnn.parameters import is_scalar
from xrelay.dialects.qnn.products import QNN_PRODUCT_OPS, QnnProductOp
from xrelay.dialects.tensor.binary import SubtractOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.rewriting import Emitter, shape_of

REPLACED = QNN_PRODUCT_OPS
"""The operators that this pass replaces."""


class ProductOfIntegers(RewritePattern):
    """The factors without their zero points are integers like others."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, QnnProductOp):
            return
        emit = Emitter()
        lhs = self.shifted(emit, op.operands[0], op.operands[2], None)
        rhs = self.shifted(emit, op.operands[1], op.operands[3], op.channel_axis)
        result = emit(op.integer_product(lhs, rhs))
        result.name_hint = op.results[0].name_hint
        rewriter.replace(op, emit.located(op), (result,))

    def shifted(
        self, emit: Emitter, value: SSAValue, zero_point: SSAValue, axis: int | None
    ) -> SSAValue:
        """`value` - `zero_point` as i32; the zero point may have one element for each index."""
        wide = emit(CastOp(value, i32))
        known = known_array(zero_point)
        if known is not None and not known.any():
            return wide
        if shape_of(zero_point):
            rank = len(shape_of(value))
            whole = axis is None or is_scalar(zero_point)
            newshape = [1 if whole or each != axis else -1 for each in range(rank)]
            zero_point = emit(ReshapeOp(zero_point, newshape))
        return emit(SubtractOp(wide, zero_point))


@dataclass(frozen=True)
class LegalizeQuantizedProductsPass(RelayPass):
    """Replaces products of quantised tensors by products of integers."""

    name = "legalize-quantized-products"

    def rewrite(self, op: ModuleOp) -> None:
        PatternWalker(
            Outside(belongs_to_backend, ProductOfIntegers()), apply_recursively=False
        ).rewrite_module(op)
