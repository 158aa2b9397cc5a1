"""Plans that are run whole: carried out, compiled, compared with own code, and timed in turns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.partition.compilers import REGISTRY
from xrelay.backends.base import Array, Backend
from xrelay.backends.regions import RegionTensor
from xrelay.compiler import run_passes
from xrelay.engines import Engines
from xrelay.options import CompileOptions, Progress, silent
from xrelay.partitioned import compile_partition, compiler_of
from xrelay.placement.apply_placement import apply_plan
from xrelay.placement.confirmation import Run, Verdict, confirm
from xrelay.placement.costs.job import numbers
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.timing import clock_for
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.origin import Origin
from xrelay.placement.placing import Placement, restricted
from xrelay.placement.plan_file import plan_data, plan_of_data
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.transforms.partition_graph import hand_over
from xrelay.transforms.relay_to_tir import RelayToTirPass
from xrelay.transforms.rules.copying import copied

TURN_SECONDS = 0.05
"""How long a whole network runs in one turn, at least."""
CLOSE = 1e-3
"""How far outputs may be from own code's, of the largest element: whole networks add up roundings."""


def plans_to_try(
    placement: Placement, engines: Engines, machine: Machine
) -> dict[str, dict[str, Any]]:
    """The best plans, and one for each engine alone, as JSON has them; without those that are equal."""
    facts = engines.facts()
    found = {
        f"plan {number + 1}": plan_data(placement, machine, facts, number)
        for number in range(len(placement.outcome.plans))
    }
    for name in facts:
        single = restricted(placement, name)
        if single is not None:
            found[name] = plan_data(single, machine, facts)
    distinct: dict[str, dict[str, Any]] = {}
    for name in sorted(found, key=lambda each: each not in facts):
        if all(handed_over(found[name]) != handed_over(other) for other in distinct.values()):
            distinct[name] = found[name]
    return distinct


def handed_over(plan: Mapping[str, Any]) -> list[object]:
    """The regions of a plan that other engines run; the rest is own code, however it is listed."""
    return [region for region in plan["regions"] if region["engine"] not in (OWN, HOST)]


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
    before = {op for op in module.ops}
    made = apply_plan(module, graph, plan_of_data(data, graph))
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
    return compile_partition(
        module,
        name,
        engines.backends,
        options,
        cache=cache,
        fallback=fallback,
        progress=progress,
        onnx=onnx,
    )


def confirmed(
    graph: Graph,
    module: ModuleOp,
    finalists: Mapping[str, Mapping[str, Any]],
    engines: Engines,
    options: CompileOptions,
    turns: int,
    progress: Progress,
) -> tuple[str, Verdict, dict[str, str]]:
    """
    Which plan ships, by whole runs in turns, and which were not tried, with the reasons.

    Raises PlacementError when no engine runs the model alone.
    """
    runs: dict[str, Run] = {}
    excluded: dict[str, str] = {}
    expected: dict[str, Array] | None = None
    for name in sorted(finalists, key=lambda name: name != OWN):
        progress(f"compile {name}")
        try:
            model = planned_model(copied(module), finalists[name], engines, options, graph.origin)
            inputs = example_inputs(model)
            outputs = model.run(inputs)
        except DiagnosticException as error:
            excluded[name] = str(error).strip().partition("\n")[0]
            continue
        expected = expected or outputs
        far = farthest(outputs, expected)
        if far > CLOSE:
            excluded[name] = (
                f"its outputs are {far:.2g} of the largest element away, expected {CLOSE:g}"
            )
        else:
            runs[name] = run_of(model, inputs)
    singles = {name: run for name, run in runs.items() if name in engines.facts()}
    if not singles:
        raise PlacementError("no engine runs the model alone, so that no plan can be confirmed")
    progress("run the finalists in turns")
    verdict = confirm({n: run for n, run in runs.items() if n not in singles}, singles, turns)
    return verdict.shipped, verdict, excluded


def example_inputs(model: PartitionedModel) -> dict[str, Array]:
    """Seeded inputs of a model."""
    return {
        spec.name: numbers(RegionTensor(spec.shape, spec.dtype)) for spec in model.signature.inputs
    }


def farthest(found: Mapping[str, Array], expected: Mapping[str, Array]) -> float:
    """The largest difference of any output, of its largest element; infinite where only one is finite."""
    worst = 0.0
    for name, wanted in expected.items():
        right, ours = wanted.astype(np.float64), found[name].astype(np.float64)
        same = (right == ours) | (np.isnan(right) & np.isnan(ours))
        if same.all():
            continue
        scale = float(np.max(np.abs(right[np.isfinite(right)]), initial=1e-30))
        with np.errstate(invalid="ignore"):
            gap = np.max(np.abs(right - ours)[~same])
        worst = max(worst, float(gap) / scale if np.isfinite(gap) else float("inf"))
    return worst


def run_of(model: PartitionedModel, inputs: Mapping[str, Array]) -> Run:
    """Runs a model for one turn, by the clock that parts are measured by; the first run does not count."""
    clock = clock_for(model.signature.threads)

    def turn() -> float:
        model.run(inputs)
        samples: list[float] = []
        end = time.perf_counter() + TURN_SECONDS
        while len(samples) < 3 or time.perf_counter() < end:
            start = clock()
            model.run(inputs)
            samples.append(clock() - start)
        return float(np.median(samples))

    return turn
