"""Which programs a model with unknown dimensions keeps, and who waits for them; the programs compute nothing."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx_models import model_of

import xrelay
from xrelay.runtime.dynamic import DynamicModel, DynamicSignature
from xrelay.runtime.errors import ModelError
from xrelay.runtime.layouts import ROW_MAJOR, Layouts
from xrelay.runtime.signature import InputValue, OpenTensor


def floats(length: int) -> Any:
    return np.zeros(length, np.float32)


class Programs:
    """Programs that compute nothing, and what was asked of the one who makes them."""

    def __init__(self, size: int):
        self.size = size
        self.made: list[int] = []

    def make(self, shapes: Mapping[str, tuple[int, ...]], layouts: Layouts) -> Any:
        assert layouts == ROW_MAJOR
        (length,) = shapes["x"]
        self.made.append(length)
        if length == 13:
            raise ModelError("no program for 13")
        signature = SimpleNamespace(constant_bytes=self.size, workspace_bytes=0)
        return SimpleNamespace(signature=signature, run=lambda inputs: inputs)

    def model(self, most_programs: int, most_bytes: int) -> DynamicModel:
        x = OpenTensor("x", ("n",), np.dtype(np.float32))
        return DynamicModel(DynamicSignature("m", (x,), (x,)), self.make, most_programs, most_bytes)


@pytest.mark.parametrize(("most_programs", "most_bytes"), [(2, 1000), (9, 20), (9, 29)])
def test_programs_used_longest_ago_go_first(most_programs: int, most_bytes: int) -> None:
    programs = Programs(10)
    model = programs.model(most_programs, most_bytes)
    for length in (1, 2, 1, 3, 1, 2):
        model.run({"x": floats(length)})
    assert programs.made == [1, 2, 3, 2]
    assert [each.shapes["x"] for each in model.specialisations] == [(1,), (2,)]


def test_programs_for_many_lengths_go_where_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that ran on them. An axis is a number, so that each has a program of its own."""
    text = "model (float[n, m, k] x, int64[1] a) => (float[i, j, l] y) { y = ReduceSum (x, a) }"
    model = xrelay.compile(model_of(text), cache=False)
    assert isinstance(model, DynamicModel)
    monkeypatch.setattr(model, "_most_programs", 2)

    def axes() -> list[int]:
        given = (each.shapes["a"] for each in model.specialisations)
        return [int(each.array.item()) for each in given if isinstance(each, InputValue)]

    x = np.ones((2, 3, 4), np.float32)
    for axis, rows, kept in (
        *((-1, 2, [-1]), (-1, 1, [-1, -1]), (-2, 2, [-1, -1, -2]), (-1, 2, [-1, -2, -1])),
        *((-3, 2, [-1, -1, -3]), (-2, 2, [-3, -2])),
    ):
        found = model.run({"x": x[:rows], "a": [axis]})["y"]
        np.testing.assert_array_equal(found, x[:rows].sum(axis, keepdims=True))
        assert axes() == kept


def test_a_program_that_is_too_large_is_kept_until_the_next() -> None:
    programs = Programs(10)
    model = programs.model(9, 5)
    for length in (1, 1, 2):
        model.run({"x": floats(length)})
    assert programs.made == [1, 2]


def test_a_failure_is_not_kept() -> None:
    programs = Programs(10)
    model = programs.model(9, 1000)
    for _ in range(2):
        with pytest.raises(ModelError, match="no program for 13"):
            model.run({"x": floats(13)})
    assert programs.made == [13, 13]
    assert model.specialisations == ()


def test_threads_wait_for_one_compilation() -> None:
    programs, gate = Programs(10), threading.Event()
    make = programs.make

    def slow(shapes: Mapping[str, tuple[int, ...]], layouts: Layouts) -> Any:
        result = make(shapes, layouts)
        if shapes["x"] == (1,):
            assert gate.wait(60)
        return result

    programs.make = slow
    model = programs.model(9, 1000)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(model.run, {"x": floats(1)}) for _ in range(3)]
        # Another length does not wait.
        pool.submit(model.run, {"x": floats(2)}).result(60)
        gate.set()
        for each in waiting:
            each.result(60)
    assert sorted(programs.made) == [1, 2]
