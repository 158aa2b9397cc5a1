"""
`merge-tail-calls`: functions that call each other last become one function that calls itself last.

    func.func private @even(%n) {                  func.func private @even_odd(%which, %n, %m) {
      … scf.yield @odd(%n - 1) …                     %0 = relay.less %which, 1
    }                                        ──►     %1 = scf.if %0 { … scf.yield @even_odd(1, %n, %n - 1) … }
    func.func private @odd(%m) {                              else { … scf.yield @even_odd(0, %m - 1, %m) … }
      … scf.yield @even(%m - 1) …                    return %1
    }                                              }
    %r = func.call @even(%x)                       %r = func.call @even_odd(0, %x, <nothing>)

The function takes the parameters of all of them, and which one it is; `recursion-to-loops` makes a loop of it. Those that are called at one
place become a part of the one that calls them.

Leaves alone: functions that go on after such a call, that take or give something else than tensors and tuples of these, with type parameters, for other
compilers, those that are values, and entries.

Source: tail calls as jumps, G. L. Steele, Debunking the "expensive procedure call" myth, 1977.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, i32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.call_graph import CallGraph, callee
from xrelay.analysis.facts.names import module_symbols, unused_name
from xrelay.analysis.facts.scopes import function_around
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import GlobalVarOp, type_params_of
from xrelay.transforms.functional.to_cps import stays
from xrelay.transforms.rules.functional.bodies import taken_out
from xrelay.transforms.rules.functional.choosing import Case, chosen
from xrelay.transforms.rules.placeholders import may_be_placeholder, placeholder
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.tail_calls import last_operations


@dataclass(frozen=True)
class MergeTailCallsPass(RelayPass):
    """Makes one function of those that call each other last."""

    name = "merge-tail-calls"

    entry_functions: tuple[str, ...] = ("main",)
    """The functions that are called from outside."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        graph.require(self.entry_functions)
        calls: dict[str, list[func.CallOp]] = {name: [] for name in graph.functions}
        values: set[str] = set()
        for each in walk(op):
            if isinstance(each, func.CallOp) and each.callee.string_value() in calls:
                calls[each.callee.string_value()].append(each)
            elif isinstance(each, GlobalVarOp):
                values.add(each.function.string_value())
        for names in graph.circles():
            group = {name: graph.functions[name] for name in sorted(names)}
            kept = values.union(self.entry_functions)
            if group.keys().isdisjoint(kept) and _may_merge(group):
                _inline_once(group, calls)
                if len(group) > 1:
                    Merging(op, group).run(calls)


def _may_merge(group: Mapping[str, func.FuncOp]) -> bool:
    """Whether functions that call each other can become one."""
    for function in group.values():
        type_ = function.function_type
        if stays(function) or len(function.body.blocks) != 1 or type_params_of(function):
            return False
        if not all(map(may_be_placeholder, (*type_.inputs, *type_.outputs))):
            return False
        last = {op for _, op in last_operations(function.body.block)}
        if any(callee(op) in group and op not in last for op in walk(function)):
            return False
    return len({function.function_type.outputs for function in group.values()}) == 1


def _inline_once(group: dict[str, func.FuncOp], calls: Mapping[str, list[func.CallOp]]) -> None:
    """Puts functions that are called at one place, in another one of the group, into that place."""
    for name, function in list(group.items()):
        if len(calls[name]) > 1 or len(group) == 1:
            continue
        (call,) = calls[name]
        caller = function_around(call)
        if caller is function or caller not in group.values():
            continue
        del group[name]
        for param, arg in zip(function.args, call.arguments, strict=True):
            param.replace_all_uses_with(arg)
        ops, results = taken_out(function.body.block)
        Rewriter.insert_op(ops, InsertPoint.before(call))
        Rewriter.replace_op(call, [], results)
        Rewriter.erase_op(function)


class Merging:
    """Functions that become one."""

    def __init__(self, module: ModuleOp, group: Mapping[str, func.FuncOp]):
        self.module = module
        self.group = group
        self.name = unused_name("_".join(group), module_symbols(module))
        self.first: dict[str, int] = {}
        """Behind which parameters those of each function are."""
        params: list[Attribute] = [TensorType(i32, [])]
        self.numbers = {name: number for number, name in enumerate(group)}
        for name, function in group.items():
            self.first[name] = len(params)
            params += function.function_type.inputs.data
        self.block = Block(arg_types=params)
        self.block.args[0].name_hint = "which"
        self.results = next(iter(group.values())).function_type.outputs.data

    def run(self, calls: Mapping[str, list[func.CallOp]]) -> None:
        """Puts the new function in the place of the others."""
        for name in self.group:
            for call in calls[name]:
                inside = function_around(call) in self.group.values()
                self._call(call, name, self.block.args if inside else None)
        cases = [self._case(name, function) for name, function in self.group.items()]
        emit = Emitter()
        results = chosen(self.block.args[0], cases, self.results, emit)
        self.block.add_ops([*emit.ops, func.ReturnOp(*results)])
        type_ = (self.block.arg_types, self.results)
        for function in self.group.values():
            Rewriter.erase_op(function)
        self.module.body.block.add_op(
            func.FuncOp(self.name, type_, Region(self.block), visibility="private")
        )

    def _case(self, name: str, function: func.FuncOp) -> Case:
        """What a function does."""
        own = self.block.args[self.first[name] :]
        for param, arg in zip(function.args, own, strict=False):
            arg.name_hint = param.name_hint
            param.replace_all_uses_with(arg)
        return Case(self.numbers[name], *taken_out(function.body.block))

    def _call(self, op: func.CallOp, name: str, others: Sequence[SSAValue] | None) -> None:
        """Calls the new function for one of the group, with `others` for the parameters of those that are not called."""
        emit = Emitter()
        arguments = [emit.constant(np.array(self.numbers[name], np.int32))]
        given = dict(enumerate(op.arguments, self.first[name]))
        for i, arg in enumerate(self.block.args[1:], 1):
            if i in given:
                arguments.append(given[i])
            else:
                arguments.append(placeholder(arg.type, emit) if others is None else others[i])
        emit.ops.append(new := func.CallOp(self.name, arguments, op.result_types))
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
        Rewriter.insert_op(emit.located(op), InsertPoint.before(op))
        Rewriter.replace_op(op, [], new.results)
