"""
What own code takes for each operator, in its network: alone, an operator would pay for layouts that its neighbours share.

The network is compiled with a profile, its operations numbered, and what a step takes is given to the operators that it
computes, in proportion to their arithmetic. The sum is what a run takes by the clock that all engines are measured by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.operation_count import operation_count
from xrelay.analysis.facts.ports import entry_function
from xrelay.backends.regions import RegionTensor
from xrelay.compiler import compile_code
from xrelay.engines import OwnCode
from xrelay.options import CompileOptions
from xrelay.placement.costs.cost import UNKNOWN, Cost, Estimator
from xrelay.placement.costs.crossings import region_start
from xrelay.placement.costs.database import Database, Measurement
from xrelay.placement.costs.job import numbers
from xrelay.placement.costs.key import Key, Machine, digest
from xrelay.placement.costs.timing import clock_for, measure
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import members
from xrelay.placement.plan_file import model_digest
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.runtime.model import Model
from xrelay.runtime.profile import StepTime, profile_model
from xrelay.transforms.rules.copying import copied

_MARK = "placed"
"""What the names of numbered operations begin with."""


@dataclass(frozen=True)
class OwnCosts(Estimator):
    """The costs of own code's candidates: the sums of what their operators take."""

    shares: Sequence[float]
    """The seconds of each node."""

    def estimate(self, candidate: Candidate) -> Cost:
        if candidate.engine != OWN:
            return UNKNOWN
        return Cost(sum(self.shares[index] for index in members(candidate.inside)), "profiled")


def numbered(module: ModuleOp, graph: Graph) -> ModuleOp:
    """A copy of a module whose operations in `main` are named by their nodes."""
    copy = copied(module)
    ops = list(graph.function.body.block.ops)
    for op, twin in zip(ops, entry_function(copy).body.block.ops, strict=True):
        number = graph.numbers.get(op)
        if number is not None:
            twin.location = NameLoc(StringAttr(f"{_MARK}{number}"), twin.location)
    return copy


def profiled_shares(
    module: ModuleOp, graph: Graph, options: CompileOptions, seconds: float
) -> list[float]:
    """
    The seconds of each node of a module that own code compiles and runs: the profile says how a run divides, and the
    clock by which all engines are measured how long it is.

    Raises DiagnosticException for what own code cannot compile.
    """
    settings = replace(options, profile=True)
    model = Model.from_code(compile_code(numbered(module, graph), "placed", settings))
    tensors = [RegionTensor(spec.shape, spec.dtype) for spec in model.signature.inputs]
    inputs = {
        spec.name: numbers(t) for spec, t in zip(model.signature.inputs, tensors, strict=True)
    }
    shares = shares_of(graph, profile_model(model, inputs).steps)
    outputs = [np.empty(spec.shape, spec.dtype) for spec in model.signature.outputs]
    arrays = list(inputs.values())
    clock = clock_for(options.threads)
    whole = measure(lambda: model.run_into(arrays, outputs), seconds, clock).median
    # What a region begins with, the borders count.
    begun = region_start(OwnCode(), options.threads, seconds, clock)
    return scaled(shares, max(whole - begun, 0.0))


def scaled(shares: Sequence[float], total: float) -> list[float]:
    """Shares such that they add up to a total."""
    known = sum(shares)
    return [share * total / known for share in shares] if known else list(shares)


def shares_of(graph: Graph, steps: Sequence[StepTime]) -> list[float]:
    """What steps take, given to nodes; the time of steps that compute no node is spread over all."""
    work = [
        float(1 + operation_count(node.op)) if node.op is not None and is_call(node.op) else 0.0
        for node in graph.nodes
    ]
    found = [0.0] * len(graph)
    rest = 0.0
    for step in steps:
        names = (name.removeprefix(_MARK) for name in step.spec.nodes if name.startswith(_MARK))
        nodes = [int(name) for name in names]
        total = sum(work[index] for index in nodes)
        if not total:
            rest += step.seconds
            continue
        for index in nodes:
            found[index] += step.seconds * work[index] / total
    known = sum(found)
    scale = 1 + rest / known if known else 1.0
    return [seconds * scale for seconds in found]


def own_costs(
    module: ModuleOp,
    graph: Graph,
    options: CompileOptions,
    database: Database,
    seconds: float = 0.2,
) -> OwnCosts | None:
    """The costs of own code, from a database or a profile; None for a module that it cannot compile."""
    machine = Machine.here(options.threads)
    model = model_digest(graph)
    keys = [
        Key(digest(f"{model} clocked node {i}"), OWN, machine.project, machine)
        for i in range(len(graph))
    ]
    found = database.find(keys)
    records = [found.get(key.text) for key in keys]
    shares = [each.seconds for each in records if isinstance(each, Measurement)]
    if len(shares) == len(graph):
        return OwnCosts(shares)
    try:
        shares = profiled_shares(module, graph, options, seconds)
    except DiagnosticException:
        return None
    database.add_all(
        (key, f"{node.label} in its network", Measurement(seconds, seconds, seconds, 1))
        for key, node, seconds in zip(keys, graph.nodes, shares, strict=True)
    )
    return OwnCosts(shares)
