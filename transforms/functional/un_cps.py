"""
`un-cps`: functions in continuation-passing style get their signatures back.

    func.func @main[answer](%x: T, %k: fn(R) -> answer) -> answer      func.func @main(%x: T) -> R
                                                                         %k = relay.closure (%r: R) { yield %r }
                                                                ──►      %0 = relay.apply @main_cps(%x, %k)
                                                                         return %0

                                                                       func.func private @main_cps[answer](…) -> answer

The function itself becomes a private one, which others call as before, and a new one gives it the continuation that
returns what it gets. Parameters that are function values stay as they are.

What stays: functions that do not end with a parameter for the continuation, or whose last type parameter is not the type that
it gives; those that return function values, whose type says what continuations give; private functions, which only
others call.

Source: Relay's UnCPS, which puts the function as a literal into the new one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Region

from xrelay.analysis.facts.names import module_symbols, unused_name
from xrelay.analysis.facts.ports import is_public
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import tuple_type
from xrelay.dialects.core.functional import (
    TYPE_PARAMS,
    ApplyOp,
    ClosureOp,
    FnType,
    GlobalVarOp,
    TypeVarType,
    replace_type_vars,
    type_params_of,
)
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp, YieldOp
from xrelay.transforms.functional.to_cps import stays


@dataclass(frozen=True)
class UnCpsPass(RelayPass):
    """Gives functions in continuation-passing style their signatures back."""

    name = "un-cps"

    def rewrite(self, op: ModuleOp) -> None:
        used = module_symbols(op)
        given: dict[func.FuncOp, Sequence[Attribute]] = {}
        for each in op.body.ops:
            if isinstance(each, func.FuncOp) and is_public(each) and not stays(each):
                types = given_to_continuation(each)
                if types is not None:
                    given[each] = types
        renamed: dict[str, str] = {}
        for each in given:
            name = each.sym_name.data
            renamed[name] = unused_name(f"{name}_cps", used)
            used.add(renamed[name])
        for each in walk(op) if given else ():
            match each:
                case GlobalVarOp():
                    name = each.function.string_value()
                    each.function = SymbolRefAttr(renamed.get(name, name))
                case func.CallOp():
                    name = each.callee.string_value()
                    each.callee = SymbolRefAttr(renamed.get(name, name))
                case _:
                    pass
        for each, types in given.items():
            name = each.sym_name.data
            op.body.block.insert_op_before(_direct(each, types, renamed[name]), each)
            each.sym_name = StringAttr(renamed[name])
            each.sym_visibility = StringAttr("private")


def given_to_continuation(function: func.FuncOp) -> Sequence[Attribute] | None:
    """The types of what a function in continuation-passing style gives; None when it is not in that style."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    params = type_params_of(function)
    if not params or not inputs:
        return None
    answer, continuation = TypeVarType(params[-1]), inputs[-1]
    if outputs != (answer,) or not isinstance(continuation, FnType):
        return None
    given = continuation.inputs
    changed = [replace_type_vars(each, {params[-1]: tuple_type([])}) for each in given]
    # Else what is chosen for the answer would have to be a part of itself.
    return given if continuation.output == answer and changed == list(given) else None


def _direct(function: func.FuncOp, given: Sequence[Attribute], name: str) -> func.FuncOp:
    """A function that calls another one, in continuation-passing style, and returns what that gives."""
    params = type_params_of(function)
    answer = given[0] if len(given) == 1 else tuple_type(given)
    chosen = {params[-1]: answer}
    inputs = [replace_type_vars(each, chosen) for each in function.function_type.inputs]
    taken = Block(arg_types=given)
    ends = [] if len(given) == 1 else [TupleOp(taken.args)]
    taken.add_ops([*ends, YieldOp(ends[0].result if ends else taken.args[0])])
    block = Block(arg_types=inputs[:-1])
    for new, old in zip(block.args, function.body.block.args, strict=False):
        new.name_hint = old.name_hint
    continuation = ClosureOp(Region(taken))
    called = GlobalVarOp(name, FnType(inputs, answer))
    call = ApplyOp(called.result, [*block.args, continuation.result], answer)
    block.add_ops([continuation, called, call])
    results = [call.result]
    if ends:
        fields = [TupleGetItemOp(call.result, i) for i in range(len(given))]
        block.add_ops(fields)
        results = [field.result for field in fields]
    block.add_op(func.ReturnOp(*results))
    type_ = FunctionType.from_lists(inputs[:-1], given)
    new = func.FuncOp(function.sym_name.data, type_, Region(block))
    new.attributes.update(function.attributes)
    new.attributes[TYPE_PARAMS] = ArrayAttr(map(StringAttr, params[:-1]))
    if not params[:-1]:
        del new.attributes[TYPE_PARAMS]
    if function.arg_attrs is not None:
        new.arg_attrs = ArrayAttr(function.arg_attrs.data[:-1])
    new.location = function.location
    return new
