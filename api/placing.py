"""
Models placed by measurement: see `xrelay place`, and `placement` of `xrelay.compile`.

    module ──► prepared as for regions ──► candidates, costs, search (xrelay.placement)
           ──► the best plans and each single engine run whole, in turns ──► one plan ships
           ──► its regions become functions ──► compiled as any partitioned model
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.partition.compilers import REGISTRY
from xrelay.backends.base import Array, Backend
from xrelay.backends.regions import RegionTensor
from xrelay.compiler import read_model, require_weights, run_passes
from xrelay.engines import Engines
from xrelay.errors import CompileError
from xrelay.options import CompileOptions, Progress, silent
from xrelay.own_costs import own_costs
from xrelay.partitioned import check_references, compile_partition, preparation_passes
from xrelay.placement.apply_placement import apply_plan
from xrelay.placement.confirmation import TURNS, Run, Verdict, confirm
from xrelay.placement.costs.borders import AT_HOST, BorderTable, Line, Place
from xrelay.placement.costs.cost import Estimator, FirstKnown
from xrelay.placement.costs.database import Database
from xrelay.placement.costs.job import numbers
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.measured import MeasuredCosts, RecordedCosts
from xrelay.placement.costs.model import ModelCosts, fitted_models
from xrelay.placement.costs.workers import WorkerExecutor
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.placing import Placement, Request, place, restricted
from xrelay.placement.plan_file import plan_data, plan_of_data, read_plan
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.placement.rules.defaults import OWN_KERNELS, own_rule
from xrelay.runtime.cache import object_cache
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.signature import Shapes
from xrelay.transforms.partition_graph import hand_over
from xrelay.transforms.relay_to_tir import RelayToTirPass
from xrelay.transforms.rules.copying import copied

if TYPE_CHECKING:
    from onnx import ModelProto

STEP_SECONDS = 8e-6
"""What each region costs beside its own time: a step of a partitioned model."""
BORDER_BANDWIDTH = 5e9
"""Bytes a second of a value that leaves, or enters, the layouts of own code."""
TURN_SECONDS = 0.05
"""How long a whole network runs in one turn, at least."""
CLOSE = 1e-3
"""How far outputs may be from own code's, of the largest element: whole networks add up roundings."""


@dataclass(frozen=True)
class Settings:
    """How a placement is made."""

    request: Request = field(default_factory=Request)
    database: Path | None = None
    """Where measurements are kept; by default beside the cache of compiled models."""
    workers: int = 1
    measure_seconds: float = 300.0
    """How long all measurements may take."""
    sample_seconds: float = 0.1
    """How long one measurement may take."""
    is_confirmed: bool = True
    """Whether whole runs decide in the end."""
    turns: int = TURNS
    """How often each finalist has its turn, at first."""
    executor: Executor | None = None
    """What runs measurements, in the place of worker processes of this machine."""


@dataclass
class Placed:
    """A placement that was made."""

    placement: Placement
    plan: dict[str, Any]
    """The plan that ships, as JSON has it."""
    verdict: Verdict | None
    excluded: Mapping[str, str]
    """Plans that were not tried, with reasons."""
    measured: int
    """How many measurements were made."""


@contextmanager
def opened_database(path: Path | None) -> Generator[Database]:
    """The database of measurements; one for this placement alone when there is no cache."""
    place_ = object_cache() if path is None else None
    if path is not None:
        yield Database(path)
    elif place_ is not None:
        place_.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield Database(place_.folder / "placement.sqlite")
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Database(Path(folder) / "placement.sqlite")


def prepare(module: ModuleOp, options: CompileOptions, progress: Progress = silent) -> Graph:
    """Prepares a module, in place, as partitioned models are, and gives its graph."""
    run_passes(module, preparation_passes(), progress, options.limits)
    check_references(module)
    return Graph.of(entry_function(module))


def borders_of(engines: Sequence[str]) -> BorderTable:
    """What borders between engines cost: own code leaves its layouts, and begins a step of its own."""
    lines: dict[tuple[Place, Place], Line] = {}
    for name in engines:
        if name != OWN:
            lines[Place(name), Place(OWN)] = Line(STEP_SECONDS, BORDER_BANDWIDTH)
            lines[Place(OWN), Place(name)] = Line(STEP_SECONDS, BORDER_BANDWIDTH)
            lines[Place(name), Place(name)] = lines[AT_HOST, Place(name)] = Line(STEP_SECONDS)
    return BorderTable(lines, Line(STEP_SECONDS))


def find_placement(
    module: ModuleOp,
    engines: Engines,
    options: CompileOptions,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Placed:
    """
    Places a module, which is prepared in place.

    Raises DiagnosticException for what a user can mend.
    """
    settings = settings or Settings()
    graph = prepare(module, options, progress)
    described = engines.described()
    machine = Machine.here(options.threads)
    executor = settings.executor or WorkerExecutor(settings.workers)
    try:
        with opened_database(settings.database) as database:
            progress("profile own code")
            own = own_costs(module, graph, options, database)
            recorded = RecordedCosts(database, described, machine)
            costs = MeasuredCosts(
                database,
                described,
                machine,
                recorded.keys,
                executor=executor,
                sample_seconds=settings.sample_seconds,
                budget=settings.measure_seconds,
                progress=progress,
            )
            models = ModelCosts(fitted_models(database.measurements()))
            profiled: list[Estimator] = [] if own is None else [own]
            placement = place(
                graph,
                # What is profiled adds up, so that larger candidates of own code are no other plans.
                engines.rules(own_rule() if own is None else OWN_KERNELS),
                FirstKnown([*profiled, costs]),
                settings.request,
                borders=borders_of(list(described)),
                usual=FirstKnown([*profiled, recorded, models]),
                progress=progress,
            )
    finally:
        if settings.executor is None:
            executor.shutdown(cancel_futures=True)
    finalists = plans_to_try(placement, engines, machine)
    if not settings.is_confirmed or len(finalists) == 1:
        plan = plan_data(placement, machine, engines.facts())
        return Placed(placement, plan, None, {}, costs.measured)
    shipped, verdict, excluded = confirmed(
        module, finalists, engines, options, settings.turns, progress
    )
    plan = {**finalists[shipped], "shipped": shipped, "measured_seconds": verdict.seconds[shipped]}
    return Placed(placement, plan, verdict, excluded, costs.measured)


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
    module: ModuleOp, data: object, backends: Sequence[Backend], options: CompileOptions
) -> None:
    """Carries out a plan on a prepared module, in place, and hands its functions to their engines."""
    graph = Graph.of(entry_function(module))
    before = {op for op in module.ops}
    apply_plan(module, graph, plan_of_data(data, graph))
    with REGISTRY.using([each.compiler() for each in backends]):
        for op in list(module.ops):
            if isinstance(op, func.FuncOp) and op not in before:
                op.detach()
                module.body.block.add_op(hand_over(op))
        run_passes(module, [RelayToTirPass()], silent, options.limits)


def confirmed(
    module: ModuleOp,
    finalists: Mapping[str, Mapping[str, Any]],
    engines: Engines,
    options: CompileOptions,
    turns: int,
    progress: Progress,
) -> tuple[str, Verdict, dict[str, str]]:
    """Which plan ships, by whole runs in turns, and which were not tried because their results differ."""
    runs: dict[str, Run] = {}
    excluded: dict[str, str] = {}
    expected: dict[str, Array] | None = None
    order = sorted(finalists, key=lambda name: name != OWN)
    for name in order:
        progress(f"compile {name}")
        copy = copied(module)
        apply_data(copy, finalists[name], engines.backends, options)
        model = compile_partition(copy, "placed", engines.backends, options)
        inputs = {
            spec.name: numbers(RegionTensor(spec.shape, spec.dtype))
            for spec in model.signature.inputs
        }
        outputs = model.run(inputs)
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
    """Runs a model for one turn; the first run does not count."""

    def turn() -> float:
        model.run(inputs)
        samples: list[float] = []
        end = time.perf_counter() + TURN_SECONDS
        while len(samples) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            model.run(inputs)
            samples.append(time.perf_counter() - start)
        return float(np.median(samples))

    return turn


def carry_out(
    module: ModuleOp,
    engines: Engines,
    options: CompileOptions,
    placement: str | Path,
    progress: Progress = silent,
) -> None:
    """
    Cuts a module, in place, into the regions of a plan in a file, or, for "measured", of one that is found now.

    Raises DiagnosticException for what a user can mend, a plan for another model, machine or engine among it.
    """
    if placement == "measured":
        data: object = find_placement(module, engines, options, progress=progress).plan
    else:
        plan = read_plan(Path(placement), prepare(module, options, progress))
        plan.check_here(options.threads, engines.facts())
        data = plan.data
    apply_data(module, data, engines.backends, options)


def compile_placed(
    model: str | Path | ModelProto | ModuleOp,
    shapes: Shapes | None,
    options: CompileOptions,
    backends: Sequence[str | Backend],
    placement: str | Path,
    *,
    cache: bool = True,
    fallback: bool = False,
    progress: Progress = silent,
) -> PartitionedModel:
    """
    A model whose regions a plan in a file says, or, for "measured", one that is found now; see `xrelay.compile`.

    Raises DiagnosticException as `carry_out`.
    """
    if options.profile:
        raise CompileError("profile is for models that run in one engine, not with backends")
    engines = Engines.of(backends)
    progress("read the model")
    module, name = read_model(model, shapes, options.limits)
    require_weights(module)
    carry_out(module, engines, options, placement, progress)
    return compile_partition(
        module, name, engines.backends, options, cache=cache, fallback=fallback, progress=progress
    )
