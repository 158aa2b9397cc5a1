"""
`to-a-normal-form`: a name for every value.

    %0 = relay.constant 2               %0 = relay.constant 2
    %1 = relay.multiply %x, %0    ──►   %a = relay.let %0
    return %1                           %1 = relay.multiply %x, %a
                                        %b = relay.let %1
                                        return %b

Each result that something uses is bound by `relay.let` where it is computed: in Relay text each operand is then a
variable, and the order of evaluation is the order of the lets. That is the order in which Relay visits expressions, wherever
in their blocks they stood: from the result on, operands first, each once. Values in SSA form are computed in the innermost scope
around their uses already, which is the scope that Relay binds them in.

Functions are values as well: `relay.fused` and `relay.composite` become a `relay.closure`, which has a name, and a
`relay.apply` of that name. The body of the first stays as it is, as do functions for other compilers.

Results that a `let` of the program binds keep its name. As in Relay,
the rest of a scope behind a `let` is an expression that gets a name, so that a scope with n of them ends in n more
(`to-graph-normal-form` removes all of them); a function whose values all have names stays as it is. Functions of the
module and constructors are names already.

Source: Relay's ToANormalForm.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.dependencies import Dependencies
from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.scopes import Within, belongs_to_backend
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructorOp
from xrelay.dialects.core.functional import GlobalVarOp, LetOp
from xrelay.dialects.core.values import CompositeOp, FusedOp
from xrelay.transforms.rules.called_bodies import call_by_value, keeps_function

ATOMS = (ConstructorOp, GlobalVarOp, LetOp, tensor.ExtractOp)
"""Operations that are names of something, and the one that makes the condition of a branch of a tensor."""


class _Scope:
    """A block whose operations are being named."""

    def __init__(self, block: Block):
        self.block = block
        self.ops: Iterator[Operation] = iter(tuple(block.ops))
        self.lets = 0
        """The `let`s that the block had."""
        self.named: list[SSAValue] = []
        """The values that have got a name in this scope."""


def put_in_order(function: func.FuncOp | CompositeOp, effects: Effects) -> None:
    """Puts the operations of each block of a function in the order in which Relay visits expressions."""
    for op in Dependencies.of_function(function, effects).visited():
        block = op.parent
        assert block is not None
        last = block.last_op
        if last is not None and op is not last:
            op.detach()
            block.insert_op_before(op, last)


def is_normal(function: func.FuncOp) -> bool:
    """Whether all values of a function that something uses have names."""
    is_kept = Within(keeps_function)
    return all(
        is_kept(op) or (not isinstance(op, FusedOp | CompositeOp) and _is_named(op))
        for op in walk(function.body)
    )


def _is_named(op: Operation) -> bool:
    """Whether only the `let`s behind an operation use what it gives."""
    if isinstance(op, ATOMS):
        return True
    lets = _lets_behind(op)
    return all(use.operation is lets.get(each) for each in op.results for use in each.uses)


def _lets_behind(op: Operation) -> dict[SSAValue, LetOp]:
    """The `let`s that follow an operation and bind its results, one for each."""
    found: dict[SSAValue, LetOp] = {}
    following = op.next_op
    while (
        isinstance(following, LetOp)
        and following.value.owner is op
        and following.value not in found
    ):
        found[following.value] = following
        following = following.next_op
    return found


class Names:
    """Names for all values, given while the operations of a function are visited in Relay's order."""

    def __init__(self, effects: Effects):
        self.effects = effects
        self.of: dict[SSAValue, SSAValue] = {}
        """By what name values are known in the scopes that are open."""
        self.scopes: list[_Scope] = []

    def visit(self, function: func.FuncOp) -> None:
        """Names what a function computes."""
        put_in_order(function, self.effects)
        self._enter(function)
        while self.scopes:
            scope = self.scopes[-1]
            op = next(scope.ops, None)
            if op is None:
                self._leave()
            else:
                self._visit_operation(op)

    def _enter(self, op: Operation) -> None:
        blocks = [block for region in op.regions for block in region.blocks]
        self.scopes.extend(map(_Scope, reversed(blocks)))

    def _leave(self) -> None:
        scope = self.scopes.pop()
        for value in scope.named:
            del self.of[value]
        last = scope.block.last_op
        if last is not None and len(last.operands) == 1:
            for _ in range(scope.lets):
                let = LetOp(last.operands[0])
                Rewriter.insert_op(let, InsertPoint.before(last))
                last.operands[0] = let.result

    def _name(self, value: SSAValue, name: SSAValue) -> None:
        if value not in self.of:
            self.of[value] = name
            self.scopes[-1].named.append(value)

    def _visit_operation(self, op: Operation) -> None:
        if isinstance(op, CompositeOp):
            put_in_order(op, self.effects)
        ops = call_by_value(op) if isinstance(op, FusedOp | CompositeOp) else (op,)
        for each in ops:
            self._visit_values(each)
        for each in ops:
            if not keeps_function(each):
                self._enter(each)

    def _visit_values(self, op: Operation) -> None:
        if isinstance(op, LetOp):
            self.scopes[-1].lets += 1
            if op.value not in self.of:
                self._name(op.value, op.result)
                return
        for i, operand in enumerate(op.operands):
            self._name(operand, operand)
            op.operands[i] = self.of[operand]
        if not isinstance(op, ATOMS):
            self._bind(op)

    def _bind(self, op: Operation) -> None:
        """Gives the results of an operation names, which stand in their order behind those that they have."""
        lets = _lets_behind(op)
        last = op if not lets else [*lets.values()][-1]
        for result in op.results:
            if result.uses and result not in lets:
                let = LetOp(result)
                let.result.name_hint = result.name_hint
                Rewriter.insert_op(let, InsertPoint.after(last))
                self._name(result, let.result)
                last = let


@dataclass(frozen=True)
class ToANormalFormPass(RelayPass):
    """Binds every value to a name."""

    name = "to-a-normal-form"

    def rewrite(self, op: ModuleOp) -> None:
        effects = Effects()
        for function in op.body.ops:
            if not isinstance(function, func.FuncOp) or belongs_to_backend(function):
                continue
            if not is_normal(function):
                Names(effects).visit(function)
