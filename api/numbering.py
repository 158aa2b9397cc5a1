"""Programs whose operations know their nodes in a graph, whatever passes make of them."""

from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr

from xrelay.analysis.facts.ports import entry_function
from xrelay.placement.graph.dataflow import Graph
from xrelay.transforms.rules.copying import copied

_MARK = "placed"
"""What the names of numbered operations begin with."""


def numbered(module: ModuleOp, graph: Graph) -> ModuleOp:
    """A copy of a module whose operations in `main` are named by their nodes."""
    copy = copied(module)
    ops = list(graph.function.body.block.ops)
    for op, twin in zip(ops, entry_function(copy).body.block.ops, strict=True):
        number = graph.numbers.get(op)
        if number is not None:
            twin.location = NameLoc(StringAttr(f"{_MARK}{number}"), twin.location)
    return copy


def number_in(name: str) -> int | None:
    """The node in the name of a numbered operation; None in other names."""
    number = name.removeprefix(_MARK)
    return int(number) if number != name and number.isdecimal() else None
