"""
Costs by a model: an engine needs the time of its arithmetic or of its bytes, whichever is longer, and a while to start.

    seconds = start + max(flops / speed, bytes / bandwidth)

The numbers of each engine are fitted to records.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from xrelay.analysis.facts.operation_count import operation_count
from xrelay.dialects.shapes import leaf_types
from xrelay.interpreters.arrays import type_bytes
from xrelay.placement.costs.cost import MODEL, Cost, Estimator, invalid
from xrelay.placement.costs.database import Measurement
from xrelay.placement.graph.dataflow import Node
from xrelay.placement.graph.index_set import members
from xrelay.placement.graph.sub_graph import SubGraph
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import Candidate


@dataclass(frozen=True)
class EngineModel:
    """How fast an engine is."""

    start: float = 1e-5
    """Seconds before anything happens."""
    speed: float = 2e10
    """Operations a second."""
    bandwidth: float = 5e9
    """Bytes a second."""

    def seconds(self, flops: float, bytes_: float) -> float:
        """How long so much work takes."""
        return self.start + max(flops / self.speed, bytes_ / self.bandwidth)


_STEPS = 8
"""How often the fit tells which measurements arithmetic decides, and which bytes."""


def fitted(measurements: Iterable[Measurement]) -> EngineModel:
    """
    The model that fits some measurements of one engine: the start is what the least work took, and speed and
    bandwidth are medians over the measurements that each of them decides.
    """
    usual = EngineModel()
    known = [each for each in measurements if each.seconds > 0 and each.flops + each.bytes > 0]
    if not known:
        return usual
    work = sorted(known, key=lambda each: (each.flops + each.bytes, each.seconds))
    start = min(each.seconds for each in work[: max(1, len(work) // 4)]) * 0.9
    speed, bandwidth = usual.speed, usual.bandwidth
    for _ in range(_STEPS):
        rates: tuple[list[float], list[float]] = [], []
        for each in known:
            rest = max(each.seconds - start, 0.1 * each.seconds)
            is_moved = each.bytes / bandwidth >= each.flops / speed
            rates[is_moved].append((each.bytes if is_moved else each.flops) / rest)
        speed = max(float(np.median(rates[0])), 1.0) if rates[0] else speed
        bandwidth = max(float(np.median(rates[1])), 1.0) if rates[1] else bandwidth
    return EngineModel(start, speed, bandwidth)


def fitted_models(records: Iterable[tuple[str, Measurement]]) -> dict[str, EngineModel]:
    """The model of each engine in some records."""
    by_engine: dict[str, list[Measurement]] = {}
    for engine, measurement in records:
        by_engine.setdefault(engine, []).append(measurement)
    return {engine: fitted(each) for engine, each in by_engine.items()}


@dataclass(frozen=True)
class ModelCosts(Estimator):
    """Costs by the models of engines; `usual` is for those without one, None for no answer."""

    models: Mapping[str, EngineModel]
    usual: EngineModel | None = EngineModel()
    known: dict[Node, tuple[float, float]] = field(default_factory=dict[Node, tuple[float, float]])
    """The work of nodes that was asked for."""

    def estimate(self, candidate: Candidate) -> Cost:
        model = self.models.get(candidate.engine, self.usual)
        if model is None:
            return invalid(f"nothing is known of {candidate.engine}", MODEL)
        seconds = model.seconds(*self.work(candidate.part))
        return Cost(seconds if seconds < inf else None, MODEL)

    def work(self, part: SubGraph) -> tuple[float, float]:
        """The arithmetic of a sub-graph, and the bytes that go in and out, as `work_of` its function."""
        crossing = part.inputs | part.exits | part.inside & part.graph.constants
        flops = sum(self.node_work(part.graph[index])[0] for index in members(part.flow))
        return flops, sum(self.node_work(part.graph[index])[1] for index in members(crossing))

    def node_work(self, node: Node) -> tuple[float, float]:
        """The arithmetic of a node, and the bytes of its value."""
        if node not in self.known:
            leaves = (leaf for value in node.values for leaf in leaf_types(value.type))
            size = sum(map(type_bytes, leaves))
            flops = operation_count(node.op) if node.op is not None and is_call(node.op) else 0
            self.known[node] = float(flops), float(size)
        return self.known[node]


@dataclass(frozen=True)
class FittedCosts(Estimator):
    """Costs by models that are fitted anew, each time that many are asked for, to what is measured by then."""

    measurements: Callable[[], Iterable[tuple[str, Measurement]]]
    """The engine of each measurement, and what was measured."""
    known: dict[Node, tuple[float, float]] = field(default_factory=dict[Node, tuple[float, float]])
    """The work of nodes that was asked for."""

    def estimates(self, candidates: Sequence[Candidate]) -> list[Cost]:
        models = fitted_models(self.measurements())
        return ModelCosts(models, known=self.known).estimates(candidates)

    def estimate(self, candidate: Candidate) -> Cost:
        return self.estimates([candidate])[0]
