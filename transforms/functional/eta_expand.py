"""
`eta-expand`: constructors and functions of the module that are values become function literals.

    %0 = relay.global_var @f : !relay.fn<(T) -> R>
                        ──►   %0 = relay.closure : !relay.fn<(T) -> R> {
                              ^bb0(%arg: T):
                                %1 = func.call @f(%arg) : (T) -> R
                                relay.yield %1
                              }

What takes function values then meets closures only. What is called stays: the function of a `relay.apply`,
`func.call` and `relay.construct`.

A constructor of a type with parameters becomes a function with type parameters, of which the use takes an instance.

Source: Relay's EtaExpand.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructOp, ConstructorOp, TypeDefOp, constructor_name
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    ClosureOp,
    GlobalVarOp,
    InstantiateOp,
    TypeVarType,
    type_params_of,
)
from xrelay.dialects.core.values import YieldOp


def literal_of(op: GlobalVarOp | ConstructorOp, symbols: Symbols) -> list[Operation]:
    """
    The literal of a function that calls the one which `op` names, or constructs what it does; for a type with
    parameters also its instance, which comes last.
    """
    new = _function(op, symbols) if isinstance(op, GlobalVarOp) else _constructor(op, symbols)
    for each in new:
        each.location = op.location
    return new


def _function(op: GlobalVarOp, symbols: Symbols) -> list[Operation]:
    """The literal of a function that calls the one which `op` names."""
    type_ = op.result.type
    block = Block(arg_types=type_.inputs)
    called = symbols.lookup(op, op.function.string_value())
    assert isinstance(called, func.FuncOp)
    if type_params_of(called) or called.function_type != type_.signature:
        name = op.clone()
        block.add_ops([name, call := ApplyOp(name.result, block.args, type_.output)])
    else:
        block.add_op(call := func.CallOp(op.function, block.args, [type_.output]))
    block.add_op(YieldOp(call.results[0]))
    return [ClosureOp(Region(block))]


def _constructor(op: ConstructorOp, symbols: Symbols) -> list[Operation]:
    """The literal of a function that constructs what `op` does, and for a type with parameters its instance."""
    definition = symbols.lookup(op, op.constructor.root_reference.data)
    assert isinstance(definition, TypeDefOp)
    fields = definition.by_name[constructor_name(op.constructor)].fields
    params = definition.param_names
    value = AdtType(SymbolRefAttr(definition.sym_name), [TypeVarType(each) for each in params])
    block = Block(arg_types=fields.data)
    block.add_op(construct := ConstructOp(op.constructor, block.args, value))
    block.add_op(YieldOp(construct.result))
    closure = ClosureOp(Region(block), type_params=params)
    return [closure, InstantiateOp(closure.result, op.result.type)] if params else [closure]


class ExpandValue(RewritePattern):
    """Replaces uses of a value as an operand, but not what is called."""

    def __init__(self, symbols: Symbols, *, constructors: bool, functions: bool):
        self.symbols = symbols
        self.constructors = constructors
        self.functions = functions

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        is_wanted = self.functions if isinstance(op, GlobalVarOp) else self.constructors
        if not isinstance(op, GlobalVarOp | ConstructorOp) or not is_wanted:
            return
        uses = _as_operands(op.result)
        if not uses:
            return
        new = literal_of(op, self.symbols)
        new[-1].results[0].name_hint = op.result.name_hint
        rewriter.insert(new, InsertPoint.after(op))
        for use in uses:
            use.operation.operands[use.index] = new[-1].results[0]
            rewriter.notify_op_modified(use.operation)
        if not op.result.uses:
            rewriter.erase(op)


def _as_operands(value: SSAValue) -> list[Use]:
    """The uses of a function value other than calls of it."""
    return [use for use in value.uses if use.index != 0 or not isinstance(use.operation, ApplyOp)]


@dataclass(frozen=True)
class EtaExpandPass(RelayPass):
    """Makes function literals of constructors and functions of the module that are used as values."""

    name = "eta-expand"

    expand_constructor: bool = True
    """Constructors."""
    expand_global_var: bool = True
    """Functions of the module."""

    def rewrite(self, op: ModuleOp) -> None:
        pattern = ExpandValue(
            Symbols(), constructors=self.expand_constructor, functions=self.expand_global_var
        )
        PatternWalker(pattern, apply_recursively=False).rewrite_module(op)
