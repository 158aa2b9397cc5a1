"""
`to-basic-block-normal-form`: what several scopes use has a name in the scope around them.

    %0 = relay.exp %x                             %0 = relay.exp %x
    %1 = scf.if %c {                              %a = relay.let %0
      %2 = relay.add %0, %0             ──►       %1 = scf.if %c {
      scf.yield %2                                  %2 = relay.add %a, %a
    } else {                                        scf.yield %2
      scf.yield %0                                } else {
    }                                               scf.yield %a
                                                  }

A value in SSA form is computed where it stands, so that the program means the same without the names. In Relay text a
value without a name is an expression at each of its uses, and only a `let` says that branches share it.

On which device such a value is follows from what is around its first use, a `relay.on_device` or a function with a
`virtual_device`; the name says so:

    %0 = relay.exp %x                                  %0 = relay.exp %x
    %1 = scf.if %c {                                   %1 = relay.on_device %0 {gpu, fixed}
      %2 = relay.on_device %0 {gpu, fixed}    ──►      %a = relay.let %1
      …                                                %2 = scf.if %c {
                                                         %3 = relay.on_device %a {gpu, fixed}
                                                         …

A value that has a name and gets another one before it is used is known by the last: behind `%y = relay.let %x`, uses of
`%x` are of `%y`. Operations of such a function stand in the order in which Relay visits them.

What stays: values that one scope uses; values with a name; `relay.fused`, `relay.composite` and functions for other
compilers.

Source: Relay's ToBasicBlockNormalForm.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.scopes import UNFUSED_FUNCTIONS, Within, functions_without, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructorOp
from xrelay.dialects.core.device import VirtualDeviceAttr
from xrelay.dialects.core.functional import GlobalVarOp, LetOp
from xrelay.transforms.rules.functional.devices import on_device_of, surrounding_devices
from xrelay.transforms.rules.functional.evaluation_order import EvaluationOrder

NAMES = (ConstructorOp, GlobalVarOp, LetOp)
"""Operations whose results are names."""


def crosses_scopes(result: OpResult, scope: Block) -> bool:
    """Whether operations of other blocks, of at least two, use a result, and none of its own block before them."""
    users = [use.operation.parent for use in result.uses]
    return len(set(users)) > 1 and scope not in users


def operations_within(function: func.FuncOp) -> list[Operation]:
    """The operations in a function that the pass looks at, each before those in its regions."""
    is_kept = Within(keeps_body)
    return [op for op in walk(function.body) if not is_kept(op)]


def bind_shared(op: Operation, devices: dict[Operation, VirtualDeviceAttr]) -> None:
    """Gives the results of an operation names that several scopes use."""
    assert op.parent is not None
    for result in op.results:
        if not crosses_scopes(result, op.parent):
            continue
        uses = tuple(result.uses)
        value = on_device_of(result, devices, InsertPoint.after(op))
        let = LetOp(value)
        let.result.name_hint = result.name_hint
        after = value.owner
        assert isinstance(after, Operation)
        Rewriter.insert_op(let, InsertPoint.after(after))
        for use in uses:
            use.operation.operands[use.index] = let.result


def is_second_name(op: Operation) -> bool:
    """Whether an operation binds what has a name."""
    return isinstance(op, LetOp) and isinstance(op.value.owner, Block | LetOp)


def use_last_names(ops: Sequence[Operation]) -> None:
    """Uses of a name that are behind another `let` of it become uses of that, if none is in front of it."""
    place = {op: i for i, op in enumerate(ops)}
    used: set[SSAValue] = set()

    def is_behind(op: Operation, let: LetOp) -> bool:
        assert let.parent is not None
        around = let.parent.find_ancestor_op_in_block(op)
        return around is not None and place[around] > place[let]

    for op in ops:
        if isinstance(op, LetOp) and is_second_name(op) and op.value not in used:
            op.value.replace_uses_with_if(
                op.result, lambda use, let=op: is_behind(use.operation, let)
            )
        used.update(op.operands)


def put_last_names(function: func.FuncOp, order: EvaluationOrder) -> None:
    """Puts a function that has second names in order, and uses them."""
    if any(map(is_second_name, operations_within(function))):
        order.put()
        use_last_names(operations_within(function))


@dataclass(frozen=True)
class ToBasicBlockNormalFormPass(RelayPass):
    """Binds what several scopes share to a name."""

    name = "to-basic-block-normal-form"

    def rewrite(self, op: ModuleOp) -> None:
        effects = Effects()
        for function in functions_without(op, UNFUSED_FUNCTIONS):
            order = EvaluationOrder.of_function(function, effects)
            devices = surrounding_devices(order)
            put_last_names(function, order)
            for each in operations_within(function):
                if not isinstance(each, NAMES):
                    bind_shared(each, devices)
            # What is bound now may have had a name in a scope, which is its second one; and names are put in order.
            put_last_names(function, EvaluationOrder.of_function(function, effects))
