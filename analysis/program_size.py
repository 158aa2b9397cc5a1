"""How large a module is, and how large it becomes when its functions are inlined."""

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.call_graph import CallGraph, symbols_in
from xrelay.analysis.walking import walk
from xrelay.dialects.core import ConstantOp, stored_bytes


def operation_total(module: ModuleOp) -> int:
    """The operations of a module."""
    return sum(1 for _ in walk(module))


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


def constant_bytes(module: ModuleOp) -> int:
    """The bytes that the constants of a module keep; those that share them count once."""
    values = {id(op.value): op.value for op in walk(module) if isinstance(op, ConstantOp)}
    return sum(map(stored_bytes, values.values()))
