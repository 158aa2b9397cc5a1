"""
`simplify-expr`: algebra on single operators and short chains, a table of rules (RULES).

    %0 = relay.reshape %x …                 %1 = relay.reshape %x …
    %1 = relay.reshape %0 …           ──►

    %0 = relay.sqrt %y                      %0 = relay.rsqrt %y
    %1 = relay.divide %x, %0          ──►   %1 = relay.multiply %x, %0

With `rules=relay` the rules are those of Relay: operators like `zeros_like` state their shape, filled
tensors become scalars, numbers that change nothing disappear, reshapes, transposes and casts merge, and
quantised numbers are compared as they are. `rules=cpu` has more, those of later versions of Relay among
them: powers, slices, clips, constants that are combined, polynomials.

Rules that always hold are exact, or round differently in the last place: they keep NaN, infinities
and the sign of zeros. Where floating-point rules do not, an option allows them:

- `ignore-signed-zeros`: x + 0 is x (for x = -0 it is +0), and x - (-0).
- `reassociate`: constants that are added or multiplied one after the other are combined:
  (x + a) + b is x + (a + b), (x * a) * b is x * (a * b), (x + a) * b is x * b + a * b, and x / a
  is x * (1 / a). A number that scales the right operand of a matrix product scales the left one, where that has no more
  elements. An intermediate result that overflows or vanishes may then no longer do so, or begin to; with
  `rules=cpu`, combined constants do neither: infinities, NaN and products that vanish stay apart. Nor is
  anything combined there whose last place shows, as it is rounded to whole numbers, compared or handed over to a
  region, unless it is computed of a sum of products: ceil(42 / 7) is 6, ceil(42 * (1 / 7)) in f32 is 7. Integers, which wrap around,
  are combined without it.
- `factor-polynomials`: x * x + 2 * x * y + y * y is (x + y) * (x + y). Where the terms cancel out, or
  overflow to infinities of both signs, the results are others. Those of integers are the same.

Relay, whose rules have no such options, always does all of it. What else it does is not done here: casts are
merged only where the first one keeps every value (it also takes int8 to uint8 and int64 to float32 for
such), and `argmax`, `argmin` and `argsort` look through `qnn.dequantize` only where that keeps the order
(it also does where int32 rounds to the same float32, and from one scale to another). Constants combine
only when the result is not larger than they are. The bodies of `relay.fused` and `relay.composite` and
functions for other compilers stay as they are.

The pass rewrites until no rule applies. Each rewrite removes an operation or moves a constant towards
the results, so that the work is linear in the program for chains of bounded length.

Source: Relay's SimplifyExpr: of TVM 0.10 the rules for Relay, of 0.12 to 0.18 some of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.nn.dense import MatrixProductOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import (
    AddOp,
    BroadcastBinaryOp,
    DivideOp,
    MultiplyOp,
    PowerOp,
    SubtractOp,
)
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.like import CastLikeOp
from xrelay.dialects.tensor.reduce import ArgmaxOp, ArgminOp
from xrelay.dialects.tensor.sort import ArgsortOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, CopyOp
from xrelay.transforms.rules.rewriting import Emitter, Rule, apply_rule, is_floating
from xrelay.transforms.rules.rule_sets import RULE_SETS, require_rules
from xrelay.transforms.rules.simplify import arithmetic, casts, filled, moves, order, sums
from xrelay.transforms.rules.simplify.polynomials import factored


def exact(rule: Rule) -> Rule:
    """`rule` for integers only, where arithmetic is associative."""

    def apply(op: Operation, emit: Emitter) -> SSAValue | None:
        return None if is_floating(op.results[0]) else rule(op, emit)

    return apply


def with_scalar(rule: Rule) -> Rule:
    """`rule` for operators of which an operand is a constant of one element."""

    def apply(op: Operation, emit: Emitter) -> SSAValue | None:
        constants = [each for each in op.operands if isinstance(each.owner, ConstantOp)]
        return rule(op, emit) if any(prod(shape_of(each)) == 1 for each in constants) else None

    return apply


@dataclass(frozen=True)
class Entry:
    """One line of the table."""

    ops: tuple[type[Operation], ...]
    """The operators whose result the rule replaces, and their families."""
    rule: Rule
    sets: tuple[str, ...]
    """Those of RULE_SETS that have the rule."""
    option: str = ""
    """The option that allows the rule, none when it always holds."""


RELAY, CPU = (("relay",), ("cpu",))
_SUMS = (AddOp, SubtractOp, BiasAddOp)
_IDENTITIES = (AddOp, SubtractOp, MultiplyOp, DivideOp)

RULES: tuple[Entry, ...] = (
    Entry(filled.LIKE_OPS, filled.stated_shape, RULE_SETS),
    Entry((BroadcastBinaryOp,), filled.scalar_operand, RULE_SETS),
    Entry((DivideOp,), arithmetic.divide_by_root, RELAY),
    Entry((DivideOp,), arithmetic.divide_by_own_root, CPU),
    Entry((DivideOp,), arithmetic.divide_by_power_of_two, CPU),
    Entry((PowerOp,), arithmetic.small_power, CPU),
    Entry(_IDENTITIES, with_scalar(arithmetic.identity), RELAY),
    Entry((AddOp, SubtractOp), with_scalar(arithmetic.zero_identity), RELAY, "ignore_signed_zeros"),
    Entry(_IDENTITIES, arithmetic.identity, CPU),
    Entry((AddOp, SubtractOp), arithmetic.zero_identity, CPU, "ignore_signed_zeros"),
    Entry((AddOp,), arithmetic.doubled, CPU),
    Entry(moves.STATED_RESHAPES, moves.consecutive_reshapes, RELAY),
    Entry(moves.RESHAPES, moves.merged_reshapes, CPU),
    Entry(moves.TRANSPOSES, moves.consecutive_transposes, RULE_SETS),
    Entry((TransposeOp,), moves.idle_transpose, CPU),
    Entry((StridedSliceOp,), moves.whole_slice, CPU),
    Entry((TakeOp,), moves.slice_of_one, CPU),
    Entry((WhereOp,), moves.known_choice, CPU),
    Entry((CopyOp,), moves.copied, CPU),
    Entry(casts.CASTS, casts.merged_casts, RULE_SETS),
    Entry((CastLikeOp,), filled.stated_dtype, CPU),
    Entry((CastOp,), casts.clipped_round_trip, CPU),
    Entry((ClipOp,), casts.whole_range, CPU),
    Entry((ArgmaxOp, ArgminOp, ArgsortOp), order.order_of_quantized, RULE_SETS),
    Entry((AddOp,), exact(sums.consecutive_sums), RELAY),
    Entry(_SUMS, exact(sums.adjacent_sums), CPU),
    Entry((MultiplyOp,), exact(sums.adjacent_products), CPU),
    Entry((MultiplyOp,), exact(sums.product_of_sum), CPU),
    Entry((AddOp,), exact(factored), CPU),
    Entry((AddOp,), sums.consecutive_sums, RELAY, "reassociate"),
    Entry((DivideOp,), arithmetic.divide_by_constant, CPU, "reassociate"),
    Entry(_SUMS, sums.adjacent_sums, CPU, "reassociate"),
    Entry((MultiplyOp,), sums.adjacent_products, CPU, "reassociate"),
    Entry((MultiplyOp,), sums.product_of_sum, CPU, "reassociate"),
    Entry((MatrixProductOp,), sums.scaled_product, CPU, "reassociate"),
    Entry((AddOp,), factored, CPU, "factor_polynomials"),
)
"""All rules; of several that apply to an operator, the first one does."""


@dataclass(frozen=True)
class ApplyRules(RewritePattern):
    """Applies the first rule that holds for an operator."""

    entries: Sequence[Entry]
    rules: dict[type[Operation], list[Rule]] = field(
        default_factory=dict[type[Operation], list[Rule]]
    )
    """The rules of the kinds of operators that were seen so far."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        kind = type(op)
        if kind not in self.rules:
            self.rules[kind] = [each.rule for each in self.entries if issubclass(kind, each.ops)]
        for rule in self.rules[kind]:
            if apply_rule(rule, op, rewriter):
                return


@dataclass(frozen=True)
class SimplifyExprPass(RelayPass):
    """
    Applies algebraic rules until none holds.

    A wrong option raises PassOptionError.
    """

    name = "simplify-expr"

    ignore_signed_zeros: bool = False
    """Let x + 0 be x, which for x = -0 is +0."""
    reassociate: bool = False
    """Combine floating-point constants, which changes when intermediate results overflow."""
    factor_polynomials: bool = False
    """Factor floating-point polynomials of two values, whose terms may overflow or cancel out."""
    rules: str = "relay"
    """`relay` for Relay's rules, `cpu` for more than them."""

    def rewrite(self, op: ModuleOp) -> None:
        require_rules(self.rules)
        options = {
            "": True,
            "ignore_signed_zeros": self.ignore_signed_zeros,
            "reassociate": self.reassociate,
            "factor_polynomials": self.factor_polynomials,
        }
        entries = [each for each in RULES if options[each.option] and self.rules in each.sets]
        PatternWalker(Outside(keeps_body, ApplyRules(entries))).rewrite_module(op)
