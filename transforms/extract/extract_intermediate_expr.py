"""
`extract-intermediate-expr`: the program up to one of its operations.

    func.func @main(%x: T, %y: T) -> R           func.func @main(%x: T) -> S
      %0 = relay.exp %x                            %0 = relay.exp %x
      %1 = relay.tanh %0                  ──►      %1 = relay.tanh %0
      %2 = relay.add %1, %y                        return %1
      return %2                                        (expr-id=1)

Operations of the entry function count from 0, in the order of the program and as Relay text numbers them: constants,
names (`relay.let`) and operations within others do not. What the operation does not need goes, but for what has
effects before it, and so do parameters and functions that nothing uses then.

Source: Relay's ExtractIntermediateExpr.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.transforms.remove_unused_functions import RemoveUnusedFunctionsPass


@dataclass(frozen=True)
class ExtractIntermediateExprPass(RelayPass):
    """
    Returns the result of one operation.

    A number that no operation has raises PassOptionError.
    """

    name = "extract-intermediate-expr"

    expr_id: int = 0
    """The number of the operation."""

    def rewrite(self, op: ModuleOp) -> None:
        function = entry_function(op)
        name = function.sym_name.data
        chosen = numbered(function)
        if not 0 <= self.expr_id < len(chosen):
            raise PassOptionError(
                f"'expr-id' is {self.expr_id}, @{name} has {len(chosen)} expressions, counted from 0"
            )
        _end_with(function, chosen[self.expr_id])
        RemoveUnusedFunctionsPass((name,)).rewrite(op)


def numbered(function: func.FuncOp) -> list[Operation]:
    """The operations of a function that can be extracted, in the order of their numbers."""
    return [
        op
        for op in function.body.blocks[0].ops
        if len(op.results) == 1 and not isinstance(op, ConstantOp | LetOp)
    ]


def _end_with(function: func.FuncOp, chosen: Operation) -> None:
    """A function returns the result of one of its operations, and does what that needs."""
    block = chosen.parent
    assert block is not None
    while block.last_op is not chosen:
        assert block.last_op is not None
        Rewriter.erase_op(block.last_op)
    for op in reversed(tuple(block.ops)):
        unused = not any(result.uses for result in op.results)
        if op is not chosen and unused and is_side_effect_free(op):
            Rewriter.erase_op(op)
    block.add_op(func.ReturnOp(chosen.results[0]))
    kept = [i for i, each in enumerate(block.args) if each.uses]
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr([function.arg_attrs.data[i] for i in kept])
    for each in tuple(block.args):
        if not each.uses:
            block.erase_arg(each)
    function.properties.pop("res_attrs", None)
    function.function_type = FunctionType.from_lists(block.arg_types, chosen.result_types)
