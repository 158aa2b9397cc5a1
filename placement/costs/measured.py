"""
Costs that are measured, once for each key: what the database knows is not measured again.

Equal parts of a network are one measurement. What fails, crashes or hangs is noted with its reason, and is an
invalid candidate.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from math import inf, isfinite, nan
from typing import ParamSpec

from xdsl.dialects import func
from xdsl.ir import BlockArgument

from xrelay.backends.onnx_original import OnnxPart
from xrelay.dialects.core.values import ConstantOp
from xrelay.placement.costs.behind import bytes_beside
from xrelay.placement.costs.cost import FREE, MEASURED, UNKNOWN, Cost, Estimator, invalid
from xrelay.placement.costs.database import Database, Failure, Measurement, Record
from xrelay.placement.costs.job import EngineMaker, Job, WrongMachine, run_job, run_turn, text_of
from xrelay.placement.costs.key import Key, Machine
from xrelay.placement.costs.timing import TURN_SECONDS, WHOLE_WINDOWS, interval, machine_load
from xrelay.placement.costs.workers import WorkerLost
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.extraction import extract
from xrelay.placement.graph.onnx_parts import onnx_part
from xrelay.placement.methods import ROTATING, WARM, Inputs
from xrelay.placement.rules.candidate import HOST, Candidate

_P = ParamSpec("_P")

TURNS_SECONDS = 0.5
"""How long all parts, or borders, that have turns run in one of them, at least, where they are many."""
MOST_IN_TURNS = 64
"""Parts that have turns, and that workers keep compiled."""


@dataclass(frozen=True)
class Engine:
    """An engine, as far as measurements need to know it."""

    name: str
    version: str
    maker: EngineMaker
    bind_constants: bool = True
    takes_onnx: bool = False
    """Whether it prefers the nodes of an ONNX model to what an import made of them."""


@dataclass(frozen=True)
class Extracted:
    """A candidate as a worker gets it."""

    function: func.FuncOp
    original: OnnxPart | None
    """The nodes that it was, if its engine takes these."""
    rotating: tuple[int, ...]
    """Its inputs that are others in each run."""
    weights: tuple[int, ...]
    """Its inputs that are constants, for engines that get these so."""


@dataclass
class RecordedCosts(Estimator):
    """Costs that a database has."""

    database: Database
    engines: Mapping[str, Engine]
    machine: Machine
    keys: dict[Candidate, Key] = field(default_factory=dict[Candidate, Key])
    """Those of candidates that were asked for."""
    inputs: Inputs = WARM

    def extracted(self, candidate: Candidate) -> Extracted:
        """
        The function of a candidate, as its engine gets it.

        Raises PlacementError for an engine that is not among those that were given.
        """
        engine = self.engines.get(candidate.engine)
        if engine is None:
            known = ", ".join(self.engines)
            raise PlacementError(
                f"there is no engine '{candidate.engine}', expected one of {known}"
            )
        found = extract(candidate.part, "candidate", bind_constants=engine.bind_constants)
        original = onnx_part(candidate.part.graph, found) if engine.takes_onnx else None
        rotating: tuple[int, ...] = ()
        if self.inputs == ROTATING:
            # Within a network, values lie where the part before has left them.
            values = [each.value for each in found.arguments]
            rotating = tuple(i for i, each in enumerate(values) if isinstance(each, BlockArgument))
        owners = [each.value.owner for each in found.arguments]
        weights = tuple(i for i, each in enumerate(owners) if isinstance(each, ConstantOp))
        return Extracted(found.function, original, rotating, weights)

    def key(self, candidate: Candidate) -> Key | None:
        """What the measurement of a candidate is known by; None for what the host does."""
        if candidate.engine == HOST:
            return None
        found = self.keys.get(candidate)
        if found is None:
            part, engine = self.extracted(candidate), self.engines[candidate.engine]
            form = "" if part.original is None else part.original.text
            found = Key.of(
                *(part.function, engine.name, engine.version, self.machine, form, part.rotating),
                bytes_beside(candidate.part, self.machine.threads),
            )
            self.keys[candidate] = found
        return found

    def estimates(self, candidates: Sequence[Candidate]) -> list[Cost]:
        keys = [self.key(each) for each in candidates]
        wanted: dict[Key, Candidate] = {}
        for key, each in zip(keys, candidates, strict=True):
            if key is not None:
                wanted.setdefault(key, each)
        found = self.records(wanted)
        return [FREE if key is None else cost_of(found.get(key.text)) for key in keys]

    def records(self, wanted: Mapping[Key, Candidate]) -> dict[str, Record]:
        """What is known of candidates, by the texts of their keys."""
        return self.database.find(wanted)

    def estimate(self, candidate: Candidate) -> Cost:
        return self.estimates([candidate])[0]


def cost_of(record: Record | None) -> Cost:
    """The cost that a record tells."""
    if record is None:
        return UNKNOWN
    if isinstance(record, Failure):
        return invalid(record.reason, MEASURED)
    return Cost(record.seconds, MEASURED)


@dataclass
class Measurer:
    """Makes measurements that a database lacks, as far as there is time, and notes them there."""

    database: Database
    engines: Mapping[str, Engine]
    machine: Machine
    _: KW_ONLY
    executor: Executor
    budget: float = inf
    """How many seconds all measurements may take; what is left is unknown."""
    progress: Callable[[str], None] = field(default=lambda text: None)
    measured: int = 0
    """How many measurements were made."""
    spent: float = 0.0
    """How many seconds measurements have taken."""
    begun: list[Future[Record]] = field(default_factory=list[Future[Record]])
    """Measurements that had begun when there was no time left."""

    def gathered(
        self, pending: Mapping[Key, tuple[str, Future[Record]]], stage: str, start: float
    ) -> dict[Key, Record]:
        """
        What measurements give that were handed out since `start`, each with its label; those that are not done within the budget
        are left out. `stage` is what is told of each: a template with {number}, {count} and {label}.
        """
        end = start + self.budget - self.spent
        found: dict[Key, Record] = {}
        for number, (key, (label, future)) in enumerate(pending.items(), 1):
            self.progress(stage.format(number=number, count=len(pending), label=label[:60]))
            left = max(0.0, end - time.monotonic())
            record = record_of(future, None if left == inf else left)
            if record is None:
                if not future.cancel():
                    self.begun.append(future)
                continue
            self.measured += 1
            found[key] = record
            self.database.add(key, label, record)
        self.spent += time.monotonic() - start
        return found

    def turn(
        self, function: Callable[_P, Record], *args: _P.args, **kwargs: _P.kwargs
    ) -> Callable[[], float]:
        """What a worker does for one turn of a measurement: the seconds, or NaN from the time when it fails."""
        failed = False

        def turn() -> float:
            nonlocal failed
            if not failed:
                record = record_of(self.executor.submit(function, *args, **kwargs), None)
                if isinstance(record, Measurement):
                    return record.seconds
                failed = True
            return nan

        return turn

    def note_turns(self, labels: Mapping[Key, str], taken: Mapping[str, Sequence[float]]) -> None:
        """Notes what measurements, of which the labels are given, took in their turns, by the texts of their keys."""
        known = self.database.find(labels)
        found: dict[str, tuple[Key, str, Record]] = {}
        for key, label in labels.items():
            record, samples = known.get(key.text), taken.get(key.text, ())
            if isinstance(record, Measurement) and samples and all(map(isfinite, samples)):
                timing = interval(samples)
                told = replace(
                    record,
                    seconds=timing.median,
                    low=timing.low,
                    high=timing.high,
                    samples=timing.samples,
                    load=machine_load(),
                )
                found[key.text] = key, label, told
        self.measured += len(found)
        self.database.add_all(found.values())


@dataclass
class MeasuredCosts(RecordedCosts, Measurer):
    """Costs that a database has, or that are measured now and noted there."""

    sample_seconds: float = 0.2
    """How long one measurement may take, when engines are quick."""

    def records(self, wanted: Mapping[Key, Candidate]) -> dict[str, Record]:
        found, start = super().records(wanted), time.monotonic()
        pending = {
            key: (each.part.label, self.executor.submit(run_job, self.job(each)))
            for key, each in wanted.items()
            if key.text not in found
        }
        made = self.gathered(pending, "measure {number} of {count}: {label}", start)
        return found | {key.text: record for key, record in made.items()}

    def job(self, candidate: Candidate) -> Job:
        """The measurement of a candidate."""
        part = self.extracted(candidate)
        original = part.original
        return Job(
            text_of(part.function),
            self.engines[candidate.engine].maker,
            self.machine,
            self.sample_seconds,
            None if original is None else original.model(weights=False).SerializeToString(),
            part.rotating,
            WHOLE_WINDOWS if _is_most(candidate) else 1,
            bytes_beside(candidate.part, self.machine.threads),
            part.weights,
        )

    def turns(self, candidates: Mapping[Candidate, Cost]) -> dict[str, Callable[[], float]]:
        """
        What measures candidates that were measured before for one turn, by their keys: those that cost the most where they are
        many.
        """
        order = sorted(candidates, key=lambda each: -(candidates[each].seconds or 0.0))
        keys = {key.text: each for each in order if (key := self.key(each)) is not None}
        named = dict(islice(keys.items(), MOST_IN_TURNS))
        seconds = min(TURN_SECONDS, TURNS_SECONDS / max(1, len(named)))
        return {
            name: self.turn(run_turn, name, self.job(each), seconds) for name, each in named.items()
        }

    def note(self, candidates: Iterable[Candidate], taken: Mapping[str, Sequence[float]]) -> None:
        """Notes what candidates took in their turns, by their keys, in the place of what was known."""
        keys = {key: each for each in candidates if (key := self.key(each)) is not None}
        self.note_turns({key: each.part.label for key, each in keys.items()}, taken)


def _is_most(candidate: Candidate) -> bool:
    """Whether a candidate has most of a network."""
    part = candidate.part
    return 2 * part.inside.bit_count() > len(part.graph)


def record_of(future: Future[Record], seconds: float | None) -> Record | None:
    """
    What a measurement gives, None when it was not there within so many seconds.

    Raises PlacementError when no worker can measure anything.
    """
    try:
        return future.result(seconds)
    except NotYet:
        return None
    except WorkerLost as error:
        return Failure(str(error))
    except WrongMachine:
        raise
    except Exception as error:
        raise PlacementError(
            f"the workers cannot measure: {type(error).__name__}: {error}"
        ) from error
