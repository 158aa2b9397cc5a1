"""
Placements as files, to be read, compared, changed and applied.

    {"format": "xrelay placement 1", "model": "…digest…",
     "machine": {"cpu": …, "features": …, "threads": 1, "project": …},
     "engines": {"onnxruntime": {"version": "1.20", "bind_constants": true}},
     "seconds": 1.2e-3, "bound": 1.2e-3, "gap": 0.0,
     "regions": [{"engine": "onnxruntime", "rule": …, "seconds": …, "source": "measured",
                  "nodes": [{"index": 3, "op": "nn.conv2d"}, …],
                  "nested": [{"attributes": {"Composite": …}, "nodes": [3, 4], "nested": []}]}]}

`index` is the number of a node in the graph of `main`; `op` says what is expected there. Regions of own code, and what
the host does, are listed as well. With `"side_by_side": true` regions that need nothing of each other run at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from xrelay.placement.costs.key import Machine, digest
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import first_inside, index_set, members
from xrelay.placement.graph.structure import structure
from xrelay.placement.graph.sub_graph import ANY_RESULTS, Nested, SubGraph
from xrelay.placement.placing import Placement, given_nodes
from xrelay.placement.rules.base import host_nodes
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.runtime.reading import read_source

FORMAT = "xrelay placement 1"
"""The value of `format`."""
SIDE_BY_SIDE = "side_by_side"
"""Says whether regions that need nothing of each other run at once; they do not where it is missing."""
TEXTS = ("Compiler", "Composite", "global_symbol")
"""The attributes of functions that are texts."""


@dataclass(frozen=True)
class EngineFacts:
    """What a plan needs to know of an engine."""

    version: str
    bind_constants: bool = True


@dataclass(frozen=True)
class PlanFile:
    """A plan that was read, for the graph that it is for."""

    parts: tuple[SubGraph, ...]
    """Its regions, wrapped as the rules of the engines have it."""
    engines: Mapping[str, EngineFacts]
    machine: Machine
    data: Mapping[str, Any]

    def binds(self, engine: str) -> bool:
        """Whether constants are in the functions of an engine."""
        return self.engines[engine].bind_constants if engine in self.engines else True

    def check_here(self, threads: int, engines: Mapping[str, EngineFacts]) -> None:
        """Raises PlacementError for a plan of another machine, thread count or engine version."""
        here = Machine.here(threads)
        if self.machine.threads != threads:
            raise PlacementError(
                f"the plan is for threads {self.machine.threads}, expected {threads}"
            )
        if self.machine != here:
            raise PlacementError(f"the plan was made on {self.machine}, this is {here}")
        for name, facts in self.engines.items():
            if name not in engines:
                known = ", ".join(engines) or "none"
                raise PlacementError(f"the plan needs the engine '{name}', given are {known}")
            if engines[name].version != facts.version:
                raise PlacementError(
                    f"the plan was made with version {facts.version} of '{name}', found {engines[name].version}"
                )


def model_digest(graph: Graph) -> str:
    """What a plan knows its model by. Values of weights are not in it."""
    return digest(structure(graph.function, all_constants=False))


def plan_data(
    placement: Placement, machine: Machine, engines: Mapping[str, EngineFacts], number: int = 0
) -> dict[str, Any]:
    """A plan as JSON has it."""
    graph, plan = placement.graph, placement.outcome.plans[number]
    regions = [
        {
            "engine": each.engine,
            "rule": each.rule,
            "seconds": placement.cost_of(each).seconds,
            "source": placement.cost_of(each).source,
            "nodes": [{"index": i, "op": graph[i].label} for i in members(each.inside)],
            "nested": [nested_data(nested) for nested in each.part.nested],
        }
        for each in placement.regions(number)
    ]
    used = {each.engine for each in placement.regions(number)}
    return {
        "format": FORMAT,
        "model": model_digest(graph),
        "machine": asdict(machine),
        "engines": {name: asdict(facts) for name, facts in engines.items() if name in used},
        "seconds": plan.cost,
        "memory": plan.memory,
        "bound": placement.outcome.bound,
        "gap": placement.outcome.gap,
        "regions": regions,
    }


def nested_data(nested: Nested) -> dict[str, Any]:
    """A part of a region as JSON has it."""
    return {
        "attributes": dict(nested.attributes),
        "nodes": list(members(nested.sub_graph.inside)),
        "nested": [nested_data(each) for each in nested.sub_graph.nested],
    }


def read_plan(path: Path, graph: Graph) -> PlanFile:
    """
    The plan in a file, for a graph.

    Raises PlacementError, with the place in the file, when it is no plan, or one for another model.
    """
    try:
        data: object = json.loads(read_source(path).decode())
    except OSError as error:
        raise PlacementError(f"cannot read '{path}': {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PlacementError(f"'{path}' is no plan: not JSON: {error}") from error
    try:
        return plan_of_data(data, graph)
    except PlacementError as error:
        raise PlacementError(f"'{path}': {error}") from error


def plan_of_data(data: object, graph: Graph) -> PlanFile:
    """The plan in JSON values, as `read_plan`."""
    plan = _mapping(data, "the plan")
    if plan.get("format") != FORMAT:
        raise PlacementError(f"'format' is {plan.get('format')!r}, expected '{FORMAT}'")
    if plan.get("model") != model_digest(graph):
        raise PlacementError(
            "the plan is for another model: operators, shapes or attributes differ"
        )
    at_once = plan.get(SIDE_BY_SIDE, False)
    if not isinstance(at_once, bool):
        raise PlacementError(f"'{SIDE_BY_SIDE}' is {at_once!r}, expected true or false")
    engines = {
        name: _facts(each, f"engines.{name}")
        for name, each in _mapping(plan.get("engines"), "'engines'").items()
    }
    machine = _machine(_mapping(plan.get("machine"), "'machine'"))
    parts: list[SubGraph] = []
    seen, by_host = 0, host_nodes(graph)
    for number, entry in enumerate(checked_list(plan.get("regions"), "'regions'")):
        where = f"regions[{number}]"
        region = _mapping(entry, where)
        part = _region(region, graph, where)
        clash = part.flow & seen
        if clash:
            raise PlacementError(
                f"{where} has node {next(members(clash))}, which another region has"
            )
        seen |= part.flow
        engine = region.get("engine")
        if engine not in (HOST, OWN, *engines):
            raise PlacementError(
                f"'engine' of {where} is {engine!r}, expected one of {', '.join(dict.fromkeys((HOST, OWN, *engines)))}"
            )
        _check_compiler(part, None if engine in (HOST, OWN) else str(engine), where)
        if engine != HOST:
            problem = part.problem(ANY_RESULTS)
            if problem is not None:
                raise PlacementError(f"{where} cannot be a region: {problem}")
            parts.append(part)
        elif wrong := part.inside & ~by_host:
            index = first_inside(wrong)
            raise PlacementError(
                f"{where} has node {index}, '{graph[index].label}', which is more than '{HOST}' does"
            )
    missing = graph.everything & ~given_nodes(graph) & ~by_host & ~seen
    if missing:
        index = first_inside(missing)
        raise PlacementError(f"no region has node {index}, '{graph[index].label}'")
    return PlanFile(tuple(parts), engines, machine, plan)


def _check_compiler(part: SubGraph, engine: str | None, where: str) -> None:
    """
    Raises PlacementError unless a region becomes a function of its engine, whole, and no other part of it becomes one; None
    is own code, for which nothing does.
    """
    named = [dict(each.attributes).get("Compiler") for each in part.nested]
    if engine is None:
        if any(each is not None for each in named):
            raise PlacementError(f"'nested' of {where} has a 'Compiler', which own code needs none")
        within = part.nested
    else:
        if named != [engine] or part.nested[0].sub_graph.flow != part.flow:
            raise PlacementError(
                f"'nested' of {where} has parts with the 'Compiler' {named}, expected one with '{engine}' and all nodes"
            )
        within = part.nested[0].sub_graph.nested
    while within:
        if any(name == "Compiler" for each in within for name, _ in each.attributes):
            raise PlacementError(f"'nested' of {where} has a 'Compiler' within another part")
        within = [inner for each in within for inner in each.sub_graph.nested]


def _region(region: Mapping[str, Any], graph: Graph, where: str) -> SubGraph:
    inside = 0
    for entry in checked_list(region.get("nodes"), f"'nodes' of {where}"):
        node = _mapping(entry, f"a node of {where}")
        index = _index(node.get("index"), len(graph), where)
        if node.get("op", graph[index].label) != graph[index].label:
            raise PlacementError(
                f"{where} has '{node['op']}' at node {index}, the model '{graph[index].label}'"
            )
        if inside >> index & 1:
            raise PlacementError(f"{where} has node {index} twice")
        inside |= 1 << index
    return SubGraph(graph, inside, _nested(region.get("nested", []), graph, inside, where))


def _nested(data: object, graph: Graph, inside: int, where: str) -> tuple[Nested, ...]:
    found: list[Nested] = []
    for entry in checked_list(data, f"'nested' of {where}"):
        nested = _mapping(entry, f"'nested' of {where}")
        nodes = checked_list(nested.get("nodes"), f"'nodes' in {where}")
        if not nodes:
            raise PlacementError(f"'nested' of {where} has a part without nodes")
        part = index_set(_index(each, len(graph), where) for each in nodes)
        if part & ~inside:
            raise PlacementError(f"{where} has nested nodes that are not its own")
        attributes: list[tuple[str, str | int]] = []
        for name, value in sorted(
            _mapping(nested.get("attributes"), f"'attributes' of {where}").items()
        ):
            if not _is_attribute(name, value):
                kind = "a text" if name in TEXTS else "a text or a number of 64 bits"
                raise PlacementError(f"'{name}' of {where} is {value!r}, expected {kind}")
            attributes.append((name, value))
        within = _nested(nested.get("nested", []), graph, part, where)
        found.append(Nested(SubGraph(graph, part, within), tuple(attributes)))
    return tuple(found)


def _is_attribute(name: str, value: object) -> bool:
    """Whether a value may be that of an attribute of a function."""
    if isinstance(value, str):
        return True
    if name in TEXTS or isinstance(value, bool) or not isinstance(value, int):
        return False
    return -(2**63) <= value < 2**63


def _facts(data: object, where: str) -> EngineFacts:
    entries = _mapping(data, where)
    version, binds = entries.get("version"), entries.get("bind_constants", True)
    if not isinstance(version, str) or not isinstance(binds, bool):
        raise PlacementError(f"{where} is {entries}, expected a 'version' and 'bind_constants'")
    return EngineFacts(version, binds)


def _machine(data: Mapping[str, Any]) -> Machine:
    cpu, features, threads, project = (
        data.get(k) for k in ("cpu", "features", "threads", "project")
    )
    if (
        not isinstance(cpu, str)
        or not isinstance(features, str)
        or not isinstance(project, str)
        or not isinstance(threads, int)
        or isinstance(threads, bool)
    ):
        raise PlacementError(f"'machine' is {data}, expected cpu, features, threads and project")
    return Machine(cpu, features, threads, project)


def _mapping(data: object, where: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise PlacementError(f"{where} is {data!r}, expected an object")
    return cast(dict[str, Any], data)


def checked_list(data: object, where: str) -> Sequence[object]:
    """A list in JSON values. Raises PlacementError for anything else."""
    if not isinstance(data, list):
        raise PlacementError(f"{where} is {data!r}, expected a list")
    return cast(list[object], data)


def _index(data: object, size: int, where: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or not 0 <= data < size:
        raise PlacementError(f"{where} has node {data!r}, expected a number from 0 to {size - 1}")
    return data
