"""
Models placed by measurement: see `xrelay place`, and `placement` of `xrelay.compile`.

    module ──► prepared as for regions ──► candidates, costs, search (xrelay.placement)
           ──► (with refine_seconds) groups of the best plan change engines, by whole runs
           ──► the best plans and each single engine run whole, in turns ──► one plan ships
           ──► its regions become functions ──► compiled as any partitioned model
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from xdsl.dialects.builtin import ModuleOp

from xrelay.backends.base import Backend
from xrelay.engines import Engines
from xrelay.errors import CompileError
from xrelay.finalists import distinct_plans, handed_over, planned_model, plans_at_once, plans_to_try
from xrelay.options import CompileOptions, Progress, silent
from xrelay.own_costs import StepRule, own_costs
from xrelay.placement.confirmation import TURNS, Verdict
from xrelay.placement.costs.cost import Estimator, FirstKnown
from xrelay.placement.costs.crossings import Crossings
from xrelay.placement.costs.database import Database
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.measured import MeasuredCosts, RecordedCosts
from xrelay.placement.costs.model import FittedCosts
from xrelay.placement.costs.workers import WorkerExecutor
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.methods import WARM, Inputs
from xrelay.placement.placing import Placement, Request, of_what_ran, place
from xrelay.placement.plan_file import plan_data, read_plan
from xrelay.placement.rules.combinators import Union
from xrelay.placement.rules.defaults import OWN_KERNELS, own_rule
from xrelay.priority import priority_placement, priority_regions
from xrelay.runtime.arguments import check_seconds, number_argument
from xrelay.runtime.cache import object_cache
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.signature import Shapes
from xrelay.runtime.support import MAX_THREADS
from xrelay.sources import Source
from xrelay.whole_runs import WholeRuns, confirmed, refined

if TYPE_CHECKING:
    from onnx import ModelProto


MOST_TURNS = 10_000


@dataclass(frozen=True)
class Settings:
    """How a placement is made."""

    request: Request = field(default_factory=Request)
    database: Path | None = None
    """Where measurements are kept; by default beside the cache of compiled models."""
    workers: int = 1
    measure_seconds: float = 300.0
    """How long all measurements may take; those of borders half as long."""
    sample_seconds: float = 0.1
    """How long one measurement may take."""
    inputs: Inputs = WARM
    """What runs are timed on: the same inputs of the model each time, or others from a pool larger than caches."""
    refine_seconds: float = 0.0
    """How long Collage's evolution may change the best plan, by whole runs."""
    is_confirmed: bool = True
    """Whether whole runs decide in the end."""
    turns: int = TURNS
    """How often each finalist has its turn, at first."""
    executor: Executor | None = None
    """What runs measurements, in the place of worker processes of this machine."""

    def __post_init__(self) -> None:
        """Raises PlacementError for what makes no sense."""
        number_argument("workers", self.workers, 1, MAX_THREADS, PlacementError)
        number_argument("turns", self.turns, 1, MOST_TURNS, PlacementError)
        if self.inputs not in get_args(Inputs):
            known = ", ".join(get_args(Inputs))
            raise PlacementError(f"the inputs are '{self.inputs}', expected one of {known}")
        check_seconds("sample_seconds", self.sample_seconds, PlacementError, positive=True)
        check_seconds("measure_seconds", self.measure_seconds, PlacementError)
        check_seconds("refine_seconds", self.refine_seconds, PlacementError, finite=True)


@dataclass
class Placed:
    """A placement that was made."""

    placement: Placement
    plan: dict[str, Any]
    """The plan that ships, as JSON has it."""
    verdict: Verdict | None
    excluded: Mapping[str, str]
    """Plans that were not tried, with reasons."""
    plans: Mapping[str, Mapping[str, Any]]
    """All plans that were considered: the best ones, each engine alone, priority order."""
    measured: int
    """How many measurements were made."""


@contextmanager
def opened_database(path: Path | None) -> Generator[Database]:
    """The database of measurements; one for this placement alone when there is no cache."""
    place_ = object_cache() if path is None else None
    if path is not None:
        yield Database(path)
    elif place_ is not None:
        try:
            place_.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise PlacementError(
                f"measurements cannot be kept in '{place_.folder}': {error.strerror}; expected a folder, or a database of "
                "another place"
            ) from error
        yield Database(place_.folder / "placement.sqlite")
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Database(Path(folder) / "placement.sqlite")


@contextmanager
def _measuring(settings: Settings) -> Generator[Executor]:
    """What runs measurements."""
    if settings.executor is not None:
        yield settings.executor
        return
    workers = WorkerExecutor(settings.workers)
    try:
        yield workers
    finally:
        workers.shutdown(cancel_futures=True)


def find_placement(
    source: Source,
    engines: Engines,
    options: CompileOptions,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Placed:
    """
    Places a program, which is prepared in place.

    Raises DiagnosticException for what a user can mend.
    """
    settings = settings or Settings()
    graph = source.prepared(options, progress)
    machine = Machine.here(options.threads)
    placement, priority, measured = _searched(
        source, graph, engines, options, settings, machine, progress
    )
    if settings.is_confirmed:
        placement = of_what_ran(placement)
    plans, left_out = plans_to_try(placement, engines, machine, priority)
    whole = WholeRuns(graph, source.module, engines, options, settings.inputs)
    if settings.refine_seconds > 0:
        better = refined(placement, whole, engines, machine, settings.refine_seconds, progress)
        plans |= {} if better is None else {"refined": better}
    plans |= plans_at_once(placement, plans, options.threads)
    finalists = {name: plans[name] for name in dict.fromkeys(distinct_plans(plans).values())}
    if not settings.is_confirmed:
        plan = plan_data(placement, machine, engines.facts())
        return Placed(placement, plan, None, left_out, plans, measured)
    if [handed_over(each) for each in finalists.values()] == [[]]:
        (only,) = finalists.values()
        return Placed(placement, _shipped(placement, only), None, left_out, plans, measured)
    shipped, verdict, excluded = confirmed(
        whole, finalists, engines, settings.turns, progress, left_out
    )
    plan = _shipped(placement, finalists[shipped])
    plan |= {"shipped": shipped, "measured_seconds": verdict.seconds[shipped]}
    return Placed(placement, plan, verdict, excluded, plans, measured)


def _shipped(placement: Placement, plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with the bound of the whole search, not of what was looked at for one engine."""
    bound, seconds = placement.outcome.bound, plan["seconds"]
    gap = 1 - bound / seconds if seconds > bound else 0.0
    return {**plan, "bound": bound, "gap": gap}


def _searched(
    source: Source,
    graph: Graph,
    engines: Engines,
    options: CompileOptions,
    settings: Settings,
    machine: Machine,
    progress: Progress,
) -> tuple[Placement, Placement | None, int]:
    """The best plans, the placement of priority order, and how many measurements were made."""
    described = engines.described()
    with _measuring(settings) as executor, opened_database(settings.database) as database:
        progress("profile own code")
        own = own_costs(source.module, graph, options, database, settings.inputs)
        recorded = RecordedCosts(database, described, machine, inputs=settings.inputs)
        costs = MeasuredCosts(
            database,
            described,
            machine,
            recorded.keys,
            settings.inputs,
            executor=executor,
            sample_seconds=settings.sample_seconds,
            budget=settings.measure_seconds,
            progress=progress,
        )
        profiled: list[Estimator] = [] if own is None else [own]
        crossings = Crossings(
            database,
            described,
            machine,
            executor,
            # Single engines, which are measured after these, decide what may ship.
            budget=settings.measure_seconds / 2,
            progress=progress,
        )
        borders = crossings.table()
        costs.spent += crossings.spent
        progress("cost priority order")
        # Before the search, whose guesses follow all that is measured.
        regions = priority_regions(source.module, graph, engines.backends, options)
        region_costs = FirstKnown([*profiled, costs]).estimates(regions)
        models = FittedCosts(lambda: database.measurements(machine))
        placement = place(
            graph,
            # What is profiled adds up; parts of steps are for what other engines leave of these.
            engines.rules(own_rule() if own is None else Union((StepRule(own.steps), OWN_KERNELS))),
            FirstKnown([*profiled, costs]),
            settings.request,
            borders=borders,
            usual=FirstKnown([*profiled, recorded, models]),
            progress=progress,
        )
        priority = priority_placement(placement, regions, region_costs)
    return placement, priority, costs.measured + crossings.measured


def placed_model(
    source: Source,
    engines: Engines,
    options: CompileOptions,
    placement: str | Path,
    *,
    cache: bool = True,
    fallback: bool = False,
    progress: Progress = silent,
) -> PartitionedModel:
    """
    A program, which is used up, in the regions of a plan in a file, or, for "measured", of one that is found now.

    Raises DiagnosticException for what a user can mend, a plan for another model, machine or engine among it.
    """
    if options.profile:
        raise CompileError("profile is for models that run in one engine, not with backends")
    if placement == "measured":
        found = find_placement(source, engines, options, progress=progress)
        data, origin = found.plan, found.placement.graph.origin
    else:
        graph = source.prepared(options, progress)
        plan = read_plan(Path(placement), graph)
        plan.check_here(options.threads, engines.facts())
        data, origin = plan.data, graph.origin
    return planned_model(
        source.module,
        data,
        engines,
        options,
        origin,
        name=source.name,
        cache=cache,
        fallback=fallback,
        progress=progress,
    )


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
    """The model that `placed_model` makes of one in any form; see `xrelay.compile`."""
    engines = Engines.of(backends)
    progress("read the model")
    source = Source.read(model, shapes, options.limits)
    return placed_model(
        source, engines, options, placement, cache=cache, fallback=fallback, progress=progress
    )
