"""
Why a plan is as it is: for each operator where it went, what its region costs, what the cheapest plan costs that has it
elsewhere, and why the other candidates with it were not taken.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from types import NoneType
from typing import Any, cast

from xrelay.dialects.model_names import model_name
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Node
from xrelay.placement.graph.index_set import members
from xrelay.placement.placing import Placement
from xrelay.placement.plan_file import checked_list
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import HOST, Candidate
from xrelay.placement.search.exact import exact
from xrelay.placement.search.problem import Problem

MOST_STATES = 20_000
"""Of each search for a plan with an operator elsewhere."""


@dataclass(frozen=True)
class Alternative:
    """A candidate that was not taken."""

    engine: str
    operators: str
    seconds: float | None
    """None when it cannot run, or is unknown."""
    reason: str


@dataclass(frozen=True)
class Row:
    """What is to say of an operator."""

    node: int
    operator: str
    name: str
    """The node of the model, or the value; empty when neither has a name."""
    engine: str
    region: int
    """The number of its region in the plan."""
    region_seconds: float
    elsewhere_seconds: float | None
    """What the cheapest plan costs that has it on another engine; None without one, or when there was no time."""
    elsewhere: str
    """The engine that it is on then; or why there is none."""
    alternatives: tuple[Alternative, ...]


def explanation(placement: Placement, seconds: float = 10.0) -> list[Row]:
    """The rows of all operators, in the order of the graph. Searches for other plans end after so many seconds."""
    end = time.monotonic() + seconds
    regions = placement.regions()
    region_of = _region_of(regions)
    others = alternatives(placement, regions)
    rows: list[Row] = []
    for node in placement.graph.nodes:
        if not is_call(node.op) or node.index not in region_of:
            continue
        region = regions[region_of[node.index]]
        left = max(end - time.monotonic(), 0.0)
        cost, where = None, "it is pinned"
        if node.index not in placement.pins:
            cost, where = elsewhere(placement, node.index, region.engine, left)
        rows.append(
            Row(
                node.index,
                node.label,
                name_of(node),
                region.engine,
                region_of[node.index],
                placement.cost_of(region).seconds or 0.0,
                cost,
                where,
                tuple(others[node.index]),
            )
        )
    return rows


def _region_of(regions: Sequence[Candidate]) -> dict[int, int]:
    """The numbers of the regions of nodes."""
    return {index: i for i, region in enumerate(regions) for index in members(region.inside)}


def name_of(node: Node) -> str:
    """What people know a node by."""
    hints = (result.name_hint for result in node.op.results) if node.op is not None else ()
    named = model_name(node.op) if node.op is not None else None
    return named or next((hint for hint in hints if hint), "") or ""


def elsewhere(
    placement: Placement, index: int, engine: str, seconds: float
) -> tuple[float | None, str]:
    """What the cheapest plan costs in which a node is on another engine, and on which; or why there is none."""
    if seconds <= 0:
        return None, "there was no time to look"
    problem = placement.problem
    kept = [
        each
        for each in problem.choices
        if not each.inside >> index & 1 or each.place.engine != engine
    ]
    try:
        other = replace(problem, choices=kept)
    except PlacementError:
        return None, "no other engine runs it"
    outcome = exact(other, most_states=MOST_STATES, seconds=seconds)
    if outcome.best is None:
        return None, "no other plan covers the model"
    return outcome.best.cost, engine_of(other, outcome.best.chosen, index)


def engine_of(problem: Problem, chosen: Sequence[int], index: int) -> str:
    """The engine that a plan has a node on."""
    return next(
        problem.choices[c].place.engine for c in chosen if problem.choices[c].inside >> index & 1
    )


def alternatives(
    placement: Placement, regions: Sequence[Candidate]
) -> defaultdict[int, list[Alternative]]:
    """For each node the candidates with it but its region, and why they were not taken."""
    region_of, numbers = _region_of(regions), {each: i for i, each in enumerate(regions)}
    found: defaultdict[int, list[Alternative]] = defaultdict(list)
    for candidate, cost in zip(placement.candidates, placement.costs, strict=True):
        if candidate.engine == HOST:
            continue
        number = numbers.get(candidate)
        seconds = cost.seconds
        if seconds is None:
            reason = "its cost is unknown"
        elif seconds == inf:
            seconds, reason = None, f"it cannot run: {cost.reason}"
        else:
            reason = reason_not_taken(placement, regions, candidate, seconds)
        other = Alternative(candidate.engine, candidate.part.label, seconds, reason)
        for index in members(candidate.inside):
            if number is None or region_of.get(index) != number:
                found[index].append(other)
    return found


def reason_not_taken(
    placement: Placement, regions: Sequence[Candidate], candidate: Candidate, seconds: float
) -> str:
    """What the regions of a plan have in the place of a candidate that could run."""
    touched = [each for each in regions if each.part.flow & candidate.part.flow]
    spent = sum(placement.cost_of(each).seconds or 0.0 for each in touched)
    more = any(each.part.flow & ~candidate.part.flow for each in touched)
    count = f"{len(touched)} regions" if len(touched) > 1 else "1 region"
    if more:
        return f"in its place: {count} of {micro(spent)}, with other operators as well"
    if seconds >= spent:
        return f"in its place: {count} of {micro(spent)}; it costs {micro(seconds)}"
    return f"it costs {micro(seconds)} for {micro(spent)}, but its borders cost more than that"


def micro(seconds: float) -> str:
    """A time in microseconds."""
    return f"{1e6 * seconds:.1f} µs"


def explanation_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as JSON has them."""
    return [asdict(row) for row in rows]


def explanations_in(plan: Mapping[str, Any]) -> dict[int, Row]:
    """
    The rows that a plan carries, by their nodes; none in one that was written without.

    Raises PlacementError for what are no rows.
    """
    listed = checked_list(plan.get("explanation", []), "'explanation'")
    rows = (_row(entry, f"'explanation[{number}]'") for number, entry in enumerate(listed))
    return {row.node: row for row in rows}


def _row(entry: object, where: str) -> Row:
    """A row that was written as JSON."""
    found = _fields(entry, Row, where)
    others = checked_list(found.pop("alternatives"), f"'alternatives' of {where}")
    taken = (_fields(each, Alternative, where) for each in others)
    return Row(**found, alternatives=tuple(Alternative(**each) for each in taken))


_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "str": (str,),
    "float": (int, float),
    "float | None": (int, float, NoneType),
}
"""What JSON has for annotations of fields."""


def _fields(entry: object, made: type[Row | Alternative], where: str) -> dict[str, Any]:
    """The values of the fields of a row, or of an alternative."""
    wanted = {each.name: _KINDS.get(str(each.type)) for each in fields(made)}
    if not isinstance(entry, dict) or set(cast(dict[str, Any], entry)) != set(wanted):
        raise PlacementError(f"{where} is {entry!r}, expected an object with {', '.join(wanted)}")
    values = cast(dict[str, Any], entry)
    for name, kinds in wanted.items():
        if kinds is not None and (
            not isinstance(values[name], kinds) or isinstance(values[name], bool)
        ):
            raise PlacementError(f"'{name}' of {where} is {values[name]!r}, which it cannot be")
    return dict(values)


def elsewhere_text(row: Row) -> str:
    """What the cheapest plan costs that has an operator elsewhere."""
    if row.elsewhere_seconds is None:
        return f"elsewhere: {row.elsewhere}"
    return f"on {row.elsewhere}: the whole plan would cost {micro(row.elsewhere_seconds)}"


def alternative_text(other: Alternative) -> str:
    """Why a candidate was not taken."""
    return f"not {other.operators} on {other.engine}: {other.reason}"


def explanation_text(placement: Placement, rows: Sequence[Row]) -> str:
    """The rows for people."""
    plan, outcome = placement.outcome.plans[0], placement.outcome
    lines = [
        f"{micro(plan.cost)}, no plan costs less than {micro(outcome.bound)} (gap {100 * outcome.gap:.1f} %)"
    ]
    for row in rows:
        name = f" {row.name}" if row.name else ""
        lines.append(
            f"{row.operator}{name}: {row.engine}, region {row.region}, {micro(row.region_seconds)}"
        )
        if row.elsewhere_seconds is None:
            lines.append(f"  elsewhere: {row.elsewhere}")
        else:
            more = row.elsewhere_seconds - plan.cost
            lines.append(f"  on {row.elsewhere}: the plan would cost {micro(more)} more")
        for each in row.alternatives:
            lines.append(f"  {alternative_text(each)}")
    return "\n".join(lines) + "\n"
