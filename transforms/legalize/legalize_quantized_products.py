"""
`legalize-quantized-products`: products of quantised tensors, by products of 32-bit integers.

    relay.qnn.conv2d %x, %w, %zx, %zw, …     relay.nn.conv2d (cast %x to i32) - %zx,
                                                             (cast %w to i32) - %zw

and `relay.qnn.conv2d_transpose`, `relay.qnn.dense` and `relay.qnn.batch_matmul` likewise. A zero
point that is known to be 0 is not subtracted. Integer arithmetic is exact, so that the order of
sums does not matter; shifted weights are computed by `fold-constant` when they are constants.

With `rules=cpu` products of bytes with sums of 32 bits, and zero points beside them:

    relay.qnn.conv2d %x, %w, %zx, %zw, …     relay.nn.bias_add (relay.nn.conv2d (pad %x with %zx), %w),
                                                               -%zx * Σ %w

(`transforms/rules/legalize/bytes.py`); the form above is for what they are no better for: layouts other than
NCHW and OIHW, padding with what is no byte, types with unknown dimensions. Products of f32 with a constant matrix in
blocks of few bits read it as it is (`transforms/rules/legalize/blocks.py`):

    %0 = relay.qnn.dequantize_blocks %w, …
    relay.nn.dense %x, %0                  ──►  relay.qnn.dense_blocks %x, %w, …

Leaves alone: `relay.composite`, which a backend knows by its shape, and functions for other
compilers. Run it before the other legalizations and fold-constant.

Source: Relay's qnn.Canonicalize.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.qnn.products import QnnProductOp
from xrelay.transforms.rules.legalize.blocks import PRODUCTS_OF_BLOCKS, product_of_blocks
from xrelay.transforms.rules.legalize.bytes import product_of_bytes
from xrelay.transforms.rules.legalize.integers import without_zero_point
from xrelay.transforms.rules.rewriting import Emitter, apply_rule
from xrelay.transforms.rules.rule_sets import require_rules


@dataclass(frozen=True)
class ProductOfIntegers(RewritePattern):
    """The factors without their zero points are integers like others."""

    bytes_first: bool = False
    """Whether bytes are multiplied where that is possible."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if self.bytes_first and isinstance(op, PRODUCTS_OF_BLOCKS):
            apply_rule(product_of_blocks, op, rewriter)
            return
        if not isinstance(op, QnnProductOp):
            return
        if self.bytes_first and apply_rule(product_of_bytes, op, rewriter):
            return
        emit = Emitter()
        lhs, rhs, lhs_zero, rhs_zero, *_ = op.operands
        lhs = without_zero_point(emit, lhs, lhs_zero, None, i32)
        rhs = without_zero_point(emit, rhs, rhs_zero, op.channel_axis, i32)
        emit(op.integer_product(lhs, rhs))
        rewriter.replace(op, emit.located(op))


@dataclass(frozen=True)
class LegalizeQuantizedProductsPass(RelayPass):
    """Replaces products of quantised tensors by products of integers."""

    name = "legalize-quantized-products"

    rules: str = "relay"
    """`relay` for products of 32-bit integers, `cpu` for those of bytes."""

    def rewrite(self, op: ModuleOp) -> None:
        require_rules(self.rules)
        pattern = ProductOfIntegers(bytes_first=self.rules == "cpu")
        PatternWalker(Outside(belongs_to_backend, pattern), apply_recursively=False).rewrite_module(
            op
        )
