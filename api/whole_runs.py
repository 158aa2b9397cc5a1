"""Plans that are run whole: compiled, compared with own code, timed in turns, and refined by what that says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function, ports
from xrelay.backends.base import Array
from xrelay.dialects.shapes import leaf_types
from xrelay.engines import Engines
from xrelay.finalists import handed_over, handing_over, planned_model
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.relay import interpret
from xrelay.options import CompileOptions, Progress
from xrelay.partitioned import compile_partition
from xrelay.placement.confirmation import Run, Verdict, confirm
from xrelay.placement.costs.inputs import inputs_in_turn
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.timing import clock_for, one_turn, settle
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.methods import ROTATING, WARM, Inputs
from xrelay.placement.placing import Placement, restricted, was_run
from xrelay.placement.plan_file import SIDE_BY_SIDE, plan_data
from xrelay.placement.refining import Groups
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import OWN
from xrelay.placement.search.evolution import Evolution, Genes
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.transforms.rules.copying import copied

CLOSE = 1e-3
"""How far outputs may be from own code's, of the largest element: whole networks add up roundings."""
CLOSE_IN_STEPS = 0.25
"""The same for networks with small integers: one that is rounded the other way is a step in all layers behind it."""
MOST_GENERATIONS = 1000
"""Of a refinement, which time ends as a rule."""


class WholeRuns:
    """Compiles plans for a prepared module, which stays as it is, and compares what they give."""

    def __init__(
        self,
        graph: Graph,
        module: ModuleOp,
        engines: Engines,
        options: CompileOptions,
        inputs: Inputs = WARM,
    ):
        """`graph` is that of the module."""
        self._graph, self._module = graph, module
        self._engines, self._options = engines, options
        self._inputs: Inputs = inputs
        self._given: GivenInputs | None = None
        """Those of all plans, which take the same ones."""
        self._close = CLOSE_IN_STEPS if rounds(graph) else CLOSE
        self._expected: Mapping[str, Array] | None = None
        """The outputs of own code alone, or of the interpreter where it has no code."""
        self._finalists: dict[str, Run | str] = {}
        self.runs: Mapping[str, Run] = {}
        """What runs the finalists, by name."""

    def finalists(
        self, plans: Mapping[str, Mapping[str, Any]], progress: Progress
    ) -> tuple[dict[str, Run], dict[str, str]]:
        """
        What runs each plan, own code first, and the reasons why others cannot run. What runs plans that hand over the same regions
        is kept for the next time, if they come again then.
        """
        before, self._finalists = self._finalists, {}
        runs: dict[str, Run] = {}
        excluded: dict[str, str] = {}
        for name in sorted(plans, key=lambda name: name != OWN):
            key = handing_over(plans[name])
            found = before.get(key)
            if found is None:
                progress(f"compile {name}")
                try:
                    found = self.run(plans[name])
                except DiagnosticException as error:
                    found = str(error).strip().partition("\n")[0]
            self._finalists[key] = found
            if isinstance(found, str):
                excluded[name] = found
            else:
                runs[name] = found
        self.runs = runs
        return runs, excluded

    def run(self, plan: Mapping[str, Any]) -> Run:
        """
        What runs a plan for one turn. Outputs are compared with those of own code alone.

        Raises DiagnosticException for a plan that an engine cannot run, or whose outputs are too far away.
        """
        module, origin = copied(self._module), self._graph.origin
        model = planned_model(module, plan, self._engines, self._options, origin)
        if plan.get(SIDE_BY_SIDE) and len(model.stages) == len(model.steps):
            raise PlacementError("none of its regions run at once: each waits for others")
        self._given = self._given or example_inputs(model, self._inputs)
        outputs = model.run(self._given())
        if self._expected is None:
            self._expected = outputs if not handed_over(plan) else self._alone(self._given())
        far = farthest(outputs, self._expected)
        if far > self._close:
            raise PlacementError(
                f"its outputs are {far:.2g} of the largest element away, expected {self._close:g}"
            )
        return run_of(model, self._given)

    def _alone(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """What the program gives without other engines."""
        try:
            whole = compile_partition(copied(self._module), "alone", [], self._options)
        except DiagnosticException:
            outputs = interpret(self._module, list(inputs.values()))
            names = [port.name for port in ports(entry_function(self._module))[1]]
            return dict(zip(names, outputs, strict=True))
        return whole.run(inputs)


def confirmed(
    whole: WholeRuns,
    finalists: Mapping[str, Mapping[str, Any]],
    engines: Engines,
    turns: int,
    progress: Progress,
    left_out: Mapping[str, str] | None = None,
    later: int = 0,
) -> tuple[str, Verdict, dict[str, str]]:
    """
    Which plan ships, by whole runs in turns, and which were not tried, with the reasons, those that were left out before
    among them. Where pins or a memory limit leave no engine that runs the model alone, the plan that is best by its parts is
    what others have to beat. So many tests may follow `later`.

    Raises PlacementError when no plan can be run.
    """
    runs, failed = whole.finalists(finalists, progress)
    excluded = {**(left_out or {}), **failed}
    if not runs:
        reasons = "".join(f"; {name}: {reason}" for name, reason in excluded.items())
        raise PlacementError(f"no plan can be run whole{reasons}")
    singles = {name: run for name, run in runs.items() if name in engines.facts()}
    if not singles:
        first = next(name for name in finalists if name in runs)
        singles = {first: runs[first]}
    progress("run the finalists in turns")
    mixed = {name: run for name, run in runs.items() if name not in singles}
    verdict = confirm(mixed, singles, turns, later)
    return verdict.shipped, verdict, excluded


def refined(
    placement: Placement,
    whole: WholeRuns,
    engines: Engines,
    machine: Machine,
    seconds: float,
    progress: Progress,
) -> dict[str, Any] | None:
    """
    The fastest of the plans that Collage's evolution tries on whole runs within a time, as JSON has it; None when that
    is the best plan itself, or has parts that no worker has run. What fails or computes something else is no plan.
    """
    if not was_run(placement, 0):
        return None
    groups, facts = Groups.of(placement), engines.facts()
    own = restricted(placement, OWN)
    if own is not None:
        whole.run(plan_data(own, machine, facts))

    def time_of(genes: Genes) -> float:
        found = groups.at(genes)
        if found is None:
            return inf
        progress(f"refine: {len(evolution.known)} plans run")
        try:
            turn = whole.run(plan_data(found, machine, facts))
        except DiagnosticException:
            return inf
        settle()
        return turn()

    evolution = Evolution(groups.counts, time_of)
    best, _ = evolution.run(groups.start, MOST_GENERATIONS, seconds)
    found = None if best == groups.start else groups.at(best)
    return None if found is None else plan_data(found, machine, facts)


def rounds(graph: Graph) -> bool:
    """Whether a network computes small integers."""
    values = (value for node in graph.nodes if is_call(node.op) for value in node.values)
    types = (leaf for value in values for leaf in leaf_types(value.type))
    dtypes = (dtype_of(each.element_type) for each in types)
    return any(each.itemsize == 1 and each.kind in "iu" for each in dtypes)


GivenInputs = Callable[[], Mapping[str, Array]]
"""Gives the inputs of a run."""


def example_inputs(model: PartitionedModel, inputs: Inputs = WARM) -> GivenInputs:
    """
    Seeded inputs of a model, for one run after the other.

    Raises ModelError when there is no memory for a pool of them.
    """
    specs = model.signature.inputs
    names = [spec.name for spec in specs]
    given = inputs_in_turn(specs, range(len(specs)) if inputs == ROTATING else ())
    return lambda: dict(zip(names, given(), strict=True))


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


def run_of(model: PartitionedModel, given: GivenInputs) -> Run:
    """Runs a model for one turn, by the clock that parts are measured by."""
    clock = clock_for(model.signature.threads)
    return lambda: one_turn(model.run, given, clock)
