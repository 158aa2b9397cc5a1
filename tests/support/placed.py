"""Programs for tests of placement: graphs of text, and sets of nodes by the names of values."""

from collections.abc import Iterable

from texts import parsed
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import members
from xrelay.placement.graph.sub_graph import SubGraph

T = "tensor<4x4xf32>"


def program(text: str, parameters: str = f"%x: {T}", results: str = "") -> ModuleOp:
    """
    A module with a function `main`. Lines `c = nn.relu a` stand for operators on tensors of 4x4; other
    lines are as they are.
    """
    lines = [_line(line.strip()) for line in text.strip().splitlines()]
    types = ", ".join(results.split()) or T
    return parsed(f"func.func @main({parameters}) -> ({types}) {{\n" + "\n".join(lines) + "\n}")


def _line(line: str) -> str:
    if line.startswith("return "):
        names = line.split()[1:]
        return f"func.return {', '.join(f'%{n}' for n in names)} : {', '.join(T for _ in names)}"
    if not line or line.startswith(("%", "func.")):
        return line
    result, _, call = line.partition(" = ")
    name, *operands = call.split()
    listed = ", ".join(f"%{operand}" for operand in operands)
    types = ", ".join(T for _ in operands)
    return f"%{result} = relay.{name} {listed} : ({types}) -> {T}"


def graph_of(module: ModuleOp) -> Graph:
    """The graph of `main`."""
    return Graph.of(entry_function(module))


def nodes(graph: Graph, names: str) -> int:
    """The nodes of some values, by name."""
    found = 0
    for name in names.split():
        (node,) = (n for n in graph.nodes if any(v.name_hint == name for v in n.values))
        found |= 1 << node.index
    return found


def part(graph: Graph, names: str) -> SubGraph:
    """The sub-graph of some values, by name."""
    return SubGraph(graph, nodes(graph, names))


def names(graph: Graph, indices: int) -> str:
    """The names of the values of some nodes, in alphabetical order."""
    values = [graph[i].values for i in members(indices)]
    return " ".join(sorted(str(each[0].name_hint) if each else "end" for each in values))


def all_names(parts: Iterable[SubGraph]) -> list[str]:
    """The names of the nodes of each of some sub-graphs, sorted."""
    return sorted(names(each.graph, each.inside) for each in parts)
