"""The graph of a program that a plan divides among engines: `xrelay view --placement`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Any

from xdsl.ir import Operation

from xrelay.placement.costs.cost import checked_seconds
from xrelay.placement.explain import Row, alternative_text, elsewhere_text, explanations_in, micro
from xrelay.placement.plan_file import PlanFile
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.tools.view.graph import Graph, Node, Placed, Region, Unit


def show_plan(graph: Graph, numbers: Mapping[Operation, int], plan: PlanFile) -> None:
    """
    Shows a plan in the picture of `main`: where each operator went, at what cost and why, and the regions of other
    engines as units. Of groups of own code that a region cuts, what is left stays together as far as nothing of it waits
    for a region that waits for it. `numbers` are the nodes of operations in the graph that the plan is for.

    Raises PlacementError for costs and reasons in the plan that cannot be read.
    """
    rows = explanations_in(plan.data)
    nodes = {numbers[op]: node for op, node in graph.node_of().items() if op in numbers}
    engines: dict[str, int] = {OWN: 0}
    taken: dict[Node, None] = {}
    made: list[Unit] = []
    regions: Sequence[Mapping[str, Any]] = plan.data["regions"]
    for region in regions:
        engine = str(region["engine"])
        members = [nodes[each["index"]] for each in region["nodes"] if each["index"] in nodes]
        if engine == HOST or not members:
            continue
        colour = engines.setdefault(engine, len(engines))
        for node in members:
            row = rows.get(numbers[node.op]) if node.op is not None else None
            node.placed = placed_at(region, colour, row)
        if engine != OWN:
            members.sort(key=lambda node: node.number)
            taken.update(dict.fromkeys(members))
            made.append(Unit(0, members, False, compiler=engine))
            label = f"{engine}, {micro(seconds_of(region))}"
            graph.regions.append(Region(label, tuple(members)))
    replace_units(graph, taken, made)


def placed_at(region: Mapping[str, Any], colour: int, row: Row | None) -> Placed:
    """Where an operator is, with the reasons of a row about it."""
    engine, source = str(region["engine"]), str(region.get("source", ""))
    reasons: list[str] = []
    if row is not None and row.engine == engine:
        reasons += [elsewhere_text(row), *map(alternative_text, row.alternatives)]
    elif row is not None:
        reasons.append(f"the cheapest plan by its parts has it on {row.engine}")
    return Placed(engine, colour, seconds_of(region), source, tuple(reasons))


def seconds_of(region: Mapping[str, Any]) -> float:
    """What a region costs."""
    return checked_seconds(region.get("seconds"), f"the plan, for a region of {region['engine']}")


def replace_units(graph: Graph, taken: Mapping[Node, None], made: Sequence[Unit]) -> None:
    """Makes units of regions, and takes their members out of the units of own code."""
    sources: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
    for edge in graph.edges:
        sources[edge.target].append(edge.source)
    # Sources come first.
    sources = {node: sources[node] for node in TopologicalSorter(sources).static_order()}
    kept: list[Unit] = []
    for unit in graph.units:
        left = [node for node in unit.members if node not in taken]
        is_cut = 0 < len(left) < len(unit.members)
        for members in in_stages(left, sources) if is_cut else filter(None, [left]):
            kept.append(
                replace(
                    unit,
                    members=members,
                    anchor=unit.anchor if unit.anchor in members else None,
                    fused=unit.fused and len(members) > 1,
                )
            )
    graph.units = sorted([*kept, *made], key=lambda unit: unit.root.number)
    for number, unit in enumerate(graph.units):
        unit.number = number
        graph.unit_of.update(dict.fromkeys(unit.members, unit))


def in_stages(
    members: Collection[Node], sources: Mapping[Node, Sequence[Node]]
) -> list[list[Node]]:
    """
    Members of a group in parts none of which is used, by way of others, by what it uses itself: how often a way from
    one member to another leaves the group says which part comes first. `sources` has the nodes in the order of values.
    """
    inside = frozenset(members)
    stages: dict[Node, int] = {}
    """Of members their parts; of others the part that those who use them have at least."""
    for node, before in sources.items():
        leaves = (stages[each] + (each in inside and node not in inside) for each in before)
        stages[node] = max(leaves, default=0)
    parts: dict[int, list[Node]] = {}
    for node in members:
        parts.setdefault(stages[node], []).append(node)
    return [parts[stage] for stage in sorted(parts)]
