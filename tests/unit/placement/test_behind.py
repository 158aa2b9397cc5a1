"""Parts that are measured behind what the network goes through between two runs of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from placed import Inline, T, graph_of, measured, part, program

from xrelay.placement.costs.behind import LEAST_BYTES, MOST_BYTES, bytes_beside, reading
from xrelay.placement.costs.database import Measurement
from xrelay.placement.costs.inputs import inputs_in_turn
from xrelay.placement.costs.job import Job, inputs_behind, run_job, run_turn
from xrelay.placement.costs.timing import SAMPLE_SECONDS, measure
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.rules.candidate import Candidate
from xrelay.runtime.signature import TensorSpec


def chain(count: int) -> Graph:
    """Three operators on tensors of so many elements."""
    type_ = f"tensor<{count}xf32>"
    text = "\n".join(
        f"%{b} = relay.{op} %{a} : ({type_}) -> {type_}"
        for a, op, b in (("x", "exp", "a"), ("a", "tanh", "b"), ("b", "sqrt", "c"))
    )
    return graph_of(program(f"{text}\nfunc.return %c : {type_}", f"%x: {type_}", type_))


def test_bytes_beside_a_part() -> None:
    """Neither its own tensors nor its inputs are among them, nor what is in memory that others had before; few are none."""
    graph = chain(600_000)
    assert graph.tensor_bytes == [2_400_000] * 4 + [0] and graph.footprint == 3 * 2_400_000
    assert bytes_beside(part(graph, "a"), 1) == 5 << 19
    assert bytes_beside(part(graph, "a b"), 1) == bytes_beside(part(graph, "a b c"), 1) == 0
    assert bytes_beside(part(chain(100_000), "a"), 1) == 0
    assert bytes_beside(part(chain(2_000_000), "a"), 1) == 8 << 20
    assert bytes_beside(part(chain(2_000_000), "a"), 2) == LEAST_BYTES, "threads would sleep"
    assert bytes_beside(part(chain(1 << 26), "a"), 1) == MOST_BYTES


def test_tensors_live_until_tuples_are_used() -> None:
    """Concatenation reads all of its inputs, and writes as much; a part is there with what it has at once."""
    text = """
    %a = relay.exp %x : (tensor<600000xf32>) -> tensor<600000xf32>
    %b = relay.tanh %a : (tensor<600000xf32>) -> tensor<600000xf32>
    %t = relay.tuple %a, %b : (tensor<600000xf32>, tensor<600000xf32>) -> tuple<tensor<600000xf32>, tensor<600000xf32>>
    %c = relay.concatenate %t {axis = 0 : i64} : (tuple<tensor<600000xf32>, tensor<600000xf32>>) -> tensor<1200000xf32>
    %d = relay.sqrt %c : (tensor<1200000xf32>) -> tensor<1200000xf32>
    func.return %d : tensor<1200000xf32>
    """
    graph = graph_of(program(text, "%x: tensor<600000xf32>", "tensor<1200000xf32>"))
    unit = 2_400_000
    assert graph.footprint == (1 + 4) * unit
    whole, first = part(graph, "a b t c d"), part(graph, "a b")
    assert graph.footprint_of(whole.inside, whole.inputs) == graph.footprint
    assert graph.footprint_of(first.inside, first.inputs) == 3 * unit
    assert bytes_beside(first, 1) == 5 << 20 and bytes_beside(whole, 1) == 0
    layers = chain(600_000)
    inside = part(layers, "a b c")
    assert layers.footprint_of(inside.inside, inside.inputs) == 3 * unit, "not of all its layers"


def test_jobs_and_keys_have_them(tmp_path: Path) -> None:
    jobs: list[Job] = []

    class Kept(Inline):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            jobs.append(args[0])
            return super().submit(fn, *args, **kwargs)

    costs = measured(tmp_path, Kept())
    small, large = (Candidate("r", part(chain(n), "a"), "numpy") for n in (100_000, 600_000))
    whole = Candidate("r", part(chain(600_000), "a b c"), "numpy")
    costs.estimates([small, large, whole])
    assert [each.behind for each in jobs] == [0, 5 << 19, 0]
    assert [each.sample for each in jobs] == [SAMPLE_SECONDS, 0.0, SAMPLE_SECONDS]
    keys = [costs.key(each) for each in (small, large)]
    assert [None if key is None else "behind" in key.details for key in keys] == [False, True]
    costs.engines = {"numpy": replace(costs.engines["numpy"], bind_constants=False)}
    text = f"%w = relay.constant dense<1.0> : {T}\na = nn.dense x w\nreturn a"
    given = costs.job(Candidate("r", part(graph_of(program(text)), "a"), "numpy"))
    assert given.weights == (1,) and jobs[1].weights == ()
    for found in (run_job(jobs[1]), run_turn("a", jobs[1], 0.001)):
        assert isinstance(found, Measurement) and found.seconds > 0


def test_outputs_and_inputs_that_are_the_same_in_each_run_are_in_caches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warm: list[Any] = []
    spec = TensorSpec("x", (4,), np.dtype(np.float32))
    given = inputs_in_turn([spec, spec], [1])

    def noted(behind: int, arrays: Any) -> Callable[[], None]:
        warm.append((behind, *arrays))
        return lambda: warm.append("read")

    monkeypatch.setattr("xrelay.placement.costs.job.reading", noted)
    output = np.zeros(3)
    inputs = inputs_behind(given, [output], 64, [1])
    first, second = inputs(), inputs()
    ((count, written, same), *reads) = warm
    assert count == 64 and written is output and reads == ["read", "read"]
    assert same is first[0] is second[0] and first[1] is not second[1]


def test_reading_takes_any_array() -> None:
    arrays = [np.ones((), bool), np.zeros((2, 0), np.float16), np.ones((3, 5), np.int64)]
    reading(0, arrays)()
    reading(100)()


def test_what_gives_inputs_takes_no_time() -> None:
    now = [0.0]

    def given() -> None:
        now[0] += 100.0

    def run(_: None) -> None:
        now[0] += 1.0

    for sample in (0.0, 10.0):
        assert measure(run, given, 0.0, lambda: now[0], sample=sample).median == 1.0
