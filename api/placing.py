"""
Models placed by measurement: see `xrelay place`, and `placement` of `xrelay.compile`.

    module ──► prepared as for regions ──► candidates, costs, search (xrelay.placement)
           ──► (with refine_seconds) groups of the best plan change engines, by whole runs
           ──► the best plans and each single engine run whole, in turns ──► one plan ships
           ──► (with remeasures) parts and borders of plans that take another time than they say have turns as
               well, and the search begins anew
           ──► its regions become functions ──► compiled as any partitioned model
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from xrelay.backends.base import Backend
from xrelay.engines import Engines
from xrelay.errors import CompileError
from xrelay.finalists import (
    as_before,
    distinct_plans,
    handed_over,
    pairs_of,
    planned_model,
    plans_at_once,
    plans_to_try,
)
from xrelay.options import CompileOptions, ModelSource, Progress, silent
from xrelay.own_costs import PROFILED, StepRule, note_own_turns, own_costs, own_turn
from xrelay.placement.confirmation import TURNS, Run, Verdict, take_turns
from xrelay.placement.costs.behind import bytes_of_run
from xrelay.placement.costs.borders import BorderTable
from xrelay.placement.costs.cost import MEASURED, Estimator, FirstKnown
from xrelay.placement.costs.crossings import Crossings, Pair
from xrelay.placement.costs.database import Database
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.measured import MeasuredCosts, RecordedCosts
from xrelay.placement.costs.model import FittedCosts
from xrelay.placement.costs.workers import WorkerExecutor
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import index_set
from xrelay.placement.methods import WARM, Inputs
from xrelay.placement.placing import Placement, Request, of_what_ran, place
from xrelay.placement.plan_file import SIDE_BY_SIDE, nested_data, plan_data, read_plan
from xrelay.placement.rules.candidate import Candidate
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

MOST_TURNS = 10_000
MOST_REMEASURES = 100
CONTRADICTED = 0.1
"""A whole run contradicts the costs of its parts where their sum is off by more than this share of it."""
CONTRADICTED_RATIO = 0.05
"""So does one whose ratio to the best single engine, which plans are chosen by, is off by more than this share."""
OWN_PART = "part of own code"
"""What own code, which was profiled, is called among parts."""
MorePlans = Callable[[Placement], Mapping[str, Mapping[str, Any]]]
"""Gives plans by name, as JSON has them, of what was found."""


@dataclass(frozen=True)
class Settings:
    """How a placement is made."""

    request: Request = field(default_factory=Request)
    database: Path | None = None
    """Where measurements are kept; by default beside the cache of compiled models."""
    workers: int = 1
    measure_seconds: float = 300.0
    """How long all measurements may take, apart from those in turns with whole runs; those of borders half as long."""
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
    remeasures: int = 0
    """
    How often, at most, parts and borders of plans are measured in turns with whole runs, and the search and its refinement
    repeated, where these take another time than their parts say.
    """
    executor: Executor | None = None
    """What runs measurements, in the place of worker processes of this machine."""

    def __post_init__(self) -> None:
        """Raises PlacementError for what makes no sense."""
        number_argument("workers", self.workers, 1, MAX_THREADS, PlacementError)
        number_argument("turns", self.turns, 1, MOST_TURNS, PlacementError)
        number_argument("remeasures", self.remeasures, 0, MOST_REMEASURES, PlacementError)
        if self.inputs not in get_args(Inputs):
            known = ", ".join(get_args(Inputs))
            raise PlacementError(f"the inputs are '{self.inputs}', expected one of {known}")
        check_seconds("sample_seconds", self.sample_seconds, PlacementError, positive=True)
        check_seconds("measure_seconds", self.measure_seconds, PlacementError)
        check_seconds("refine_seconds", self.refine_seconds, PlacementError, finite=True)
        if not self.is_confirmed and (self.refine_seconds or self.remeasures):
            raise PlacementError(
                "is_confirmed is False, expected True with refine_seconds and remeasures, which go with whole runs"
            )


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


@dataclass(frozen=True)
class _Turns:
    """Parts, and borders between them, that are measured in turns with whole runs."""

    candidates: Sequence[Candidate]
    pairs: Sequence[Pair]
    runs: Mapping[str, Run]
    """What runs them, by `part` or `border` and their keys, and own code as a whole, by `OWN_PART`."""


@dataclass
class _Placing:
    """The search for the placement of a prepared program, which may be repeated, and what it knows."""

    source: Source
    graph: Graph
    engines: Engines
    options: CompileOptions
    settings: Settings
    progress: Progress
    database: Database
    executor: Executor

    @cached_property
    def machine(self) -> Machine:
        """Where engines run."""
        return Machine.here(self.options.threads)

    @property
    def measured(self) -> int:
        """How many measurements were made."""
        return self.costs.measured + self.crossings.measured

    @cached_property
    def costs(self) -> MeasuredCosts:
        """What parts cost on engines."""
        settings = self.settings
        return MeasuredCosts(
            self.database,
            self.engines.described(),
            self.machine,
            inputs=settings.inputs,
            executor=self.executor,
            sample_seconds=settings.sample_seconds,
            budget=settings.measure_seconds,
            progress=self.progress,
        )

    @cached_property
    def crossings(self) -> Crossings:
        """What measures borders."""
        return Crossings(
            self.database,
            self.engines.described(),
            self.machine,
            executor=self.executor,
            behind=bytes_of_run(self.graph, self.options.threads),
            # Single engines, which are measured after these, decide what may ship.
            budget=self.settings.measure_seconds / 2,
            progress=self.progress,
        )

    def borders(self) -> BorderTable:
        """What borders cost, for all that is known and measured now."""
        before = self.crossings.spent
        found = self.crossings.table()
        self.costs.spent += self.crossings.spent - before
        return found

    def run(self) -> tuple[Placement, Placement | None]:
        """The best placement for all that is known and measured now, and that of priority order."""
        graph, module, options = self.graph, self.source.module, self.options
        borders, costs = self.borders(), self.costs
        self.progress("profile own code")
        inputs, begun = self.settings.inputs, borders.begun
        own = own_costs(module, graph, options, self.database, inputs, begun=begun)
        profiled: list[Estimator] = [] if own is None else [own]
        self.progress("cost priority order")
        # Before the search, whose guesses follow all that is measured.
        regions = priority_regions(module, graph, self.engines.backends, options)
        region_costs = FirstKnown([*profiled, costs]).estimates(regions)
        recorded = RecordedCosts(
            self.database, costs.engines, self.machine, costs.keys, self.settings.inputs
        )
        models = FittedCosts(lambda: self.database.measurements(self.machine))
        # What is profiled adds up; parts of steps are for what other engines leave of these.
        own_parts = own_rule() if own is None else Union((StepRule(own.steps), OWN_KERNELS))
        placement = place(
            graph,
            self.engines.rules(own_parts),
            FirstKnown([*profiled, costs]),
            self.settings.request,
            borders=borders,
            usual=FirstKnown([*profiled, recorded, models]),
            progress=self.progress,
        )
        return placement, priority_placement(placement, regions, region_costs)

    def plans(
        self, placement: Placement, priority: Placement | None, whole: WholeRuns | None = None
    ) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
        """Plans that may ship, by name, the refined one with `whole` among them; and those that are left out, with reasons."""
        engines, seconds = self.engines, self.settings.refine_seconds
        plans: dict[str, Mapping[str, Any]] = {}
        made, left_out = plans_to_try(placement, engines, self.machine, priority)
        plans |= made
        if whole is not None and seconds > 0:
            better = refined(placement, whole, engines, self.machine, seconds, self.progress)
            plans |= {} if better is None else {"refined": better}
        return plans | plans_at_once(placement, plans, self.options.threads), left_out

    def wait(self) -> None:
        """Waits for measurements that had begun when there was no time left for them, which slow down whole runs."""
        wait([*self.costs.begun, *self.crossings.begun])

    @cached_property
    def own_turn(self) -> Run:
        """What runs own code alone."""
        self.progress("compile own code alone")
        return own_turn(self.source.module, self.graph, self.options, self.settings.inputs)

    def turns(
        self, placements: Sequence[Placement], plans: Collection[Mapping[str, Any]]
    ) -> _Turns:
        """What measures the parts of some plans of placements in turns, and the borders that these have."""
        costs = {
            _region(each.engine, each.rule, each.inside, map(nested_data, each.part.nested)): (
                each,
                cost,
            )
            for placement in placements
            for each, cost in zip(placement.candidates, placement.costs, strict=True)
        }
        keys = (
            _region(
                region["engine"],
                region["rule"],
                index_set(node["index"] for node in region["nodes"]),
                region["nested"],
            )
            for plan in plans
            for region in plan["regions"]
        )
        # Plans of an earlier search may have regions that joined others, which this one has not tried.
        known = [costs[key] for key in keys if key in costs]
        measured = {each: cost for each, cost in known if cost.source == MEASURED}
        parts = self.costs.turns(measured)
        runs = {f"part {key}": run for key, run in parts.items()}
        pairs = pairs_of(plans)
        runs |= {f"border {key}": run for key, run in self.crossings.turns(pairs).items()}
        if any(cost.source == PROFILED for _, cost in known):
            runs[OWN_PART] = self.own_turn
        return _Turns(list(measured), pairs, runs)

    def note(self, turns: _Turns, taken: Mapping[str, Sequence[float]]) -> None:
        """Notes what parts and borders took in their turns, in the place of what was known."""
        parts = {name.removeprefix("part "): each for name, each in taken.items()}
        self.costs.note(turns.candidates, parts)
        borders = {name.removeprefix("border "): each for name, each in taken.items()}
        self.crossings.note(turns.pairs, borders)
        if OWN_PART in taken:
            inputs = self.settings.inputs
            note_own_turns(self.graph, self.options, self.database, taken[OWN_PART], inputs)


def _region(engine: str, rule: str, inside: int, nested: Iterable[object]) -> tuple[object, ...]:
    """What a region of a plan is known by."""
    return engine, rule, inside, json.dumps(list(nested))


def find_placement(
    source: Source,
    engines: Engines,
    options: CompileOptions,
    settings: Settings | None = None,
    progress: Progress = silent,
    beside: MorePlans = lambda placement: {},
) -> Placed:
    """
    Places a program, which is prepared in place. Plans `beside` those that are best run whole as well, and may ship.

    Raises DiagnosticException for what a user can mend.
    """
    settings = settings or Settings()
    graph = source.prepared(options, progress)
    with _measuring(settings) as executor, opened_database(settings.database) as database:
        search = _Placing(source, graph, engines, options, settings, progress, database, executor)
        if settings.is_confirmed:
            return _confirmed(search, beside)
        placement, priority = search.run()
        plans, left_out = search.plans(placement, priority)
        plan = plan_data(placement, search.machine, engines.facts())
        return Placed(placement, plan, None, left_out, plans, search.measured)


def _confirmed(search: _Placing, beside: MorePlans) -> Placed:
    """What whole runs say of the placement that is found, or of the one that is found when parts were measured again."""
    settings, engines, progress = search.settings, search.engines, search.progress
    whole = WholeRuns(search.graph, search.source.module, engines, search.options, settings.inputs)
    ran: tuple[str, Verdict, dict[str, str]] | None = None
    finalists: Mapping[str, Mapping[str, Any]] = {}
    left = settings.remeasures
    while True:
        found, priority = search.run()
        placement = of_what_ran(found)
        plans, left_out = search.plans(placement, priority, whole)
        others = beside(placement)
        plans |= others
        distinct = {name: plans[name] for name in dict.fromkeys(distinct_plans(plans).values())}
        if [handed_over(each) for each in distinct.values()] == [[]]:
            (only,) = distinct.values()
            plan = _shipped(placement, only)
            return Placed(placement, plan, None, left_out, plans, search.measured)
        search.wait()
        same = None if ran is None else as_before(distinct, finalists)
        finalists = distinct if same is None else same
        if ran is None or same is None:
            ran = confirmed(
                *(whole, finalists, engines, settings.turns, progress, left_out),
                settings.remeasures,
            )
        shipped, verdict, excluded = ran
        names = [name for name in verdict.seconds if name not in others]
        wrong = contradicted(names, finalists, verdict)
        if not (wrong and left):
            break
        placements = [placement] if priority is None else [placement, priority]
        # Those of all plans: what a machine does meanwhile slows down all of them, or none.
        turns = search.turns(placements, [finalists[name] for name in names])
        if not turns.runs:
            break
        progress(f"measure parts again, as {', '.join(wrong)} took another time than they say")
        taken = take_turns({**whole.runs, **turns.runs}, settings.turns)
        search.note(turns, taken)
        again = {name: taken[name] for name in verdict.seconds}
        verdict = verdict.after(again, settings.remeasures)
        ran = verdict.shipped, verdict, excluded
        left -= 1
    plan = _shipped(placement, finalists[shipped])
    plan |= {"shipped": shipped, "measured_seconds": verdict.seconds[shipped]}
    return Placed(placement, plan, verdict, excluded, {**plans, **finalists}, search.measured)


def contradicted(
    names: Iterable[str], plans: Mapping[str, Mapping[str, Any]], verdict: Verdict
) -> list[str]:
    """
    Those plans that take another time as a whole than their parts say, or another one beside the best single engine. Of
    regions that run at once these say nothing.
    """
    single = plans[verdict.best_single]["seconds"] / verdict.seconds[verdict.best_single]
    told = {
        name: plans[name]["seconds"] / verdict.seconds[name]
        for name in names
        if not plans[name].get(SIDE_BY_SIDE)
    }
    return [
        name
        for name, ratio in told.items()
        if abs(ratio - 1) > CONTRADICTED or abs(ratio - single) > CONTRADICTED_RATIO * single
    ]


def _shipped(placement: Placement, plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with the bound of the whole search, not of what was looked at for one engine."""
    bound, seconds = placement.outcome.bound, plan["seconds"]
    gap = 1 - bound / seconds if seconds > bound else 0.0
    return {**plan, "bound": bound, "gap": gap}


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
    model: ModelSource,
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
