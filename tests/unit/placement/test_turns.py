"""Parts that are measured in turns: what is kept compiled, what is noted, and what fails."""

from collections.abc import Callable
from concurrent.futures import Future
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from placed import CHAIN, Inline, candidate, graph_of, measured, part, program

from xrelay.backends.numpy import NumpyBackend
from xrelay.placement.costs.cost import Cost
from xrelay.placement.costs.database import Measurement
from xrelay.placement.costs.job import Job, run_turn, text_of
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.timing import MOST_REPEATS, one_turn
from xrelay.placement.costs.workers import WorkerLost
from xrelay.placement.graph.extraction import extract
from xrelay.placement.rules.candidate import HOST


def test_turns_take_the_place_of_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part is compiled once for all of its turns; what is measured by itself ends that."""
    executor = Inline()
    costs = measured(tmp_path, executor)
    part_, other = candidate("a"), candidate("b")
    costs.estimates([part_, other])
    kept: dict[Any, Any] = {}
    monkeypatch.setattr("xrelay.placement.costs.turns._kept", kept)
    wanted = {each: Cost(1.0) for each in (part_, candidate("c"), other, candidate("a", HOST))}
    turns = costs.turns(wanted)
    assert len(turns) == 2, "equal parts are one"
    taken = {key: [turn(), turn(), turn()] for key, turn in turns.items()}
    assert len(kept) == 2 and all(0 < s < 1 for each in taken.values() for s in each)
    first, second = list(kept.values())
    for turn in turns.values():
        turn()
    assert list(kept.values()) == [first, second] and first is not second
    seconds = costs.estimates([part_])
    costs.note([part_, candidate("c")], {**taken, "another key": [1.0]})
    assert costs.measured == 3
    key = costs.key(part_)
    assert key is not None
    (record,) = costs.database.find([key]).values()
    assert isinstance(record, Measurement)
    assert (record.seconds, record.samples) == (sorted(taken[key.text])[1], 3)
    assert costs.estimates([part_]) == [Cost(record.seconds, "measured")] != seconds
    monkeypatch.setattr("xrelay.placement.costs.measured.MOST_IN_TURNS", 1)
    (key_,) = costs.turns({part_: Cost(1.0), other: Cost(2.0)})
    assert key_ == getattr(costs.key(other), "text", None), "those that cost the most"
    costs.estimates([candidate("a b")])
    assert not kept


def test_turns_of_engines_that_are_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task brings one of its own, which need be neither equal nor hashable; a turn may take another time."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr("xrelay.placement.costs.turns._kept", kept)

    class Unhashable(NumpyBackend):
        __hash__: Any = None

    text = text_of(extract(part(graph_of(program(CHAIN)), "a"), "f").function)
    for seconds in (0.001, 0.002):
        job = Job(text, lambda: Unhashable(), Machine.here(1), 1.0)
        assert isinstance(run_turn("part", job, seconds), Measurement)
    assert list(kept) == ["part"]


@pytest.mark.parametrize(("taken", "repeats"), [(0.5, 1), (0.1, 10), (1e-9, MOST_REPEATS)])
def test_samples_of_turns(taken: float, repeats: int) -> None:
    """They take a while, so that the clock does not count; what gives inputs takes no time of it."""
    now = 0.0
    given: list[int] = []

    def run(number: int) -> None:
        nonlocal now
        now += taken

    def inputs() -> int:
        nonlocal now
        now += 100.0
        given.append(len(given))
        return given[-1]

    assert one_turn(run, inputs, lambda: now, 0.0, 1.0) == pytest.approx(taken, rel=1e-6, abs=2e-8)
    assert 3 * repeats <= len(given) <= 3 * repeats + 8


def test_parts_that_fail_in_a_turn_keep_what_was_measured(tmp_path: Path) -> None:
    """They are asked for no other turn."""

    class Lost(Inline):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            if fn is not run_turn:
                return super().submit(fn, *args, **kwargs)
            self.count += 100
            future: Future[Any] = Future()
            future.set_exception(WorkerLost("it crashes"))
            return future

    executor = Lost()
    costs = measured(tmp_path, executor)
    before = costs.estimates([candidate("a")])
    turns = costs.turns({candidate("a"): Cost(1.0)})
    taken = {key: [turn(), turn()] for key, turn in turns.items()}
    assert executor.count == 101 and all(isnan(s) for each in taken.values() for s in each)
    costs.note([candidate("a")], taken)
    assert costs.estimates([candidate("a")]) == before and costs.measured == 1
