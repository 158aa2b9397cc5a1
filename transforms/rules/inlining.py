"""What the passes that put functions in the place of their calls share."""

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.call_graph import symbols_used
from xrelay.dialects.core.functional import ClosureOp, type_params_of
from xrelay.dialects.core.values import YieldOp


def compiler_of(op: Operation) -> str | None:
    """The compiler that a function is for, None when it is for nobody else."""
    compiler = op.attributes.get("Compiler")
    return compiler.data if isinstance(compiler, StringAttr) else None


def copied_body(
    function: func.FuncOp, arguments: dict[SSAValue, SSAValue]
) -> tuple[list[Operation], list[SSAValue]]:
    """The operations of a function's body with arguments for parameters, and what it returns."""
    *body, end = function.body.block.ops
    mapping = dict(arguments)
    ops = [op.clone(mapping) for op in body]
    return ops, [mapping.get(value, value) for value in end.operands]


def inline_call(
    call: func.CallOp, function: func.FuncOp, rewriter: PatternRewriter
) -> list[Operation]:
    """Puts the body of a function in the place of a call. Returns its operations."""
    params = function.body.block.args
    ops, returned = copied_body(function, dict(zip(params, call.arguments, strict=True)))
    rewriter.replace(call, ops, returned)
    return ops


def closure_of(function: func.FuncOp) -> ClosureOp:
    """A function of the module as a value, with its attributes."""
    params = function.body.block.args
    block = Block(arg_types=[param.type for param in params])
    for new, old in zip(block.args, params, strict=True):
        new.name_hint = old.name_hint
    ops, (returned,) = copied_body(function, dict(zip(params, block.args, strict=True)))
    block.add_ops([*ops, YieldOp(returned)])
    closure = ClosureOp(Region(block), type_params=type_params_of(function))
    closure.location = function.location
    closure.attributes.update(function.attributes)
    return closure


def erase_unused_functions(module: ModuleOp, functions: Mapping[str, func.FuncOp]) -> None:
    """Erases those of the functions, given with their names, that nothing in the module uses."""
    used: set[str] = set()
    for op in module.body.block.ops:
        used.update(symbols_used(op))
    for name, function in functions.items():
        if name not in used:
            Rewriter.erase_op(function)
