"""How large a module is, and how large it becomes when its functions are inlined."""

from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from xrelay.analysis.facts.call_graph import CallGraph, symbols_in
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import ConstantOp, stored_bytes


class ProgramSize(NamedTuple):
    """What a module takes as it stands."""

    operations: int
    """Its operations, the module among them."""
    constant_bytes: int
    """The bytes that its constants keep; those that share them count once."""


def program_size(module: ModuleOp) -> ProgramSize:
    """The size of a module, in one walk."""
    operations = 0
    values: dict[int, Attribute] = {}
    for op in walk(module):
        operations += 1
        if isinstance(op, ConstantOp):
            values[id(op.value)] = op.value
    return ProgramSize(operations, sum(map(stored_bytes, values.values())))


def expanded_total(module: ModuleOp) -> int:
    """
    The operations of a module's largest function once everything that it names is copied into it.

    Each function is counted once, so that a few lines which double each other cost nothing here.
    """
    graph = CallGraph.of_module(module)
    totals: dict[str, int] = {}
    for name in graph.callees_first():
        total = 0
        for op in walk(graph.functions[name]):
            symbols = symbols_in((*op.properties.values(), *op.attributes.values()))
            total += 1 + sum(totals.get(symbol, 0) for symbol in symbols)
        totals[name] = total
    return max(totals.values(), default=0)
