"""
`lambda-lift`: function literals become functions of the module.

    %f = relay.closure {                          %f = func.call @lifted_name0(%y)
    ^bb0(%x: tensor<f32>):                        …
      %0 = relay.add %x, %y            ──►      func.func private @lifted_name0(%y) -> !relay.fn<…> attributes {Closure = 1} {
      relay.yield %0                              %f = relay.closure {
    }                                             ^bb0(%x: tensor<f32>):
                                                    %0 = relay.add %x, %y
                                                    relay.yield %0
                                                  }
                                                  return %f
                                                }

- A literal that uses nothing from outside is the function itself: calls of it call that, other uses have its value
  (`relay.global_var`).
- One that does is what a function with the attribute `Closure` gives, which takes what it uses as parameters: the one
  literal that is left there is code with its environment.
- A literal that calls itself calls the function, with the same environment.
- Type parameters of the function around become those of the new one. A literal with type parameters of its own is
  taken as one that uses something, as the value of a function of the module has no type parameters.

Leaves alone: functions for other compilers, the functions of `relay.fused`, what functions with `Closure` return.

Source: Relay's LambdaLift, which numbers the functions by hashes and unites equal ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.names import fresh_names
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, functions_without, has_flag
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import (
    TYPE_PARAMS,
    ApplyOp,
    ClosureOp,
    FnType,
    GlobalVarOp,
    TypeVarType,
    types_inside,
    values_from_outside,
)
from xrelay.transforms.rules.called_bodies import keeps_function
from xrelay.transforms.rules.functional.bodies import with_code_of
from xrelay.transforms.rules.operands import exchange_operands

CLOSURE = "Closure"
"""The attribute of a function that returns a literal with its environment."""


@dataclass(frozen=True)
class LambdaLiftPass(RelayPass):
    """Makes functions of the module of function literals."""

    name = "lambda-lift"

    def rewrite(self, op: ModuleOp) -> None:
        names = fresh_names("lifted_name", op)
        for function in functions_without(op, SKIPPED_FUNCTIONS):
            # Those within others first: what is left of them are calls.
            for each in list(walk(function, region_first=True)):
                if isinstance(each, ClosureOp) and not _stays(each, function):
                    op.body.block.add_op(lift(each, next(names)))


def _stays(closure: ClosureOp, function: func.FuncOp) -> bool:
    """Whether a literal is no code of its own, or was lifted before."""
    if keeps_function(closure):
        return True
    returned = [use.operation for use in closure.result.uses]
    return has_flag(function, (CLOSURE,)) and any(
        isinstance(user, func.ReturnOp) and user.parent_op() is function for user in returned
    )


def lift(closure: ClosureOp, name: str) -> func.FuncOp:
    """The function that stands for a literal, which is replaced by it or by a call of it."""
    outside = values_from_outside(closure)
    type_vars = _free_type_vars(closure)
    if outside or type_vars or closure.type_params:
        return _lift_with_environment(closure, name, outside, type_vars)
    for value in (closure.result, *closure.block.args[: 1 if closure.recursive else 0]):
        for use in tuple(value.uses):
            _use_function(use.operation, use.index, name)
    if closure.recursive:
        closure.block.erase_arg(closure.block.args[0])
    function = with_code_of(closure, name)
    Rewriter.erase_op(closure)
    return function


def _use_function(user: Operation, index: int, name: str) -> None:
    """Puts a function of the module in the place of an operand that is a function value."""
    if isinstance(user, ApplyOp) and index == 0:
        call = func.CallOp(name, user.args, [user.result.type])
        call.location = user.location
        Rewriter.replace_op(user, call)
        return
    value = GlobalVarOp(name, user.operands[index].type)
    Rewriter.insert_op(value, InsertPoint.before(user))
    user.operands[index] = value.result


def _lift_with_environment(
    closure: ClosureOp, name: str, outside: Sequence[SSAValue], type_vars: Sequence[str]
) -> func.FuncOp:
    type_ = FnType([value.type for value in outside], closure.result.type)
    made = _call(name, outside, type_, type_vars)
    Rewriter.insert_op(made, InsertPoint.before(closure))
    closure.result.replace_all_uses_with(made[-1].results[0])
    made[-1].results[0].name_hint = closure.result.name_hint
    block = Block(arg_types=type_.inputs)
    for arg, value in zip(block.args, outside, strict=True):
        arg.name_hint = value.name_hint
    exchange_operands(walk(closure), dict(zip(outside, block.args, strict=True)))
    if closure.recursive:
        itself = closure.block.args[0]
        for use in tuple(itself.uses):
            again = _call(name, block.args, type_, type_vars)
            Rewriter.insert_op(again, InsertPoint.before(use.operation))
            use.operation.operands[use.index] = again[-1].results[0]
        closure.block.erase_arg(itself)
        del closure.properties["recursive"]
    closure.detach()
    block.add_ops([closure, func.ReturnOp(closure.result)])
    function = func.FuncOp(name, type_.signature, Region(block), visibility="private")
    function.attributes[CLOSURE] = IntegerAttr(1, i32)
    if type_vars:
        function.attributes[TYPE_PARAMS] = ArrayAttr(map(StringAttr, type_vars))
    function.location = closure.location
    return function


def _call(
    name: str, args: Sequence[SSAValue], type_: FnType, type_vars: Sequence[str]
) -> list[Operation]:
    """A call of a function of the module, by its value where it has type parameters."""
    if not type_vars:
        return [func.CallOp(name, args, [type_.output])]
    function = GlobalVarOp(name, type_)
    return [function, ApplyOp(function.result, args, type_.output)]


def _free_type_vars(closure: ClosureOp) -> list[str]:
    """The type parameters of functions around a literal that types in it name, in order."""
    found: dict[str, None] = {}
    bound: set[str] = set()
    for op in walk(closure):
        types = [result.type for result in op.results]
        types += [arg.type for block in blocks_in(op) for arg in block.args]
        inside = (each for each in types_inside(types) if isinstance(each, TypeVarType))
        found.update(dict.fromkeys(each.variable.data for each in inside))
        if isinstance(op, ClosureOp):
            bound.update(name.data for name in op.type_params or ())
    return [name for name in found if name not in bound]
