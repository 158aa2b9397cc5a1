"""
`fast-math`: functions that may be approximated.

    %0 = relay.tanh %x                  ──►   %0 = relay.fast_tanh %x

`relay.exp`, `relay.erf`, `relay.tanh` and `relay.nn.softmax` become `relay.fast_exp`, `relay.fast_erf`, `relay.fast_tanh`
and `relay.nn.fast_softmax`, in bodies of `relay.fused` and `relay.composite` as well, for backends that have them as
approximations. The interpreter and the code generator of this project compute them as the functions themselves, to the
last bit (docs/numerics.md has the errors): for them the pass changes nothing. Kernels whose strategies are stated stay.

Source: Relay's FastMath, where `fast_exp` clips x to [-88.3762626647949, 88.3762626647950].
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import is_decided
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.nn.norm import FastSoftmaxOp, SoftmaxOp
from xrelay.dialects.tensor.transcendental import FastErfOp, FastExpOp, FastTanhOp
from xrelay.dialects.tensor.unary import ErfOp, ExpOp, TanhOp

FAST: dict[type[Operation], type[Operation]] = {
    ExpOp: FastExpOp,
    ErfOp: FastErfOp,
    TanhOp: FastTanhOp,
    SoftmaxOp: FastSoftmaxOp,
}
"""The operator that may be approximated, for each that has one."""


class UseFastFunction(RewritePattern):
    """Replaces a function by the one that may be approximated."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        fast = FAST.get(type(op))
        if fast is not None:
            new = fast.create(
                operands=op.operands,
                result_types=op.result_types,
                properties=op.properties,
                attributes=op.attributes,
            )
            rewriter.replace(op, new)


@dataclass(frozen=True)
class FastMathPass(RelayPass):
    """Lets backends approximate exp, erf, tanh and softmax."""

    name = "fast-math"

    def rewrite(self, op: ModuleOp) -> None:
        PatternWalker(Outside(is_decided, UseFastFunction())).rewrite_module(op)
