"""
`outline-closures`: function literals that are only called become functions of the module.

    %f = relay.closure attributes {recursive} {          func.func private @closure0(%n, %x, %y) {
    ^bb0(%f: !relay.fn<…>, %n, %x):                        …
      …                                          ──►       %2 = func.call @closure0(%m, %2, %y)
      %2 = relay.apply %f(%m, %1)                          …
      … %y …                                             }
    }
    %3 = relay.apply %f(%a, %b)                          %3 = func.call @closure0(%a, %b, %y)

What a literal uses from outside are further parameters of the function, so that no function value is left: the code
generator takes calls of functions. `recursion-to-loops` and `inline-closures` before it leave it literals that call
themselves elsewhere than last.

Leaves alone: literals that are used otherwise than in calls of their own types, which `lambda-lift` lifts with their
environment, those that use function values from outside, type parameters, functions for other compilers, and those of
`relay.fused` and `relay.composite`.

Source: T. Johnsson, Lambda lifting: transforming programs to recursive equations, 1985.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.names import fresh_names
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, functions_without
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import (
    ApplyOp,
    ClosureOp,
    FnType,
    LetOp,
    TypeVarType,
    type_params_of,
    types_inside,
    values_from_outside,
)
from xrelay.transforms.rules.called_bodies import COMPOSITE, keeps_function
from xrelay.transforms.rules.functional.bodies import with_code_of
from xrelay.transforms.rules.inlining import compiler_of
from xrelay.transforms.rules.operands import exchange_operands


@dataclass(frozen=True)
class OutlineClosuresPass(RelayPass):
    """Makes functions of the module of literals that are only called."""

    name = "outline-closures"

    def rewrite(self, op: ModuleOp) -> None:
        names = fresh_names("closure", op)
        for function in functions_without(op, SKIPPED_FUNCTIONS):
            if type_params_of(function):
                continue
            # Those around others first: what they use of these are calls of functions then.
            for each in list(walk(function)):
                if isinstance(each, ClosureOp) and not _stays(each):
                    calls, lets = _uses(each)
                    if calls:
                        op.body.block.add_op(_outlined(each, calls, lets, next(names)))


def _stays(literal: ClosureOp) -> bool:
    """Whether a literal is for somebody else, or polymorphic."""
    return (
        literal.type_params is not None
        or keeps_function(literal)
        or COMPOSITE in literal.attributes
        or compiler_of(literal) is not None
        or any(
            isinstance(each, FnType | TypeVarType)
            for each in types_inside(value.type for value in values_from_outside(literal))
        )
    )


def _uses(literal: ClosureOp) -> tuple[list[ApplyOp], list[LetOp]]:
    """
    The calls of a literal, and what names it, names of names behind these; no calls where it is used otherwise,
    too.
    """
    calls: list[ApplyOp] = []
    names: list[LetOp] = []
    values: list[SSAValue] = [literal.result]
    if literal.recursive is not None:
        values.append(literal.block.args[0])
    expected = [param.type for param in literal.params]
    for value in values:
        for use in value.uses:
            op = use.operation
            if isinstance(op, LetOp):
                names.append(op)
                values.append(op.result)
                continue
            if not isinstance(op, ApplyOp) or use.index != 0:
                return [], []
            if [arg.type for arg in op.args] != expected or op.result.type != literal.yielded.type:
                return [], []
            calls.append(op)
    return calls, names


def _outlined(
    literal: ClosureOp, calls: Sequence[ApplyOp], names: Sequence[LetOp], name: str
) -> func.FuncOp:
    """The function that a literal becomes, with calls of it in the place of those of the literal."""
    outside = values_from_outside(literal)
    block = literal.block
    itself = None if literal.recursive is None else block.args[0]
    params = [block.insert_arg(value.type, len(block.args)) for value in outside]
    for param, value in zip(params, outside, strict=True):
        param.name_hint = value.name_hint
    inside = dict.fromkeys(walk(literal))
    exchange_operands(inside, dict(zip(outside, params, strict=True)))
    for call in calls:
        taken = params if call in inside else outside
        new = func.CallOp(name, [*call.args, *taken], [call.result.type])
        new.location = call.location
        Rewriter.replace_op(call, new)
    for each in reversed(names):
        Rewriter.erase_op(each)
    if itself is not None:
        block.erase_arg(itself)
    function = with_code_of(literal, name)
    Rewriter.erase_op(literal)
    return function
