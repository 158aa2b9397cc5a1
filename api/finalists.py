"""Plans that may ship, and the models that plans make."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.partition.compilers import REGISTRY
from xrelay.backends.base import Backend
from xrelay.compiler import run_passes
from xrelay.engines import Engines
from xrelay.options import CompileOptions, Progress, silent
from xrelay.partitioned import compile_partition, compiler_of
from xrelay.placement.costs.crossings import Pair
from xrelay.placement.costs.key import Machine
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import index_set, members, union_of
from xrelay.placement.graph.origin import Origin
from xrelay.placement.graph.rewriting import rewrite
from xrelay.placement.graph.sub_graph import SubGraph
from xrelay.placement.placing import Placement, guessed_alone, restricted, was_run
from xrelay.placement.plan_file import SIDE_BY_SIDE, plan_data, plan_of_data
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.transforms.partition_graph import hand_over
from xrelay.transforms.relay_to_tir import RelayToTirPass


def plans_to_try(
    placement: Placement, engines: Engines, machine: Machine, priority: Placement | None = None
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """
    Each engine alone, own code first, the best plans, and that of priority order, as JSON has them; and those that are left
    out, with the reasons. What no worker has run may crash, and is left out.
    """
    facts = engines.facts()
    found: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for name in sorted(facts, key=lambda name: name != OWN):
        single = restricted(placement, name)
        if single is None:
            left_out[name] = "it does not keep to the pins and the memory limit"
        elif guessed_alone(placement, [name] if name != OWN else []):
            left_out[name] = NOT_RUN
        elif all(each.engine != name for each in single.regions()):
            left_out[name] = "it runs nothing of the model"
        else:
            found[name] = plan_data(single, machine, facts)
    for number in range(len(placement.outcome.plans)):
        name = f"plan {number + 1}"
        if was_run(placement, number):
            found[name] = plan_data(placement, machine, facts, number)
        else:
            left_out[name] = NOT_RUN
    if priority is not None:
        found["priority"] = plan_data(priority, machine, facts)
    return found, left_out


NEXT_BEST = re.compile("plan (?!1$)[0-9]+")
"""The names of the next best plans."""
NOT_RUN = "no worker has run all of its regions: measurements need more time"


def plans_at_once(
    placement: Placement, plans: Mapping[str, Mapping[str, Any]], threads: int
) -> dict[str, dict[str, Any]]:
    """The best plans with regions that run at once, where there are threads for that, by their names."""
    names = ("plan 1", "refined") if threads > 1 else ()
    made = {name: side_by_side(placement, plans[name]) for name in names if name in plans}
    return {f"{name}, side by side": each for name, each in made.items() if each is not None}


def side_by_side(placement: Placement, plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """
    A plan of a placement whose regions that need nothing of each other run at once, on threads of their own; None where
    there are no such regions.
    """
    downstream = placement.graph.downstream
    engines: list[tuple[bool, int, int]] = []
    for region in plan["regions"]:
        if region["engine"] == HOST:
            continue
        inside = index_set(node["index"] for node in region["nodes"]) & ~placement.graph.constants
        after = union_of(map(downstream.__getitem__, members(inside)))
        engines.append((region["engine"] == OWN, inside, after))
    for (is_own, one, after_one), (other_is_own, other, after_other) in combinations(engines, 2):
        # Regions of own code that touch are one, and others of it are quick to start.
        if not (is_own and other_is_own) and not (after_one & other or after_other & one):
            return {**plan, SIDE_BY_SIDE: True}
    return None


def distinct_plans(plans: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """For each plan the first one that hands over the same regions in the same way: itself, when it is the first."""
    keys = {name: handing_over(plan) for name, plan in plans.items()}
    found: dict[str, str] = {}
    for name, key in keys.items():
        equal = (each for each in found.values() if keys[each] == key)
        found[name] = next(equal, name)
    return found


def as_before(
    plans: Mapping[str, Mapping[str, Any]], before: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]] | None:
    """
    Plans that ran before, with what is known of them now; None where another one has to run first. Next best plans have not:
    they are nearly as good as others.
    """
    keys = {name: handing_over(plan) for name, plan in plans.items()}
    known = {handing_over(plan) for plan in before.values()}
    if any(key not in known for name, key in keys.items() if not NEXT_BEST.fullmatch(name)):
        return None
    now = {keys[name]: plan for name, plan in plans.items()}
    return {name: now.get(handing_over(plan), plan) for name, plan in before.items()}


def handing_over(plan: Mapping[str, Any]) -> str:
    """The regions of a plan that other engines run, and whether they may run at once."""
    return json.dumps([plan.get(SIDE_BY_SIDE, False), handed_over(plan)])


def handed_over(plan: Mapping[str, Any]) -> list[object]:
    """The regions of a plan that other engines run; the rest is own code, however it is listed."""
    return [
        (region["engine"], region["nodes"], region["nested"])
        for region in plan["regions"]
        if region["engine"] not in (OWN, HOST)
    ]


def pairs_of(plans: Iterable[Mapping[str, Any]]) -> list[Pair]:
    """The pairs of engines between which values may go in some plans. Own code is one network where its regions touch."""
    found: dict[Pair, None] = {}
    for plan in plans:
        regions = [each["engine"] for each in plan["regions"] if each["engine"] != HOST]
        engines = dict.fromkeys(regions)
        found |= dict.fromkeys((None, each) for each in engines)
        touching = {each for each, count in Counter(regions).items() if count > 1} - {OWN}
        pairs = product(engines, engines)
        found |= dict.fromkeys((a, b) for a, b in pairs if a != b or a in touching)
    return list(found)


def apply_data(
    module: ModuleOp,
    data: object,
    backends: Sequence[Backend],
    options: CompileOptions,
    origin: Origin | None = None,
) -> dict[str, bytes]:
    """
    Carries out a plan on a prepared module, in place, and hands its functions to their engines. Returns what functions
    of engines that take ONNX were in the model of an origin, by their names.
    """
    graph = Graph.of(entry_function(module))
    graph.origin = origin
    plan = plan_of_data(data, graph)
    return apply_regions(module, graph, plan.parts, plan.binds, backends, options)


def apply_regions(
    module: ModuleOp,
    graph: Graph,
    parts: Sequence[SubGraph],
    binds: Callable[[str], bool],
    backends: Sequence[Backend],
    options: CompileOptions,
) -> dict[str, bytes]:
    """As `apply_data`, of disjoint parts of a graph; `binds` says which engines have constants in their functions."""
    before = {op for op in module.ops}
    made = rewrite(module, graph, parts, binds)
    taking = {each.name for each in backends if each.takes_onnx}
    with REGISTRY.using([each.compiler() for each in backends]):
        for op in list(module.ops):
            if isinstance(op, func.FuncOp) and op not in before:
                op.detach()
                module.body.block.add_op(hand_over(op))
        run_passes(module, [RelayToTirPass()], silent, options.limits)
    return {
        op.sym_name.data: made.onnx[op.sym_name.data].model().SerializeToString()
        for op in made.functions
        if op.sym_name.data in made.onnx and compiler_of(op) in taking
    }


def planned_model(
    module: ModuleOp,
    data: object,
    engines: Engines,
    options: CompileOptions,
    origin: Origin | None = None,
    *,
    name: str = "placed",
    cache: bool = True,
    fallback: bool = False,
    progress: Progress = silent,
) -> PartitionedModel:
    """
    The model that a plan makes of a prepared module, which is used up.

    Raises DiagnosticException for a plan that is for something else, and for what an engine cannot compile.
    """
    onnx = apply_data(module, data, engines.backends, options, origin)
    at_once = isinstance(data, Mapping) and cast(Mapping[str, object], data).get(SIDE_BY_SIDE)
    return compile_partition(
        module,
        name,
        engines.backends,
        options,
        cache=cache,
        fallback=fallback,
        progress=progress,
        onnx=onnx,
        side_by_side=bool(at_once),
    )
