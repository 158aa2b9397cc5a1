"""Programs for many lengths, and what becomes of lengths whose number somebody asks for."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from onnx import parser

import xrelay
from xrelay.dialects.length_scope import Pinned, Scope
from xrelay.dialects.lengths import symbol
from xrelay.many_lengths import open_lengths
from xrelay.runtime import dynamic
from xrelay.runtime.dynamic import DynamicModel


def test_no_program_comes_of_a_compilation_that_went_on_without_a_number() -> None:
    """Else the cache would hold it, and another process take it from there, where nothing was asked for."""
    scope = Scope()
    n = symbol(scope, "n", 8)
    with pytest.raises(Pinned):
        int(n)
    with pytest.raises(Pinned, match="n"):
        open_lengths(cast(Any, None), scope)


PRODUCTS = """
<ir_version: 8, opset_import: ["" : 17]>
products (float[batch, 6] x) => (float[batch, 6] y) {
  y = Mul(x, x)
}
"""


class LaterThread:
    """Does its work when it is told to, in place of a thread."""

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...]):
        self.work = partial(target, *args)
        self.alive = False

    def start(self) -> None:
        """Notes that the work is to be done."""
        self.alive = True
        STARTED.append(self)

    def is_alive(self) -> bool:
        """Whether the work is still to be done."""
        return self.alive

    def finish(self) -> None:
        """Does the work."""
        self.work()
        self.alive = False


STARTED: list[LaterThread] = []


@pytest.mark.slow
def test_programs_are_made_in_the_background_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lengths that come back meanwhile have their turn when they come once more."""
    STARTED.clear()
    monkeypatch.setattr(dynamic, "Thread", LaterThread)
    model = xrelay.compile(parser.parse_model(PRODUCTS), specialise_after=2)
    assert isinstance(model, DynamicModel)

    def alone() -> list[object]:
        made = [each for each in model.specialisations if each.conditions is None]
        return [each.shapes["x"] for each in made]

    def run(*batches: int) -> None:
        for batch in batches:
            x = np.full((batch, 6), batch, np.float32)
            np.testing.assert_array_equal(model.run({"x": x})["y"], x * x)

    run(4, 5, 4, 5, 5)
    (first,) = STARTED
    assert alone() == []
    first.finish()
    assert alone() == [(4, 6)]
    run(5)
    (_, second) = STARTED
    second.finish()
    assert alone() == [(4, 6), (5, 6)]


def test_numbers_that_an_operator_asks_for_while_it_is_made() -> None:
    """Widths of a pad are numbers: each length has a program of its own, and the log can say what asked."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> pads (float[k] a) => (float[m] o) {
          length = Shape(a)
          sixteen = Constant <value_ints = [16]> ()
          zero = Constant <value_ints = [0]> ()
          left = Sub(sixteen, length)
          widths = Concat <axis = 0> (zero, left)
          o = Pad(a, widths)
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for k in (2, 5, 16):
        a = np.arange(k, dtype=np.float32)
        np.testing.assert_array_equal(compiled.run({"a": a})["o"], np.pad(a, (0, 16 - k)))
