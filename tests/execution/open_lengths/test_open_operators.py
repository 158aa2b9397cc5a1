"""
Operators whose lengths are open: one program serves all lengths, and computes what onnxruntime does. What several share is
tested in test_many_lengths.py, between pages that fault on access.
"""

import numpy as np
import onnxruntime
import pytest
from onnx_models import model_of
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from tests.execution.open_lengths.cases import IMAGES, ROWS, below, check, sizes, written
from xrelay.runtime.dynamic import DynamicModel


def top(k: str, results: str) -> str:
    """A graph with TopK, whose number of elements is computed first."""
    return f"(float[b, n] x) => (float[b, {results}] y, int64[b, {results}] i) {{ {k} y, i = TopK (x, k) }}"


GRAMS = """mode = "TF", min_gram_length = 1, max_gram_length = 2, max_skip_count = 2, ngram_counts = [0, 2],
    ngram_indexes = [0, 1, 2, 3, 4], pool_int64s = [2, 3, 1, 0, 1, 1, 3, 0], weights = [1.0, 1.0, 1.0, 1.0, 1.0]"""
"""Two sequences of one token, and three of two."""


def moving(body: str, rounds: str = "") -> str:
    """A loop of as many rounds as rows, or less, whose rounds add what `body` makes, p, of the number of a round i."""
    return f"""(float[n, 3] x) => (float[1, 3] y) {{
        shape = Shape <end = 1> (x)
        rows = Squeeze(shape)
        twofold = Constant <value_int = 2> ()
        {rounds or "m = Identity(rows)"}
        true = Constant <value = bool {{1}}> ()
        start = Constant <value = float[1, 3] {{0, 0, 0}}> ()
        y = Loop (m, true, start) <
            body = round (int64 i, bool c, float[1, 3] state) => (bool d, float[1, 3] next) {{
                d = Identity(c)
                single = Constant <value_ints = [1]> ()
                first = Constant <value_ints = [0]> ()
                {body}
                total = ReduceSum <keepdims = 1> (p, first)
                sum = Add(state, total)
                next = Tanh(sum)
            }}
        >
    }}"""


LOOPED = sizes("n", (6,), (8,), (200,), (2,), (0,), (500,))
CASES = written(
    {
        "a row of each round": (
            moving("s = Reshape(i, single) e = Add(s, single) p = Slice(x, s, e, first)"),
            *({}, LOOPED, 18, {}),
        ),
        "two rows of each round": (
            moving(
                """twice = Mul(i, twofold) s = Reshape(twice, single) pair = Constant <value_ints = [2]> ()
                e = Add(s, pair) p = Slice(x, s, e, first)""",
                "m = Div(rows, twofold)",
            ),
            *({}, LOOPED, 18, {}),
        ),
        "a row of each round from the end": (
            moving(
                """back = Sub(rows, i) e = Reshape(back, single) s = Sub(e, single) moved = Gather(x, s)
                p = Identity(moved)"""
            ),
            *({}, LOOPED, 18, {}),
        ),
        # Whether scales fold into weights does not ask whether there is one row.
        "a sum that is scaled": (
            """(float[b, 8] x, float[1, 8] z, float[8, 6] v, float[8, 6] w, float[6] s) => (float[b, 6] y) {
                p = MatMul(x, v)
                q = MatMul(z, w)
                sum = Add(p, q)
                y = Mul(sum, s)
            }""",
            *({}, sizes("b", (3,), (1,), (2,), (40,)), 18, {"v": (8, 6), "w": (8, 6), "s": (6,)}),
        ),
        "places of one number": (
            """(float[b, n] x) => (int64[1, n] y, int64[2, m] z, int64[2, k] w) {
                shape = Shape(x)
                length = Shape <start = 1> (x)
                row = ConstantOfShape <value = float[1] {-1.5}> (length)
                all = ConstantOfShape <value = bool[1] {1}> (shape)
                none = ConstantOfShape(shape)
                y = NonZero(row)
                z = NonZero(all)
                w = NonZero(none)
            }""",
            *({}, sizes("b n", (3, 20), (2, 5), (1, 1), (4, 0), (0, 3), (30, 100)), 18, {}),
        ),
        # As torch writes `x[:, :half] = y`, where lengths are open.
        "a part that is replaced": (
            """(float[n, 6] x, float[n, 6] z) => (float[n, 6] y) {
                length = Shape <end = 1> (x)
                half = Div(length, two)
                ones = ConstantOfShape <value = int64[1] {1}> (half)
                found = NonZero(ones)
                places = Transpose(found)
                t = Slice(z, nought, half, nought)
                y = ScatterND(x, places, t)
            }""",
            *({}, sizes("n", (20,), (7,), (2,), (0,), (300,)), 18, {}),
        ),
        "topk": (top("k = Constant <value_ints = [5]> ()", "5"), {}, ROWS, 20, {}),
        "topk of all": (top("k = Shape <start = 1> (x)", "n"), {}, ROWS, 20, {}),
        "topk of at most a thousand": (
            top(
                "s = Shape <start = 1> (x) h = Constant <value_ints = [1000]> () k = Min(s, h)", "m"
            ),
            *({}, ROWS, 20, {}),
        ),
        "topk along another axis": (
            """(int64[b, n, w] x) => (int64[b, 3, w] y, int64[b, 3, w] i) {
                k = Constant <value_ints = [3]> ()
                y, i = TopK <axis = 1, largest = 0> (x, k)
            }""",
            {"x": below(9)},
            sizes("b n w", (2, 20, 3), (3, 33, 17), (4, 7, 9), (2, 500, 6), (3, 3, 4)),
            *(20, {}),
        ),
        "einsum": (
            """(float[b, s, 6] x, float[b, t, 6] k) => (float[b, s, t] y, float[b, s, 4] z) {
                y = Einsum <equation = "bsd,btd->bst"> (x, k)
                z = Einsum <equation = "bsd,de->bse"> (x, w)
            }""",
            {},
            sizes("b s t", (2, 5, 7), (1, 1, 1), (3, 1, 4), (1, 40, 1), (2, 3, 3)),
            *(18, {"w": (6, 4)}),
        ),
        "rows that fall as a length grows": (
            """(float[40, 8] x, float[n, 2] z) => (float[m, 5] y) {
                start = Shape <end = 1> (z)
                stop = Constant <value_ints = [100]> ()
                axis = Constant <value_ints = [0]> ()
                rows = Slice (x, start, stop, axis)
                y = MatMul (rows, w)
            }""",
            {},
            sizes("n", (3,), (1,), (15,), (8,), (39,)),
            *(18, {"w": (8, 5)}),
        ),
        "weights on the mel scale": (
            """(float[b, n] x) => (float[m, 9] y) {
                length = Shape <start = 1, end = 2> (x)
                number = Squeeze (length, nought)
                bands = Constant <value_int = 9> ()
                rate = Constant <value_int = 8000> ()
                low = Constant <value_float = 20.0> ()
                high = Constant <value_float = 3000.0> ()
                w = MelWeightMatrix (bands, number, rate, low, high)
                y = Sqrt (w)
            }""",
            {},
            sizes("b n", (1, 128), (2, 255), (1, 64), (1, 511), (1, 16)),
            *(20, {}),
        ),
        "determinants of open size": (
            "(float[b, n, n] x) => (float[b] y) { y = Det (x) }",
            {},
            sizes("b n", (2, 3), (3, 20), (1, 1), (4, 33), (2, 2)),
            *(20, {}),
        ),
        "unique": (
            "(int64[n] x) => (int64[m] y, int64[m] i, int64[n] v, int64[m] c) { y, i, v, c = Unique <sorted = 0> (x) }",
            {"x": below(9)},
            sizes("n", (20,), (33,), (7,), (2,), (200,)),
            *(20, {}),
        ),
        "padded and cut off again": (
            """(float[b, n, 6] x) => (float[b, n, 6] y) {
                four = Constant <value_ints = [4]> ()
                length = Shape <start = 1, end = 2> (x)
                over = Mod (length, four)
                short = Sub (four, over)
                more = Mod (short, four)
                pads = Concat <axis = 0> (nought, nought, nought, nought, more, nought)
                p = Pad (x, pads)
                q = Tanh (p)
                y = Slice (q, nought, length, one)
            }""",
            *({}, sizes("b n", (2, 9), (3, 8), (2, 11), (4, 33), (2, 3)), 17, {}),
        ),
        "ranges": (
            """(float[b, n] x) => (float[b, n] y, float[b, n] z) {
                real_zero = Constant <value_float = 0.0> ()
                real_one = Constant <value_float = 1.0> ()
                minus_one = Constant <value_int = -1> ()
                length = Shape <start = 1> (x)
                number = Squeeze (length)
                real = Cast <to = 1> (number)
                places = Range (real_zero, real, real_one)
                y = Add (x, places)
                last = Add (number, minus_one)
                back = Range (last, minus_one, minus_one)
                real_back = Cast <to = 1> (back)
                z = Mul (x, real_back)
            }""",
            *({}, ROWS[:4], 17, {}),
        ),
        "one of a length": (
            """(float[b, n] x, int64[b, k] i) => (float[b, k, n] y) {
                length = Shape <start = 1> (x)
                ends = Constant <value_floats = [0.5, 2.0]> ()
                y = OneHot <axis = 2> (i, length, ends)
            }""",
            {"i": below("n")},
            sizes("b n k", (2, 20, 3), (3, 9, 9), (4, 33, 5)),
            *(17, {}),
        ),
        "parts": (
            "(float[b, n] x) => (float[b, p] y, float[b, p] z, float[b, q] v) { y, z, v = Split <axis = 1, num_outputs = 3> (x) }",
            *({}, ROWS[:4], 18, {}),
        ),
        "shapes in parts": (
            """(float[b, 3, h, w] x) => (float[b, n, 3] y) {
                ones = Constant <value_ints = [1, 1, 2]> ()
                shape = Shape (x)
                batch, channels, image = Split (shape, ones)
                count = ReduceProd (image)
                whole = Concat <axis = 0> (batch, channels, count)
                flat = Reshape (x, whole)
                y = Transpose <perm = [0, 2, 1]> (flat)
            }""",
            *({}, IMAGES, 17, {}),
        ),
        "determinants": (
            "(float[b, n, 3, 3] x) => (float[b, n] y) { y = Det (x) }",
            *({}, sizes("b n", (2, 5), (3, 2), (2, 17)), 20, {}),
        ),
        "ones on a diagonal": (
            "(float[n, m] x) => (float[n, m] y) { e = EyeLike <k = 1> (x) y = Add(x, e) }",
            *({}, sizes("n m", (20, 20), (3, 17), (33, 5)), 20, {}),
        ),
        "caches": (
            """(float[b, 2, n, 4] x, float[b, 2, m, 4] u, int64[b] w) => (float[b, 2, n, 4] y) {
                y = TensorScatter <mode = "circular"> (x, u, w)
            }""",
            {"w": below("n")},
            sizes("b n m", (2, 20, 3), (3, 9, 9), (4, 33, 5)),
            *(24, {}),
        ),
        "losses": (
            "(float[b, 5, n] x, int64[b, n] t) => (float l) { l = SoftmaxCrossEntropyLoss(x, t) }",
            {"t": below(5)},
            sizes("b n", (2, 20), (3, 9), (2, 17)),
            *(20, {}),
        ),
        "images that repeat": (
            """(float[2, n] x) => (float[2, m] y) {
                widths = Constant <value = int64[4] {0, 9, 0, 3}> ()
                y = Pad <mode = "wrap"> (x, widths)
            }""",
            *({}, sizes("n", (4,), (2,), (8,), (1,), (200,)), 19, {}),
        ),
        "different rows": (
            """(int64[n, m] x) => (int64[k, m] y, int64[k] first, int64[n] inverse, int64[k] counts) {
                y, first, inverse, counts = Unique <axis = 0> (x)
            }""",
            {"x": below(3)},
            sizes("n m", (9, 2), (30, 3), (1, 1), (5, 7), (40, 1)),
            *(18, {}),
        ),
        "sequences of tokens": (
            f"(int64[b, n] x) => (float[b, 5] y) {{ y = TfIdfVectorizer <{GRAMS}> (x) }}",
            {"x": below(4)},
            sizes("b n", (2, 6), (1, 30), (3, 2), (2, 1), (4, 0)),
            *(18, {}),
        ),
        "sequences of tokens of which many are skipped": (
            f"(int64[b, n] x) => (float[b, 5] y) {{ y = TfIdfVectorizer <{GRAMS.replace('skip_count = 2', 'skip_count = 700')}> (x) }}",
            {"x": below(4)},
            sizes("b n", (2, 6), (1, 90), (3, 2), (2, 1), (4, 0)),
            *(18, {}),
        ),
        "attention": (
            """(float[b, s, 16] q, float[b, t, 16] k, float[b, t, 16] v) => (float[b, s, 16] y) {
                y = Attention <q_num_heads = 4, kv_num_heads = 4, is_causal = 1> (q, k, v)
            }""",
            *({}, sizes("b s t", (2, 5, 9), (3, 9, 9), (2, 17, 33), (4, 4, 4)), 23, {}),
        ),
    }
)


@pytest.mark.parametrize("name", CASES)
def test_one_program_serves_all_lengths(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize(
    ("node", "mean"),
    [
        ("RandomUniformLike <low = 2.0, high = 4.0>", 3.0),
        ("RandomNormalLike <mean = 2.0, scale = 0.5, seed = 7.0>", 2.0),
        ("Bernoulli", 0.25),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_random_numbers(node: str, mean: float, threads: int) -> None:
    """Those of a program for one shape, which are the same in each run; none for no elements."""
    model = model_of(f"random (float[n, k] x) => (float[n, k] y) {{ y = {node} (x) }}")
    compiled = xrelay.compile(model, cache=False, threads=threads)
    assert isinstance(compiled, DynamicModel)
    for n, k in ((60, 70), (3, 5), (0, 4), (1, 1), (7, 6), (2, 2), (2, 3)):
        x = np.full((n, k), 0.25, np.float32)
        found = compiled.run({"x": x})["y"]
        np.testing.assert_array_equal(compiled.run({"x": x})["y"], found)
        static = xrelay.compile(model, shapes={"n": n, "k": k}, cache=False)
        np.testing.assert_allclose(found, static.run({"x": x})["y"], 1e-6, 1e-6)
        if n == 60:
            assert abs(float(found.mean()) - mean) < 0.03
    assert len({each.conditions for each in compiled.specialisations}) == 1


BEYOND = {
    "two rows": "s = Reshape(i, single) pair = Constant <value_ints = [2]> () e = Add(s, pair) p = Slice(x, s, e, first)",
    "with a fraction": """part = Constant <value_float = 1.5> () real = Cast <to = 1> (i) more = Mul(real, part)
        whole = Cast <to = 7> (more) s = Reshape(whole, single) e = Add(s, single) p = Slice(x, s, e, first)""",
    "doubled": "more = Add(i, i) s = Reshape(more, single) e = Add(s, single) p = Slice(x, s, e, first)",
}
"""Slices of the last rounds are of fewer rows, or of none."""


@pytest.mark.parametrize("name", BEYOND)
def test_slices_that_end_behind_the_axis(name: str) -> None:
    model = model_of(f"behind {moving(BEYOND[name])}")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    compiled = xrelay.compile(model, cache=False)
    for n in (6, 3, 1):
        x = np.random.default_rng(n).standard_normal((n, 3), np.float32)
        (wanted,) = session.run(None, {"x": x})
        np.testing.assert_allclose(compiled.run({"x": x})["y"], wanted, 1e-5, 1e-6)


def test_places_of_many_sums() -> None:
    """Each of which is looked at once: a sum of itself 40 times over is no place."""
    sums = " ".join(f"v{k + 1} = Add(v{k}, v{k})" for k in range(40))
    text = moving(
        f"v0 = Sub(i, i) {sums} s = Reshape(v40, single) e = Add(s, single) p = Slice(x, s, e, first)"
    )
    model = model_of(f"sums {text}")
    x = np.ones((5, 3), np.float32)
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(xrelay.compile(model, cache=False).run({"x": x})["y"], wanted, 1e-5)


def test_branches_that_make_no_sense_are_refused_where_they_are_reached() -> None:
    model = model_of(
        """branches (float[n] x, float[m] w, bool c) => (float[k] y) {
            y = If (c) <
                then_branch = sum () => (float[k] p) { p = Add(x, w) },
                else_branch = same () => (float[k] q) { q = Identity(x) }
            >
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for n, m, c in ((3, 4, False), (3, 3, True), (5, 1, True), (2, 7, False)):
        x, w = np.ones(n, np.float32), np.ones(m, np.float32)
        found = compiled.run({"x": x, "w": w, "c": np.array(c)})["y"]
        np.testing.assert_array_equal(found, x + w if c else x)
    x, w = np.ones(3, np.float32), np.ones(4, np.float32)
    with pytest.raises(DiagnosticException, match=r"'y' \(If\): .*'p' \(Add\): .*do not broadcast"):
        compiled.run({"x": x, "w": w, "c": np.array(True)})
