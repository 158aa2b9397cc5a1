"""
`to-a-normal-form`: a name for every value.

    %0 = relay.constant 2               %0 = relay.constant 2
    %1 = relay.multiply %x, %0    ──►   %a = relay.let %0
    return %1                           %1 = relay.multiply %x, %a
                                        %b = relay.let %1
                                        return %b

Each result that something uses is bound by `relay.let` where it is computed: in Relay text each operand is then a
variable, and the order of evaluation is the order of the lets. That is the order in which Relay gives names, wherever
in their blocks they stood: from the result on, operands first, each once, a function behind the arguments of its call, what
is written before the reference, and the condition of a branch behind the branches. Effects keep their order. Values in SSA
form are computed in the innermost scope around their uses already, which is the scope that Relay binds them in.

Functions are values as well: `relay.fused` and `relay.composite` become a `relay.closure`, which has a name, and a
`relay.apply` of that name. The body of the first stays as it is, as do functions for other compilers.

In a program with devices each `let` says on which one it is, as `plan-devices` states it:

    %0 = relay.add %x, %y                    %0 = relay.add %x, %y
    %1 = relay.on_device %0 {gpu, fixed}     %1 = relay.on_device %0 {gpu, fixed}
    %2 = relay.exp %1                ──►     %a = relay.let %1
    return %2                                %2 = relay.on_device %a {gpu, fixed}
                                             %3 = relay.exp %2
                                             %b = relay.let %3
                                             return %b

A `relay.on_device` that constrains its body and its result stays around the name of its body, and holds for the values that
it is the first to lead to, a function's `virtual_device` for those in the function; names, functions and constructors need none.

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

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.scopes import UNFUSED_FUNCTIONS, Within, functions_without
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructorOp
from xrelay.dialects.core.device import OnDeviceOp
from xrelay.dialects.core.functional import GlobalVarOp, LetOp
from xrelay.dialects.core.values import CompositeOp, FusedOp
from xrelay.transforms.rules.called_bodies import call_by_value, keeps_function
from xrelay.transforms.rules.functional.devices import (
    is_fixed,
    names_behind,
    needs_device,
    on_device_of,
    surrounding_devices,
)
from xrelay.transforms.rules.functional.evaluation_order import EvaluationOrder

ATOMS = (ConstructorOp, GlobalVarOp, LetOp, tensor.ExtractOp)
"""Operations that are names of something, and the one that makes the condition of a branch of a tensor."""


def is_atom(op: Operation) -> bool:
    """Whether what an operation gives needs no name: `relay.on_device` of a name is one."""
    return isinstance(op, ATOMS) or is_fixed(op)


class _Scope:
    """A block whose operations are being named."""

    def __init__(self, block: Block):
        self.block = block
        self.ops: Iterator[Operation] = iter(tuple(block.ops))
        self.lets = 0
        """The `let`s that the block had."""
        self.named: list[SSAValue] = []
        """The values that have got a name in this scope."""


class Names:
    """Names for all values of a function, given while its operations are visited in the original's order."""

    def __init__(self, function: func.FuncOp, effects: Effects):
        self.function = function
        self.effects = effects
        self.order = EvaluationOrder.of_function(function, effects)
        self.devices = surrounding_devices(self.order)
        self.of: dict[SSAValue, SSAValue] = {}
        """By what name values are known in the scopes that are open."""
        self.stated: set[Operation] = set()
        """What says of a value that it names, and of no name, on which device that is."""
        self.scopes: list[_Scope] = []

    def are_given(self) -> bool:
        """Whether all values of the function that something uses have names."""
        is_kept = Within(keeps_function)
        return all(
            is_kept(op) or (not isinstance(op, FusedOp | CompositeOp) and self._is_named(op))
            for op in walk(self.function.body)
        )

    def _is_named(self, op: Operation) -> bool:
        """Whether only the `let`s behind an operation use what it gives, on the device around it."""
        if isinstance(op, OnDeviceOp) and is_fixed(op):
            stated = op.body.owner
            return isinstance(stated, Block) or is_atom(stated) or op.result.has_one_use()
        if is_atom(op):
            return True
        lets = names_behind(op)
        if any(lets[each].value is each and needs_device(each, self.devices) for each in lets):
            return False
        return all(
            each in lets and use.operation in (lets[each], lets[each].value.owner)
            for each in op.results
            for use in each.uses
        )

    def give(self) -> None:
        """Names what the function computes."""
        self.order.put()
        self._enter(self.function)
        while self.scopes:
            scope = self.scopes[-1]
            op = next(scope.ops, None)
            if op is None:
                self._leave()
            else:
                self._visit_operation(op)

    def _enter(self, op: Operation) -> None:
        self.scopes.extend(map(_Scope, reversed(list(blocks_in(op)))))

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
        ops: tuple[Operation, ...] = (op,)
        if isinstance(op, FusedOp | CompositeOp):
            device = self.devices[op]
            if isinstance(op, CompositeOp):
                order = EvaluationOrder.of_function(op, self.effects)
                self.devices.update(surrounding_devices(order, device))
                order.put()
            ops = call_by_value(op)
            self.devices.update(dict.fromkeys(ops, device))
        for each in ops:
            self._visit_values(each)
        for each in ops:
            if not keeps_function(each):
                self._enter(each)

    def _visit_values(self, op: Operation) -> None:
        if op in self.stated:
            return
        if isinstance(op, LetOp):
            self.scopes[-1].lets += 1
            if op.value not in self.of:
                self._name(op.value, op.result)
                return
        for i, operand in enumerate(op.operands):
            self._name(operand, operand)
            op.operands[i] = self.of[operand]
        if not is_atom(op):
            self._bind(op)

    def _bind(self, op: Operation) -> None:
        """Gives the results of an operation names, which stand in their order behind those that they have."""
        lets = names_behind(op)
        last = op if not lets else [*lets.values()][-1]
        for result in op.results:
            let = lets.get(result)
            if let is not None:
                if let.value is result:
                    place = InsertPoint.before(let)
                    let.operands[0] = on_device_of(result, self.devices, place)
                if let.value is not result:
                    assert isinstance(let.value.owner, Operation)
                    self.stated.add(let.value.owner)
                    self._name(result, let.result)
            elif result.uses:
                let = LetOp(on_device_of(result, self.devices, InsertPoint.after(last)))
                let.result.name_hint = result.name_hint
                after = last if let.value is result else let.value.owner
                assert isinstance(after, Operation)
                Rewriter.insert_op(let, InsertPoint.after(after))
                self._name(result, let.result)
                last = let


@dataclass(frozen=True)
class ToANormalFormPass(RelayPass):
    """Binds every value to a name."""

    name = "to-a-normal-form"

    def rewrite(self, op: ModuleOp) -> None:
        effects = Effects()
        for function in functions_without(op, UNFUSED_FUNCTIONS):
            names = Names(function, effects)
            if not names.are_given():
                names.give()
