"""
Measured borders: what a step of a partitioned model costs beside the run of its region, for each pair of engines.

    producer ──► user     both steps in one model − the producer's step alone − the user's region alone
    host     ──► user     the user's step alone − its region alone

A region is `nn.relu`, of three sizes, through which a line is laid. The engine whose costs are sums over operators, own
code, pays here for what each of its regions begins with, too: the run of a region with one element, which is measured once.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType, f32

from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.placement.costs.behind import LEAST_BYTES
from xrelay.placement.costs.border_job import (
    BorderJob,
    CrossingJob,
    StartJob,
    function_of,
    run_border,
)
from xrelay.placement.costs.borders import AT_HOST, IMAGES, BorderTable, Line, Place, fitted_line
from xrelay.placement.costs.database import BORDER, Failure, Measurement, Record
from xrelay.placement.costs.job import Job, run_job, run_turn, text_of
from xrelay.placement.costs.key import Key, digest
from xrelay.placement.costs.measured import TURNS_SECONDS, Measurer
from xrelay.placement.rules.candidate import OWN

SIZES = (1 << 8, 1 << 15, 1 << 19)
"""The elements of the tensors that cross, of four bytes each."""
CHANNELS = 16
"""The channels of a block."""
USUAL = Line(1e-5, 1e10)
"""What borders cost that could not be measured."""
RUNS = 3
"""What is run for one measurement: both steps, the first, and the region of the second."""
Pair: TypeAlias = tuple[str | None, str]
"""The engine that a value is from, None for the host, and that of its user."""


@dataclass
class Crossings(Measurer):
    """The borders between engines, from a database or measured now and noted there; those that are left are usual ones."""

    behind: int = LEAST_BYTES
    """How many bytes of other data are read before each run, as `bytes_of_run` says."""
    seconds: float = 0.02
    """How long each run may be timed, when engines are quick."""

    def table(self) -> BorderTable:
        """
        The lines of all pairs, and those of own code's images, which change their layout as well. An engine that does not
        run the first region that it gets is asked for no other.
        """
        first = {engine: self.key(None, engine, SIZES[0]) for engine in self.engines}
        begun = self.records({first[b]: self.job(None, b, SIZES[0]) for b in self.engines})
        failed = {b for b in self.engines if isinstance(begun.get(first[b]), Failure)}
        pairs: list[Pair] = [(a, b) for b in self.engines for a in (None, *self.engines)]
        found = self.records(
            self.jobs([(a, b) for a, b in pairs if a not in failed and b not in failed])
        )
        started = found.get(self.start_key())
        starts = started.seconds if isinstance(started, Measurement) else 0.0
        lines: dict[tuple[Place, Place], Line] = {}
        for a, b in pairs:
            at = AT_HOST if a is None else Place(a)
            line = line_of([found.get(self.key(a, b, size)) for size in SIZES])
            if b == OWN and line is not USUAL:
                line = replace(line, start=line.start + starts)
            lines[at, Place(b)] = line
        images = line_of([found.get(self.layout_key(size)) for size in SIZES])
        return replace(with_images(lines, images), begun=starts)

    def jobs(self, pairs: Iterable[Pair]) -> dict[Key, BorderJob | Job]:
        """The measurements for the borders of some pairs, with those of own code's starts and layouts where it is a user."""
        pairs = list(pairs)
        found: dict[Key, BorderJob | Job] = {
            self.key(a, b, size): self.job(a, b, size) for a, b in pairs for size in SIZES
        }
        if any(user == OWN for _, user in pairs):
            found |= {self.layout_key(size): self.layout_job(size) for size in SIZES}
            found[self.start_key()] = self.start_job()
        return found

    def turns(self, pairs: Iterable[Pair]) -> dict[str, Callable[[], float]]:
        """What measures the borders of some pairs again, those that were measured, for one turn each, by their keys."""
        jobs = self.jobs(pairs)
        known = self.database.find(jobs)
        found: dict[str, Callable[[], float]] = {}
        for key, job in jobs.items():
            if not isinstance(known.get(key.text), Measurement):
                continue
            seconds = min(job.seconds, TURNS_SECONDS / (RUNS * len(jobs)))
            if isinstance(job, Job):
                found[key.text] = self.turn(run_turn, key.text, job, seconds)
            else:
                found[key.text] = self.turn(run_border, replace(job, seconds=seconds), key.text)
        return found

    def note(self, pairs: Iterable[Pair], taken: Mapping[str, Sequence[float]]) -> None:
        """Notes what the borders of some pairs took in their turns, by their keys, in the place of what was known."""
        self.note_turns(dict.fromkeys(self.jobs(pairs), BORDER), taken)

    def key(self, producer: str | None, user: str, size: int) -> Key:
        """What the measurement of a border is known by."""
        before = "host" if producer is None else producer
        version = "" if producer is None else self.engines[producer].version
        what = digest(f"border without starts behind {self.behind} bytes {before} {version} {size}")
        return Key(what, user, self.engines[user].version, self.machine)

    def job(self, producer: str | None, user: str, size: int) -> CrossingJob:
        """The measurement of a border."""
        before = None if producer is None else self.engines[producer].maker
        after = self.engines[user].maker
        return CrossingJob(before, after, self.machine, size, self.seconds, self.behind)

    def start_key(self) -> Key:
        """What the measurement of what regions of own code begin with is known by."""
        what = digest(f"start of a region behind {self.behind} bytes")
        return Key(what, OWN, self.engines[OWN].version, self.machine)

    def start_job(self) -> StartJob:
        """That measurement."""
        return StartJob(self.engines[OWN].maker, self.machine, self.seconds, self.behind)

    def layout_key(self, size: int) -> Key:
        """What the measurement of a change of layout is known by."""
        engine = self.engines[OWN]
        return Key(digest(f"blocks of channels {size}"), OWN, engine.version, self.machine)

    def layout_job(self, size: int) -> Job:
        """The measurement of a change of layout."""
        shape = [1, CHANNELS, size // CHANNELS, 1]
        function = function_of(
            TensorType(f32, shape), lambda x: LayoutTransformOp(x, "NCHW", f"NCHW{CHANNELS}c")
        )
        return Job(text_of(function), self.engines[OWN].maker, self.machine, self.seconds)

    def records(self, jobs: Mapping[Key, BorderJob | Job]) -> dict[Key, Record]:
        """The records of measurements, those that the database lacks made now, as far as there is time."""
        known = self.database.find(jobs)
        found = {key: known[key.text] for key in jobs if key.text in known}
        pending: dict[Key, tuple[str, Future[Record]]] = {}
        for key, job in jobs.items():
            if key in found:
                continue
            if isinstance(job, Job):
                future = self.executor.submit(run_job, job)
            else:
                future = self.executor.submit(run_border, job)
            pending[key] = BORDER, future
        stage = "measure borders: {number} of {count}"
        return found | self.gathered(pending, stage, time.monotonic())


def line_of(records: Sequence[Record | None]) -> Line:
    """The line through measurements; the usual one when an engine could not run them, or there was no time."""
    samples = [(int(r.bytes), r.seconds) for r in records if isinstance(r, Measurement)]
    return fitted_line(samples) if len(samples) == len(records) else USUAL


def with_images(lines: Mapping[tuple[Place, Place], Line], change: Line) -> BorderTable:
    """
    A table with lines for own code's images: they change their layout on the way to and from other engines. Within a
    network of own code, and at its ends, changes of layout are steps, which have their costs.
    """
    own, images = Place(OWN), Place(OWN, IMAGES)
    made = dict(lines)
    for (a, b), line in lines.items():
        if a == own and b != own:
            made[images, b] = with_change(line, change)
        elif b == own and a != own:
            made[a, images] = line if a == AT_HOST else with_change(line, change)
    for pair in ((own, own), (own, images), (images, own), (images, images)):
        made[pair] = Line()
    return BorderTable(made, USUAL)


def with_change(line: Line, change: Line) -> Line:
    """A line with the bytes of another one added. The region at the border has started already."""
    per_byte = 1 / line.bandwidth + 1 / change.bandwidth
    return Line(line.start, 1 / per_byte if per_byte else float("inf"))
