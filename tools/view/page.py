"""The page of `xrelay view`: pictures, and what is known of each node as data for its script."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from string import Template
from typing import TypeAlias

from xdsl.ir import Operation

from xrelay.analysis.fusion.plan import Attempt, FusionNode, Join, Refusal
from xrelay.dialects.lengths import hint
from xrelay.tools.explain.strategies import why_not
from xrelay.tools.view.graph import Edge, Graph, Node, Unit
from xrelay.tools.view.picture import KINDS, View, asset, clean, operator_view, unit_view, variables
from xrelay.tools.view.steps import Work

MOST_TAUGHT = 200
"""Graphs with fewer nodes can be stepped through."""

Numbers: TypeAlias = Mapping[Operation, int]
"""The node of each operation that is drawn."""


@dataclass(frozen=True)
class Drawn:
    """A graph with its pictures."""

    graph: Graph
    operators: View
    units: View
    works: Mapping[Unit, Sequence[Work]]


def works_of(graph: Graph, work_of: Mapping[Operation, Work]) -> dict[Unit, list[Work]]:
    """The steps that compute each unit, in order, each once."""
    result: dict[Unit, list[Work]] = {}
    for unit in graph.units:
        ops = [node.op for node in unit.members if node.op is not None]
        found = {work_of[op].number: work_of[op] for op in ops if op in work_of}
        if found:
            result[unit] = [found[number] for number in sorted(found)]
    return result


def draw(graph: Graph, work_of: Mapping[Operation, Work]) -> Drawn:
    """Lays a graph out."""
    works = works_of(graph, work_of)
    return Drawn(graph, operator_view(graph), unit_view(graph, works), works)


def page(title: str, drawn: Sequence[Drawn], notes: Sequence[str] = ()) -> str:
    """The whole page, which needs nothing else; `notes` say what is open in the model."""
    scenes: list[str] = []
    for number, each in enumerate(drawn):
        for name, view in (("operators", each.operators), ("units", each.units)):
            scenes.append(
                f'<g class="scene {name}" data-graph="{number}" data-width="{view.width:g}" '
                f'data-height="{view.height:g}" hidden="">{view.body}</g>'
            )
    first = max(range(len(drawn)), key=lambda number: drawn[number].graph.rank)
    data = {"kinds": KINDS, "first": first, "graphs": [graph_data(each) for each in drawn]}
    return Template(asset("page.html")).substitute(
        title=clean(title),
        notes=notes_text(notes),
        style=f"{variables()}{asset('picture.css')}{asset('page.css')}",
        scenes="".join(scenes),
        data=script_json(data),
        script=f"{asset('lesson.js')}{asset('page.js')}",
    )


def notes_text(notes: Sequence[str]) -> str:
    """What is open in a model, as a part of the page."""
    if not notes:
        return ""
    rows = "\n".join(map(clean, notes))
    return f'<details id="lengths" open><summary>Lengths</summary><pre>{rows}</pre></details>'


def script_json(data: object) -> str:
    """JSON that may stand in a script element, whatever the names in it: no `<`, no `&`."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def graph_data(drawn: Drawn) -> dict[str, object]:
    """What the script knows of a graph."""
    graph, numbers = drawn.graph, {op: node.number for op, node in drawn.graph.node_of().items()}
    uses: dict[Node, list[int]] = {}
    for number, edge in enumerate(graph.edges):
        uses.setdefault(edge.source, []).append(number)
    return {
        "title": graph.title,
        "nodes": [node_data(graph, node, numbers, uses.get(node, [])) for node in graph.nodes],
        "edges": [edge_data(edge, numbers) for edge in graph.edges],
        "links": {
            "operators": [(edge.source.number, edge.target.number) for edge in graph.edges],
            "units": [(source.number, target.number) for source, target in graph.unit_edges()],
        },
        "units": [unit_data(unit, drawn.works.get(unit, ())) for unit in graph.units],
        "places": {"operators": drawn.operators.centres, "units": drawn.units.centres},
        "lesson": lesson(graph, numbers) if len(graph.nodes) < MOST_TAUGHT else [],
    }


def node_data(graph: Graph, node: Node, numbers: Numbers, uses: list[int]) -> dict[str, object]:
    """What the panel shows of a node."""
    fact = node.fact
    data: dict[str, object] = {
        "name": node.name,
        "label": node.label,
        "role": node.role,
        "kind": None if node.kind is None else node.kind.label,
        "types": node.types,
        "attributes": node.attributes,
        "operands": [[each.text, each.source and each.source.number] for each in node.operands],
        "uses": uses,
        "unit": graph.unit_of[node].number,
        "anchor": graph.unit_of[node].anchor is node,
        "model": node.model_name,
        "placed": None if node.placed is None else asdict(node.placed),
    }
    if fact is not None:
        data["refusal"] = refusal_data(fact.refusal, numbers)
        data["dominator"] = None if fact.dominator is None else numbers.get(fact.dominator.op)
        data["path"] = fact.path_kind.label
    return data


def refusal_data(refusal: Refusal | None, numbers: Numbers) -> object:
    """A rule and its reason, with the node that it is about."""
    if refusal is None:
        return None
    return {
        "rule": refusal.rule,
        "sentence": refusal.sentence,
        "sweep": refusal.sweep,
        "culprit": None if refusal.culprit is None else numbers.get(refusal.culprit),
    }


def edge_data(edge: Edge, numbers: Numbers) -> dict[str, object]:
    """An edge, and what stops fusion on it."""
    return {
        "source": edge.source.number,
        "target": edge.target.number,
        "kind": None if edge.kind is None else edge.kind.label,
        "refusal": refusal_data(edge.refusal, numbers),
    }


def unit_data(unit: Unit, works: Sequence[Work]) -> dict[str, object]:
    """What the table and the panel show of a unit."""
    return {
        "title": unit.title,
        "fused": unit.fused,
        "compiler": unit.compiler,
        "kind": None if unit.kind is None else unit.kind.label,
        "members": [node.number for node in unit.members],
        "anchor": unit.anchor and unit.anchor.number,
        "type": ", ".join(unit.root.types),
        "steps": [work_data(work) for work in works],
    }


def work_data(work: Work) -> dict[str, object]:
    """A step: what computes it, what else could, and its time."""
    ways: list[tuple[str, float | None, str]] = []
    for selection in work.step.selections:
        for candidate in selection.candidates:
            chosen = candidate is selection.candidates[0]
            why = selection.basis.value if chosen else why_not(selection, candidate)
            ways.append((candidate.implementation.name, candidate.cost, f"{'→ ' * chosen}{why}"))
        for refused in selection.refusals:
            ways.append((refused.implementation.name, None, f"cannot: {refused.reason}"))
    return {
        "number": work.number,
        "name": work.step.name,
        "implementation": ", ".join(work.step.implementations),
        "ways": ways,
        "flops": hint(work.step.flops),
        "bytes": hint(work.step.bytes),
        "seconds": work.seconds,
        "share": work.share,
    }


# -- the lesson ---------------------------------------------------------------------------------------


def lesson(graph: Graph, numbers: Numbers) -> list[dict[str, object]]:
    """
    How the groups come about, step by step: the post-dominator of each node, from the last to the
    first, then what each sweep tries. A step names nodes by number; constants that are not drawn
    have none, and no steps.
    """
    plan = graph.plan
    if plan is None:
        return []
    steps = [
        _domination(fact, numbers)
        for fact in reversed(plan.nodes.values())
        if fact.op in numbers and graph.nodes[numbers[fact.op]].role != "output"
    ]
    steps.extend(_attempt(attempt, numbers) for attempt in plan.attempts)
    steps.extend(_join(join, numbers) for join in plan.joins)
    return [step for step in steps if step["node"] is not None]


def _label(fact: FusionNode) -> str:
    return f"{fact.op.name.removeprefix('relay.')} #{fact.index}"


def _domination(fact: FusionNode, numbers: Numbers) -> dict[str, object]:
    users = list(dict.fromkeys(edge.consumer for edge in fact.edges))
    names = ", ".join(map(_label, users))
    if fact.extern is not None:
        text = f"{_label(fact)} has no post-dominator: {fact.extern.sentence} (rule 3)."
    elif not users:
        text = f"{_label(fact)} has no post-dominator: the value is not used (rule 12)."
    elif fact.dominator is None:
        text = f"{_label(fact)} is used by {names}, which come together nowhere (rule 13)."
    elif len(users) == 1:
        text = (
            f"{_label(fact)} has one user, {names}: that is its post-dominator. "
            f"The path is {fact.path_kind.label} (rule 13)."
        )
    else:
        text = (
            f"{_label(fact)} is used by {names}. Their lowest common ancestor, "
            f"{_label(fact.dominator)}, is its post-dominator. "
            f"The highest kind on the way is {fact.path_kind.label} (rule 13)."
        )
    return {
        "part": "post-dominators",
        "node": numbers.get(fact.op),
        "sink": None if fact.dominator is None else numbers.get(fact.dominator.op),
        "between": [numbers[user.op] for user in users if user.op in numbers],
        "merges": False,
        "text": text,
    }


def _join(join: Join, numbers: Numbers) -> dict[str, object]:
    into = join.into.op
    return {
        "part": "beyond Relay",
        "node": numbers.get(join.node.op),
        "sink": numbers.get(into),
        "between": [],
        "merges": True,
        "text": f"{_label(join.node)} joins {_label(join.into)}, rule {join.rule}: {join.sentence}.",
    }


def _attempt(attempt: Attempt, numbers: Numbers) -> dict[str, object]:
    node, sink = attempt.node, attempt.node.dominator
    assert sink is not None
    if attempt.merged:
        others = ", ".join(map(_label, attempt.between))
        text = f"{_label(node)} joins {_label(sink)}{f', with {others}' if others else ''}."
    elif attempt.refusal is None:
        text = f"{_label(node)} → {_label(sink)}: not for this sweep to decide."
    else:
        text = f"{_label(node)} stays out of {_label(sink)}: {attempt.refusal}."
    return {
        "part": f"sweep {attempt.sweep}",
        "node": numbers.get(node.op),
        "sink": numbers.get(sink.op),
        "between": [numbers[each.op] for each in attempt.between if each.op in numbers],
        "merges": attempt.merged,
        "text": text,
    }
