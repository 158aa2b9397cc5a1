"""
`to-tail-calls`: functions that call themselves and go on do so last, and hand over what is to follow.

    func.func @map(%l) {                               func.func @map[answer](%l, %k: fn(List) -> answer) {
      %0 = relay.match %l [@Cons(%h, %t), @Nil()] {      %0 = relay.match %l [@Cons(%h, %t), @Nil()] {
        %1 = func.call @map(%t)                            %c = relay.closure (%1) {
        %2 = relay.construct @Cons(%h, %1)      ──►          %2 = relay.construct @Cons(%h, %1)
        yield %2                                             yield %k(%2)
      } {                                                  }
        …                                                  yield @map(%t, %c)
                                                         } {
                                                           … yield %k(…)

- Functions that call each other, of which one goes on after a call, are converted together, and nothing else: in
  them branches and matches that lead to such calls, as in `to-cps`; others call them with a function that gives back what it is given.
- Only where values of data types are used, or tensors of unknown dimensions: others can call themselves in machine code, which has a stack.
  `data-types-to-tensors` makes one of the functions that are handed over.

Leaves alone: functions that use functions as values or have type parameters (`defunctionalization` comes first), or several results, calls within
loops, entries that are called.

Source: continuations, J. Reynolds, Definitional interpreters for higher-order programming languages, 1972.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.call_graph import CallGraph, callee
from xrelay.analysis.facts.program_size import types_of
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import MatchOp
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    ClosureOp,
    FnType,
    GlobalVarOp,
    type_params_of,
    types_inside,
)
from xrelay.dialects.core.values import YieldOp
from xrelay.dialects.shapes import is_dynamic, is_tensor_type
from xrelay.transforms.functional.to_cps import Conversion, stays
from xrelay.transforms.rules.tail_calls import last_operations


@dataclass(frozen=True)
class ToTailCallsPass(RelayPass):
    """Lets functions that call themselves do so last."""

    name = "to-tail-calls"

    entry_functions: tuple[str, ...] = ("main",)
    """The functions that are called from outside."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        graph.require(self.entry_functions)
        circles = graph.circles()
        found = {name for group in circles for name in group}
        own = [[name] for name, used in graph.uses.items() if name in used and name not in found]
        chosen = [
            name for names in (*own, *circles) if self._goes_on(graph, names) for name in names
        ]
        group = {name: graph.functions[name] for name in _between(graph, chosen)}
        around = _around(group)
        if group.keys().isdisjoint(self.entry_functions) and around is not None:
            for function in group.values():
                Conversion(function, group, around).run()
            _call_from_outside(op, group)

    def _goes_on(self, graph: CallGraph, names: Sequence[str]) -> bool:
        """Whether some functions that call each other can be converted, and one goes on after such a call."""
        group = {name: graph.functions[name] for name in names}
        if not group.keys().isdisjoint(self.entry_functions):
            return False
        if any(map(_is_other, group.values())) or not _has_data(group.values()):
            return False
        last = (
            each
            for function in group.values()
            for _, each in last_operations(function.body.block, (scf.IfOp, MatchOp))
        )
        calls = (each for function in group.values() for each in walk(function))
        inside = {each for each in calls if callee(each) in group}
        return not inside <= set(last) and _around(group) is not None


def _between(graph: CallGraph, names: Sequence[str]) -> list[str]:
    """
    Some functions, and those that they call and that call them, by way of others: what is handed over by one may be
    called by another.
    """
    callers, called = graph.reachable(names, users=True), graph.reachable(names)
    return [name for name in graph.functions if name in callers and name in called]


def _is_other(function: func.FuncOp) -> bool:
    """Whether a function cannot be converted: it is for somebody else, has type parameters, blocks, or function values."""
    return (
        stays(function)
        or len(function.body.blocks) != 1
        or len(function.function_type.outputs) != 1
        or bool(type_params_of(function))
        or any(isinstance(op, ApplyOp | ClosureOp | GlobalVarOp) for op in walk(function))
    )


def _has_data(functions: Iterable[func.FuncOp]) -> bool:
    """Whether some functions use values of data types, or of unknown dimensions."""
    parts = types_inside(type_ for function in functions for type_ in types_of(function))
    return any(
        isinstance(each, AdtType) or is_tensor_type(each) and is_dynamic(each) for each in parts
    )


def _around(group: Mapping[str, func.FuncOp]) -> set[Operation] | None:
    """The branches and matches around the calls of some functions of each other; None where one is in something else."""
    around: set[Operation] = set()
    for function in group.values():
        if _is_other(function):
            return None
        for op in walk(function):
            parent = op.parent_op() if callee(op) in group else function
            while parent is not function and parent is not None and parent not in around:
                if not isinstance(parent, MatchOp | scf.IfOp):
                    return None
                around.add(parent)
                parent = parent.parent_op()
    return around


def _call_from_outside(module: ModuleOp, group: Mapping[str, func.FuncOp]) -> None:
    """Hands over a function that gives back what it is given, where others call the functions of a group."""
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or function.sym_name.data in group:
            continue
        for op in walk(function):
            if isinstance(op, func.CallOp) and callee(op) in group:
                result = op.result_types[0]
                block = Block(arg_types=[result])
                block.add_op(YieldOp(block.args[0]))
                back = ClosureOp(Region(block))
                type_ = FnType([*op.arguments.types, back.result.type], result)
                named = GlobalVarOp(op.callee.string_value(), type_)
                call = ApplyOp(named.result, [*op.arguments, back.result], result)
                for new in (back, named, call):
                    new.location = op.location
                Rewriter.insert_op([back, named, call], InsertPoint.before(op))
                call.result.name_hint = op.results[0].name_hint
                Rewriter.replace_op(op, [], [call.result])
