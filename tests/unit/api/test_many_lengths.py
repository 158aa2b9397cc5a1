"""Programs for many lengths, and what becomes of lengths whose number somebody asks for."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from onnx import parser
from onnx_models import bands_of, model_of

import xrelay
from xrelay import OnnxImportError
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


def programs_of(text: str, *shapes: tuple[int, ...]) -> list[object]:
    """The conditions of the programs of a model with an input x, which was called with some shapes, in their order."""
    model = xrelay.compile(model_of(text), cache=False)
    assert isinstance(model, DynamicModel)
    for shape in shapes:
        try:
            model.run({"x": np.ones(shape, np.float32)})
        except OnnxImportError as error:
            assert 0 in shape, error
    return list(dict.fromkeys(each.conditions for each in model.specialisations))


POOL = """pool (float[batch, 3, h, w] x) => (float[batch, 3, p, q] y) {
    y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)
}"""


@pytest.mark.parametrize("first", [(2, 2), (2, 4), (4, 2)])
def test_short_lengths_in_the_first_call(first: tuple[int, int]) -> None:
    """Lengths that are less than a window have a program for such; what holds for them is no condition of others."""
    sizes = (first, (9, 9), (8, 12), (33, 20))
    alone, many = programs_of(POOL, *((2, 3, *size) for size in sizes))
    assert "1 <= h <= 2" in cast(Any, alone) or "1 <= w <= 2" in cast(Any, alone)
    assert not any("==" in condition for condition in cast(Any, many))


def test_calls_that_are_refused_decide_nothing() -> None:
    text = """best (float[batch, n] x) => (float[batch, 3] y, int64[batch, 3] i) {
        k = Constant <value_ints = [3]> ()
        y, i = TopK(x, k)
    }"""
    assert len(programs_of(text, (2, 0), (2, 5), (3, 9), (1, 12), (7, 5))) == 1


def test_numbers_that_are_asked_for_at_several_lengths() -> None:
    """They are numbers from then on: nothing is compiled in vain for each further one."""
    text = f"""bands (float[batch, n] x) => (float[batch, 9] y) {{
        {bands_of("x", 1, "m")}
        turned = Transpose (m)
        y = MatMul (x, turned)
    }}"""
    stages: list[str] = []
    model = xrelay.compile(model_of(text), cache=False, progress=stages.append)
    assert isinstance(model, DynamicModel)
    reads = [stages.count("read the model")]
    for n in (8, 9, 10, 11):
        model.run({"x": np.ones((2, n), np.float32)})
        reads.append(stages.count("read the model"))
    assert [b - a for a, b in pairwise(reads)] == [2, 2, 1, 1]


def test_messages_name_the_lengths() -> None:
    text = """last (float[batch, seq, 8] x) => (float[batch, 8] y) {
        last = Constant <value_int = -1> ()
        y = Gather <axis = 1> (x, last)
    }"""
    model = xrelay.compile(model_of(text), cache=False)
    with pytest.raises(OnnxImportError, match=r"accepted range is \[0, -1\] \(for batch = 2, seq = 0\)$"):  # fmt: skip
        model.run({"x": np.ones((2, 0, 8), np.float32)})


def test_lengths_beyond_all_programs() -> None:
    model = xrelay.compile(parser.parse_model(PRODUCTS), cache=False)
    assert isinstance(model, DynamicModel)
    x = np.broadcast_to(np.float32(1), (2**31, 6))
    with pytest.raises(
        xrelay.ModelError, match="'batch' is 2147483648 in input 'x', expected 0 to 2147483647"
    ):
        model.run({"x": x})
    assert not model.specialisations


def test_places_of_a_table() -> None:
    """Tables of positions end; beyond, indices would count from the start again."""
    text = """places (float[batch, seq] x) => (float[batch, seq] y) {
        first = Constant <value_int = 0> ()
        step = Constant <value_int = 1> ()
        one = Shape <start = 1, end = 2> (x)
        last = Squeeze(one)
        places = Range(first, last, step)
        row = Constant <value_ints = [0]> ()
        both = Unsqueeze(places, row)
        p = Gather(table, both)
        y = Add(x, p)
    }"""
    model = xrelay.compile(model_of(text, table=(8,)), cache=False)
    assert isinstance(model, DynamicModel)
    for seq in (12, 5, 8, 0, 12, 9):
        x = np.ones((2, seq), np.float32)
        if seq > 8:
            with pytest.raises(OnnxImportError, match=r"accepted range is \[-8, 7\]"):
                model.run({"x": x})
        else:
            assert model.run({"x": x})["y"].shape == (2, seq)
    (conditions,) = {each.conditions for each in model.specialisations}
    assert conditions is not None and "0 <= seq <= 8" in conditions


def test_inputs_of_any_rank() -> None:
    """Each rank has programs of its own."""
    model = model_of("sum (float[n, 3] x, float[n, 3] w) => (float[n, 3] y) { y = Add(x, w) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    compiled = xrelay.compile(model, cache=False)
    for first, second in (
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((), ()),
        ((4, 5, 6), (6,)),
        ((7, 3), (7, 3)),
    ):
        x, w = np.ones(first, np.float32), np.full(second, 2, np.float32)
        found = compiled.run({"x": x, "w": w})["y"]
        assert found.shape == first
        np.testing.assert_array_equal(found, 3)


@pytest.mark.parametrize(
    "past", ["float[p] past, float[t] mask", "float[p] past, float[q] other, float[t] mask"]
)
def test_prompts_before_there_is_a_past(past: str) -> None:
    """What is equal in a call with an empty cache is equal in others, too: a mask of all tokens, caches of several layers."""
    others = "both = Concat <axis = 0> (other, x) z = Add (both, mask)" if "other" in past else ""
    model = model_of(
        f"""prompt (float[s] x, {past}) => (float[t] y{", float[t] z" if others else ""}) {{
            all = Concat <axis = 0> (past, x)
            y = Add (all, mask)
            {others}
        }}"""
    )
    compiled = xrelay.compile(model, cache=False)
    for tokens, known in ((5, 0), (6, 0), (2, 0), (1, 5), (1, 6), (3, 7), (9, 0)):
        given = {
            "x": np.arange(tokens, dtype=np.float32),
            "mask": np.full(tokens + known, 10, np.float32),
            **{name: np.ones(known, np.float32) for name in ("past", "other")[: 1 + bool(others)]},
        }
        for found in compiled.run(given).values():
            wanted = 10 + np.concatenate([np.ones(known), np.arange(tokens)])
            np.testing.assert_array_equal(found, wanted)
    assert len({each.conditions for each in compiled.specialisations}) == 1


def test_elements_that_decide_where_a_length_is_not_0() -> None:
    """A call with no rows needs no number of them; that program serves calls with some, too, which need it."""
    model = model_of(
        """taken (float[n, 4] x, int64[1] k) => (float[m, 4] y) {
            one = Constant <value_ints = [0]> ()
            y = Slice (x, one, k, one)
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for rows, taken in ((0, 0), (5, 3), (9, 1), (0, 0), (7, 2)):
        given = {"x": np.ones((rows, 4), np.float32), "k": np.array([taken])}
        assert compiled.run(given)["y"].shape == (taken, 4)
    assert len({each.conditions for each in compiled.specialisations}) <= 2


@pytest.mark.parametrize(
    "condition",
    [
        "d = Identity (c)",
        "d = Identity (yes)",
        "d = And (c, yes)",
        "d = Or (other, yes)",
        "one = Constant <value_int = 1> () d = Cast <to = 9> (one)",
        "no = Constant <value = bool {0}> () d = Not (no)",
    ],
)
def test_loops_whose_condition_stays_true(condition: str) -> None:
    """They are loops of as many rounds as a length says, whichever way the condition is written."""
    model = model_of(
        f"""rows (float[n, 3] x, bool other) => (float[n, 3] y) {{
            yes = Constant <value = bool {{1}}> ()
            shape = Shape (x)
            zero = Constant <value_int = 0> ()
            count = Gather (shape, zero)
            y = Loop (count, yes) <body = round (int64 i, bool c) => (bool d, float[3] row) {{
                {condition}
                part = Gather (x, i)
                row = Neg (part)
            }}>
        }}"""
    )
    compiled = xrelay.compile(model, cache=False)
    for rows in (5, 6, 1, 40):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        found = compiled.run({"x": x, "other": np.array(False)})["y"]
        np.testing.assert_array_equal(found, -x)
    assert len({each.conditions for each in compiled.specialisations} - {None}) == 1


@pytest.mark.parametrize(
    ("condition", "first", "order"),
    [
        ("e = Add (i, one) d = Less (e, count)", "zero", 1),
        ("e = Add (j, one) d = Less (e, count)", "zero", 1),
        ("e = Add (j, one) f = GreaterOrEqual (e, count) g = Not (f) d = And (c, g)", "zero", 1),
        ("e = Add (i, one) d = Greater (count, e)", "last", -1),
    ],
)
def test_loops_that_end_by_a_length(condition: str, first: str, order: int) -> None:
    """As exported `while i < len(x)` has it: one program, which makes as many rounds as the condition says."""
    step = "Add (j, one)" if order == 1 else "Sub (j, one)"
    model = model_of(
        f"""rows (float[n, 3] x) => (float[m, 3] y, int64 k) {{
            zero = Constant <value_int = 0> ()
            one = Constant <value_int = 1> ()
            shape = Shape (x)
            count = Gather (shape, zero)
            last = Sub (count, one)
            begins = Less (zero, count)
            k, y = Loop (, begins, {first}) <body = round (int64 i, bool c, int64 j) => (bool d, int64 next, float[3] row) {{
                {condition}
                next = {step}
                part = Gather (x, j)
                row = Neg (part)
            }}>
        }}"""
    )
    compiled = xrelay.compile(model, cache=False)
    for rows in (5, 6, 1, 40):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        found = compiled.run({"x": x})
        np.testing.assert_array_equal(found["y"], -x[::order])
        assert found["k"] == (rows if order == 1 else -1)
    assert len({each.conditions for each in compiled.specialisations} - {None}) == 1


@pytest.mark.parametrize("condition", ["d = Not (c)", "d = And (c, no)", "d = Identity (other)"])
def test_loops_that_may_end_before(condition: str) -> None:
    model = model_of(
        f"""rows (float[n, 3] x, bool other) => (float[3] y) {{
            yes = Constant <value = bool {{1}}> ()
            no = Constant <value = bool {{0}}> ()
            shape = Shape (x)
            zero = Constant <value_int = 0> ()
            count = Gather (shape, zero)
            start = Constant <value_floats = [0.0, 0.0, 0.0]> ()
            y = Loop (count, yes, start) <body = round (int64 i, bool c, float[3] sum) => (bool d, float[3] next) {{
                {condition}
                part = Gather (x, i)
                next = Add (sum, part)
            }}>
        }}"""
    )
    compiled = xrelay.compile(model, cache=False)
    for rows in (5, 6):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        found = compiled.run({"x": x, "other": np.array(False)})["y"]
        np.testing.assert_array_equal(found, x[0])
