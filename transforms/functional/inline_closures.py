"""
`inline-closures`: calls of function literals become their bodies.

    %f = relay.closure {
    ^bb0(%a: tensor<4xf32>):
      %0 = relay.exp %a               ──►   %0 = relay.exp %y
      relay.yield %0
    }
    %1 = relay.apply %f(%y)                 … %0
    … %1

- The literal is what is called itself, or by a name (`relay.let`). One that nothing uses afterwards goes.
- Literals in the bodies follow, so that functions that take functions are left with tensors, once `inline{calls=true}` has
  brought the functions of the module to their calls.

Leaves alone: literals that call themselves (`recursion-to-loops` comes first), those with type parameters, calls with
other types than those of the parameters, functions for other compilers, and, but for `primitive`, those of
`relay.fused` and `relay.composite`. What a branch or a parameter gives is no literal.

Source: beta reduction, which Relay's PartialEvaluate does along with much else.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, LetOp
from xrelay.transforms.rules.called_bodies import COMPOSITE, keeps_function, named
from xrelay.transforms.rules.inlining import compiler_of


@dataclass
class InlineClosure(RewritePattern):
    """The body of a function literal takes the place of a call."""

    operations: int
    """How many operations may be copied yet."""
    primitive: bool
    """Also of those of `relay.fused` and `relay.composite`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ApplyOp, rewriter: PatternRewriter, /) -> None:
        literal = named(op.function).owner
        if not isinstance(literal, ClosureOp) or not _fits(op, literal):
            return
        if not self.primitive and (keeps_function(literal) or COMPOSITE in literal.attributes):
            return
        names = _only_names(op.function)
        if names is not None:
            ops = [each for each in literal.block.ops]
            for param, value in zip(literal.params, op.args, strict=True):
                param.replace_all_uses_with(value)
            for each in ops:
                each.detach()
        else:
            size = sum(1 for _ in literal.walk())
            if size > self.operations:
                return
            self.operations -= size
            values: dict[SSAValue, SSAValue] = dict(zip(literal.params, op.args, strict=True))
            ops = [each.clone(values) for each in literal.block.ops]
        end = ops.pop()
        (result,) = end.operands
        end.erase()
        rewriter.replace(op, ops, [result])
        for each in names or ():
            rewriter.erase(each)


def _fits(call: ApplyOp, literal: ClosureOp) -> bool:
    """Whether the body of a literal can take the place of a call."""
    if literal.recursive is not None or literal.type_params is not None:
        return False
    if compiler_of(literal) is not None:
        return False
    given, expected = ([value.type for value in values] for values in (call.args, literal.params))
    return given == expected and call.result.type == literal.yielded.type


def _only_names(function: SSAValue) -> list[Operation] | None:
    """The operations from the name that is called to the literal, if nothing but the call uses them."""
    found: list[Operation] = []
    while function.has_one_use():
        op = function.owner
        assert isinstance(op, LetOp | ClosureOp)
        found.append(op)
        if isinstance(op, ClosureOp):
            return found
        function = op.value
    return None


@dataclass(frozen=True)
class InlineClosuresPass(RelayPass):
    """Puts the bodies of function literals in the place of their calls."""

    name = "inline-closures"

    primitive: bool = False
    """Whether the functions of `relay.fused` and `relay.composite` are literals like others."""
    max_operations: int = 100_000
    """Once this many operations were copied, calls of literals that are called elsewhere too stay."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(0, max_operations=self.max_operations)
        PatternWalker(InlineClosure(self.max_operations, self.primitive)).rewrite_module(op)
