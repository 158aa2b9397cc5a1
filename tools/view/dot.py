"""The graphs of `xrelay view` in Graphviz' language: a cluster for each unit or region."""

from collections.abc import Iterator, Sequence

from xrelay.tools.view.graph import Graph, Node
from xrelay.tools.view.picture import COLOURS, HULLS, short_type


def quoted(text: str) -> str:
    """A string of the DOT language. Its escapes would be those of labels."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def dot(graphs: Sequence[Graph], *, fused: bool) -> str:
    """All graphs as one; `fused` draws a unit as one node."""
    lines = ["digraph xrelay {", '  node [shape=box, style="rounded,filled", fillcolor=white];']
    for number, graph in enumerate(graphs):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={quoted(graph.title)};")
        body = _units(graph, f"g{number}") if fused else _operators(graph, f"g{number}")
        lines.extend(f"    {line}" for line in body)
        lines.append("  }")
    return "\n".join([*lines, "}", ""])


def _label(name: str, types: Sequence[str]) -> str:
    return quoted(f"{name}\n{', '.join(map(short_type, types))}")


def _operators(graph: Graph, prefix: str) -> Iterator[str]:
    def declared(node: Node) -> str:
        return f"{prefix}_{node.number} [label={_label(node.label, node.types)}];"

    regions = {
        node: number for number, region in enumerate(graph.regions) for node in region.members
    }
    for unit in graph.units:
        region = regions.get(unit.root)
        if region is not None:
            yield f"subgraph cluster_{prefix}_r{region} {{"
            yield f"  label={quoted(graph.regions[region].label)};"
        if unit.fused or len(unit.members) > 1:
            colour = COLOURS[f"hull-{unit.number % HULLS}"][0]
            yield f"subgraph cluster_{prefix}_u{unit.number} {{"
            yield f'  label=""; style="rounded,filled"; color="{colour}44";'
            yield from (f"  {declared(node)}" for node in unit.members)
            yield "}"
        else:
            yield declared(unit.root)
        if region is not None:
            yield "}"
    for edge in graph.edges:
        label = ""
        if edge.refusal is not None:
            rule = f"rule {edge.refusal.rule}"
            label = f" [label={quoted(rule)}, tooltip={quoted(edge.refusal.sentence)}]"
        yield f"{prefix}_{edge.source.number} -> {prefix}_{edge.target.number}{label};"


def _units(graph: Graph, prefix: str) -> Iterator[str]:
    for unit in graph.units:
        colour = COLOURS[f"hull-{unit.number % HULLS}"][0]
        fill = f', fillcolor="{colour}44"' if unit.fused or unit.compiler else ""
        label = _label(unit.title.replace(" + ", "\n"), unit.root.types)
        yield f"{prefix}_{unit.number} [label={label}{fill}];"
    for source, target in graph.unit_edges():
        yield f"{prefix}_{source.number} -> {prefix}_{target.number};"
