"""
What own code takes for its steps, in its network: alone, an operator would pay for layouts that its neighbours share, and
for memory that fusion saves.

The network is compiled with a profile, its operations numbered. A step computes the nodes whose numbers it has; those that
passes took apart or folded go with what needs them, or else with what they need. The sum is what a run takes by the
clock that all engines are measured by. What a part of a step takes is not known by that.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xrelay.compiler import compile_code
from xrelay.numbering import number_in, numbered
from xrelay.options import CompileOptions
from xrelay.placement.costs.cost import UNKNOWN, Cost, Estimator
from xrelay.placement.costs.database import Database, Step
from xrelay.placement.costs.inputs import inputs_in_turn
from xrelay.placement.costs.key import Key, Machine, digest
from xrelay.placement.costs.timing import WHOLE_WINDOWS, clock_for, measure, one_turn
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import first_inside, members
from xrelay.placement.graph.sub_graph import SubGraph
from xrelay.placement.methods import ROTATING, WARM, Inputs
from xrelay.placement.placing import given_nodes
from xrelay.placement.plan_file import model_digest
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placement.rules.rule import Rule
from xrelay.runtime.model import Model
from xrelay.runtime.profile import StepTime, profile_model

STAMP_SECONDS = 1e-6
"""What a profile adds to each step, at least."""
PROFILED = "profiled"
"""The source of costs that a profile of the whole network says."""
UNSEEN = 0.01
"""By so much of a run a profile may lengthen it."""


@dataclass(frozen=True)
class OwnCosts(Estimator):
    """The costs of candidates of own code that are whole steps."""

    steps: Sequence[Step]

    @cached_property
    def step_of(self) -> Mapping[int, Step]:
        """The step of each node."""
        return {index: each for each in self.steps for index in members(each.nodes)}

    def estimate(self, candidate: Candidate) -> Cost:
        if candidate.engine != OWN:
            return UNKNOWN
        left, seconds = candidate.part.flow, 0.0
        while left:
            step = self.step_of.get(first_inside(left))
            if step is None or step.nodes & ~left:
                return UNKNOWN
            left &= ~step.nodes
            seconds += step.seconds
        return Cost(seconds, PROFILED)


@dataclass(frozen=True)
class StepRule(Rule):
    """The steps of own code, each as one."""

    steps: Sequence[Step]

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        return [Candidate("step", SubGraph(graph, each.nodes), engine) for each in self.steps]

    def __str__(self) -> str:
        return f"Steps({len(self.steps)})"


def profiled_steps(
    module: ModuleOp,
    graph: Graph,
    options: CompileOptions,
    seconds: float,
    rotating: Collection[int] = (),
) -> list[Step]:
    """
    The steps of a module that own code compiles and runs: the profile says how a run divides, and the
    clock by which all engines are measured how long it is; the `rotating` inputs are others in each run of that.

    Raises DiagnosticException for what own code cannot compile.
    """
    clock = clock_for(options.threads)

    def compiled(settings: CompileOptions) -> tuple[Model, float]:
        """A model, and how long a run takes."""
        model = Model.from_code(compile_code(numbered(module, graph), "placed", settings))
        given = inputs_in_turn(model.signature.inputs, rotating)
        outputs = [np.empty(spec.shape, spec.dtype) for spec in model.signature.outputs]
        timing = measure(
            lambda arrays: model.run_unchecked(arrays, outputs),
            given,
            seconds,
            clock,
            WHOLE_WINDOWS,
        )
        return model, timing.median

    model, whole = compiled(replace(options, profile=True))
    specs = model.signature.inputs
    arrays = inputs_in_turn(specs)()
    given = {spec.name: array for spec, array in zip(specs, arrays, strict=True)}
    times = profile_model(model, given).steps
    if len(times) * STAMP_SECONDS > UNSEEN * whole:
        _, whole = compiled(options)
    return scaled(steps_of(graph, times), whole)


def scaled(steps: Sequence[Step], total: float) -> list[Step]:
    """Steps whose times are in proportion, and add up to a total."""
    known = sum(each.seconds for each in steps)
    return [replace(each, seconds=each.seconds * total / known if known else 0.0) for each in steps]


def steps_of(graph: Graph, times: Sequence[StepTime]) -> list[Step]:
    """
    The steps of a network by their nodes, and what they take. Steps that share nodes are one, and so are steps that need
    each other when all of their nodes are computed at once.
    """
    named = [
        [number for name in each.spec.nodes if (number := number_in(name)) is not None]
        for each in times
    ]
    one_of = list(range(len(times)))
    """The number of the step that each step is one with."""

    def join(numbers: Iterable[int]) -> None:
        joined = {one_of[number] for number in numbers}
        if len(joined) == 1:
            return
        for number, other in enumerate(one_of):
            if other in joined:
                one_of[number] = max(joined)

    found: dict[int, int] = {}
    for number, nodes in enumerate(named):
        join([number, *(found[index] for index in nodes if index in found)])
        found.update((index, number) for index in nodes if index not in found)
    found = {index: one_of[number] for index, number in found.items()}
    _add_nameless(graph, found)
    while cycle := _cycle(graph, {index: one_of[number] for index, number in found.items()}):
        join(cycle)
    inside, seconds = [0] * len(times), [0.0] * len(times)
    for index, number in found.items():
        inside[one_of[number]] |= 1 << index
    for number, each in enumerate(times):
        seconds[one_of[number]] += each.seconds
    return [Step(nodes, s) for nodes, s in zip(inside, seconds, strict=True) if nodes]


def _add_nameless(graph: Graph, steps: dict[int, int]) -> None:
    """Gives nodes without a step that of all their users, or else the last one of their inputs."""
    rest = [
        node
        for node in graph.nodes
        if node.index not in steps
        and not (node.is_parameter or node.is_constant or node.block)
        and node.index < len(graph) - 1
    ]
    for node in reversed(rest):
        users = {steps.get(user) for user in members(graph.users[node.index])}
        (only, *others) = users or {None}
        if only is not None and not others:
            steps[node.index] = only
    for node in rest:
        before = [steps[index] for index in node.inputs if index in steps]
        if node.index not in steps and before:
            steps[node.index] = max(before)


def _cycle(graph: Graph, steps: Mapping[int, int]) -> list[int]:
    """Steps that need each other; empty when there are none."""
    needs: dict[int, set[int]] = {number: set() for number in steps.values()}
    for index, number in steps.items():
        needs[number] |= {steps[i] for i in graph[index].inputs if i in steps} - {number}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def own_key(graph: Graph, options: CompileOptions, inputs: Inputs) -> Key:
    """What the steps of a network are known by."""
    machine = Machine.here(options.threads)
    # What decides about the code; "whole", as the sum is that of a run without a profile.
    code = f"{options.target} {options.winograd} {options.precision} {options.precision_rules}"
    what = digest(f"{model_digest(graph)} steps of a whole run {code}")
    return Key(what, OWN, machine.project, machine, rotating=_rotating(graph, inputs))


def _rotating(graph: Graph, inputs: Inputs) -> tuple[int, ...]:
    """The inputs of a network that are others in each run."""
    parameters = sum(node.is_parameter and not node.block for node in graph.nodes)
    return tuple(range(parameters)) if inputs == ROTATING else ()


def own_costs(
    module: ModuleOp,
    graph: Graph,
    options: CompileOptions,
    database: Database,
    inputs: Inputs = WARM,
    seconds: float = 0.2,
    begun: float = 0.0,
) -> OwnCosts | None:
    """
    The costs of own code, from a database or a profile, without the seconds that a region has `begun` with, which are those
    of borders; None for a module that it cannot compile.
    """
    key = own_key(graph, options, inputs)
    steps = database.steps(key)
    if not steps:
        try:
            steps = profiled_steps(module, graph, options, seconds, _rotating(graph, inputs))
        except DiagnosticException:
            return None
        database.add_steps(key, steps)
    rest = graph.everything & ~given_nodes(graph)
    for each in steps:
        if not each.nodes or each.nodes & ~rest:
            raise PlacementError(
                f"the database '{database.path}' has a step with nodes that are none of the model, expected the steps that "
                "were measured; remove the file"
            )
    whole = sum(each.seconds for each in steps)
    return OwnCosts(scaled(steps, max(whole - begun, 0.0)))


def own_turn(
    module: ModuleOp, graph: Graph, options: CompileOptions, inputs: Inputs = WARM
) -> Callable[[], float]:
    """What runs own code for one turn, as steps are measured: without a model of regions around it."""
    model = Model.from_code(compile_code(numbered(module, graph), "placed", options))
    given = inputs_in_turn(model.signature.inputs, _rotating(graph, inputs))
    outputs = [np.empty(spec.shape, spec.dtype) for spec in model.signature.outputs]
    clock = clock_for(options.threads)
    return lambda: one_turn(lambda arrays: model.run_unchecked(arrays, outputs), given, clock)


def note_own_turns(
    graph: Graph,
    options: CompileOptions,
    database: Database,
    taken: Sequence[float],
    inputs: Inputs = WARM,
) -> None:
    """Notes what a run of own code took in its turns: its steps add up to that."""
    key = own_key(graph, options, inputs)
    database.add_steps(key, scaled(database.steps(key), float(np.median(taken))))
