"""Loops whose rounds have sizes that depend on data: each round runs a model, against onnxruntime."""

import signal
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper, parser
from onnx_models import agree, masks, parsed

import xrelay
from xrelay.runtime.errors import ModelError
from xrelay.runtime.staged import Added, Join, Repeated, StagedModel
from xrelay.tools.cli import main

Inputs = dict[str, Any]
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)

NUMBERS_OF_ROWS = """m (float[n, 3] x) => (float[3] y, int64[k] counts) {
    limit = Constant <value_int = 4> ()
    go = Constant <value = bool {1}> ()
    start = Constant <value_floats = [0.0, 1.0, 2.0]> ()
    y, counts = Loop (limit, go, start) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t, int64 count) {
        f = Cast <to = 1> (i)
        moved = Sub(x, f)
        positive = Relu(moved)
        places = NonZero(positive)
        count = Size(places)
        rows = Transpose(places)
        some = GatherND(x, rows)
        total = ReduceSum <keepdims = 0> (some)
        t = Add(s, total)
        d = Identity(c)
    }>
}"""
ROUNDS_BY_A_CONDITION = """m (float[3] x) => (float[3] y, float[k, 3] all, int64 steps) {
    go = Constant <value = bool {1}> ()
    zero = Constant <value_int = 0> ()
    y, steps, all = Loop ("", go, x, zero) <body = b (int64 i, bool c, float[3] s, int64 n) => (bool d, float[3] t, int64 m, float[3] u) {
        half = Constant <value_float = 0.5> ()
        t = Mul(s, half)
        u = Identity(t)
        one = Constant <value_int = 1> ()
        m = Add(n, one)
        top = ReduceMax <keepdims = 0> (t)
        limit = Constant <value_float = 0.1> ()
        d = Greater(top, limit)
    }>
}"""
"""Nothing but the number of rounds depends on data, and the shape of what they add."""
GROWTH = """m (float[n] x) => (float[k] y) {
    there = NonZero(x)
    trips = Size(there)
    go = Constant <value = bool {1}> ()
    y = Loop (trips, go, x) <body = b (int64 i, bool c, float[m] s) => (bool d, float[l] t) {
        f = Cast <to = 1> (i)
        axis = Constant <value_ints = [0]> ()
        last = Unsqueeze(f, axis)
        t = Concat <axis = 0> (s, last)
        d = Identity(c)
    }>
}"""
NESTED = """m (float[n, 3] x) => (float[k, 3] y, int64 total) {
    shape = Shape <start = 0, end = 1> (x)
    rows = Squeeze(shape)
    zero = Constant <value_int = 0> ()
    from = Constant <value_ints = [0]> ()
    none = Slice(x, from, from, from)
    go = Constant <value = bool {1}> ()
    y, total = Loop (rows, go, none, zero) <body = outer (int64 i, bool c, float[m, 3] s, int64 t) => (bool d, float[l, 3] u, int64 v) {
        row = Gather(x, i)
        there = NonZero(row)
        count = Size(there)
        yes = Constant <value = bool {1}> ()
        u, v = Loop (count, yes, s, t) <body = inner (int64 j, bool e, float[m, 3] p, int64 q) => (bool f, float[l, 3] r, int64 w) {
            axis = Constant <value_ints = [0]> ()
            last = Unsqueeze(row, axis)
            r = Concat <axis = 0> (p, last)
            one = Constant <value_int = 1> ()
            w = Add(q, one)
            f = Identity(e)
        }>
        d = Identity(c)
    }>
}"""
"""The inner loop repeats each row as often as it has elements that are not 0."""
SCAN = """m (float[n, 3] x) => (float[3] y, float[n, 3] z, int64 w) {
    start = Constant <value_floats = [0.0, 0.0, 0.0]> ()
    y, z = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
        body = b (float[3] s, float[3] row) => (float[3] t, float[3] u) {
            there = NonZero(row)
            places = Transpose(there)
            some = GatherND(row, places)
            total = ReduceSum <keepdims = 0> (some)
            t = Add(s, total)
            u = Mul(t, row)
        }
    > (start, x)
    places = NonZero(z)
    w = Size(places)
}"""
"""The second stage has sizes that depend on data, too."""


@pytest.mark.parametrize(
    "text",
    [NUMBERS_OF_ROWS, NESTED, SCAN],
    ids=["constant rounds", "nested", "scan"],
)
def test_rounds_on_rows(text: str) -> None:
    """One model serves several numbers of rows, also none."""
    model = parsed(text)
    compiled = xrelay.compile(model, cache=False)
    for x in (ROWS, ROWS[:2], -ROWS, *masks(3, 3)):
        agree(model, compiled, {"x": x}, 1e-5)
    if text is not SCAN:  # onnxruntime refuses a scan of nothing.
        agree(model, compiled, {"x": ROWS[:0]}, 1e-5)


@pytest.mark.parametrize("text", [ROUNDS_BY_A_CONDITION, GROWTH], ids=["condition", "growth"])
def test_rounds_on_a_vector(text: str) -> None:
    model = parsed(text)
    compiled = xrelay.compile(model, cache=False)
    vectors = [[1, 2, 3], [100, 0, 3], [-1, -2, 0], [0, 0, 0]]
    for x in vectors:
        agree(model, compiled, {"x": np.array(x, np.float32)})


def test_no_round() -> None:
    """What is carried is a copy of what was given, and what rounds add has the lengths that are stated, and 0 for others."""
    model = parsed(ROUNDS_BY_A_CONDITION.replace("bool {1}", "bool {0}"))
    compiled = xrelay.compile(model, cache=False)
    x = np.array([1, 2, 3], np.float32)
    agree(model, compiled, {"x": x})
    found = compiled.run({"x": x})
    found["y"][:] = 0
    assert found["all"].shape == (0, 3) and x[0] == 1


def test_what_is_around_a_loop() -> None:
    """Values before it, that it takes from around it, and behind it; outputs of it that nothing takes; the same in a function."""
    text = """(float[n, 3] x) => (float[n, 3] y, float[3] z) {
        scaled = Mul(x, x)
        limit = Constant <value_int = 3> ()
        nothing = Constant <value = bool {1}> ()
        first = Constant <value_ints = [0]> ()
        start = ReduceSum <keepdims = 0> (scaled, first)
        a, b = Loop (limit, nothing, start, limit) <body = b (int64 i, bool c, float[3] s, int64 n) => (bool d, float[3] t, int64 m) {
            f = Cast <to = 1> (i)
            large = Greater(scaled, f)
            there = NonZero(large)
            places = Transpose(there)
            some = GatherND(scaled, places)
            top = ReduceSum <keepdims = 0> (some)
            t = Sub(s, top)
            m = Size(places)
            d = Identity(c)
        }>
        y = Add(scaled, a)
        z = Relu(start)
    }"""
    whole = parsed(f"m {text}")
    head = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]> '
    calls = "m (float[n, 3] x) => (float[n, 3] y, float[3] z) { y, z = own.f(x) } "
    function = '<domain: "own", opset_import: ["" : 17]> f (x) => (y, z) {' + text.partition("{")[2]
    models = [whole, parser.parse_model(head + calls + function)]
    for model in models:
        compiled = xrelay.compile(model, cache=False)
        for x in (ROWS, ROWS[:1], np.zeros((2, 3), np.float32)):
            agree(whole, compiled, {"x": x}, 1e-5)


def test_a_loop_in_a_branch() -> None:
    loops = GROWTH.partition("=> ")[2].replace("y = Loop", "r = Loop").replace("[k] y", "[k] r")
    model = parsed(
        f"""m (bool c, float[n] x) => (float[k] y) {{
            y = If (c) <
                then_branch = loops () => {loops},
                else_branch = other () => (float[k] w) {{ w = Neg(x) }}
            >
        }}"""
    )
    compiled = xrelay.compile(model, cache=False)
    for taken in (True, False):
        agree(model, compiled, {"c": np.array(taken), "x": np.array([1, 0, 2], np.float32)})


def test_stages_of_rounds() -> None:
    """A model of known shapes is one loop, whose round is one program; its stages cannot be saved as one."""
    compiled = xrelay.compile(parsed(ROUNDS_BY_A_CONDITION), cache=False)
    assert isinstance(compiled, StagedModel) and isinstance(compiled.first, Repeated)
    assert len(compiled.stages) == 1 and "1 stage" in repr(compiled)
    with pytest.raises(ModelError, match="sizes that depend on data"):
        compiled.save("x.so")


def test_rounds_without_end() -> None:
    """Ctrl-C ends them, and the model can be used afterwards."""
    endless = """m (float[3] x, bool go) => (float[k, 3] all) {
        all = Loop ("", go) <body = b (int64 i, bool c) => (bool d, float[3] t) {
            there = NonZero(x)
            f = Cast <to = 1> (there)
            top = ReduceMax <keepdims = 0> (f)
            t = Add(x, top)
            d = Identity(c)
        }>
    }"""
    model = parsed(endless)
    compiled = xrelay.compile(model, cache=False)
    x = np.array([1, 0, 2], np.float32)
    compiled.run({"x": x, "go": np.array(False)})

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled.run({"x": x, "go": np.array(True)})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert compiled.run({"x": x, "go": np.array(False)})["all"].shape == (0, 3)


def test_rounds_that_do_not_fit() -> None:
    """Slices of several shapes have no common tensor."""
    model = parsed(
        """m (float[4] x) => (float[k, l] all) {
            limit = Constant <value_int = 3> ()
            all = Loop (limit, "") <body = b (int64 i, bool c) => (bool d, float[l] t) {
                f = Cast <to = 1> (i)
                large = Greater(x, f)
                t = Compress(x, large)
                d = Identity(c)
            }>
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    with pytest.raises(
        ModelError, match=r"'all' that cannot be joined along a new axis 0: \[3\], \[2\]"
    ):
        compiled.run({"x": np.array([1, 2, 0, 3], np.float32)})
    found = compiled.run({"x": np.array([9, 0, 8, 0], np.float32)})
    np.testing.assert_array_equal(found["all"], [[9, 8]] * 3)


def test_what_rounds_cannot_be() -> None:
    """Rounds with operators that are not supported are refused at once."""
    unsupported = parsed(NUMBERS_OF_ROWS.replace("places = NonZero", "places = Unheard"))
    with pytest.raises(xrelay.OnnxImportError, match="Unheard") as refused:
        xrelay.compile(unsupported, cache=False, shapes={"n": 4})
    assert "in stages" not in str(refused.value)


def test_axes_of_scans() -> None:
    """Slices of other axes than the first, and several scanned tensors."""
    model = parsed(
        """m (float[2, n] x, float[n, 3] w) => (float[3, n] y) {
            y = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_output_axes = [1],
                body = b (float[2] p, float[3] q) => (float[3] r) {
                    there = NonZero(p)
                    f = Cast <to = 1> (there)
                    s = ReduceSum <keepdims = 0> (f)
                    r = Add(q, s)
                }
            > (x, w)
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for n in (1, 3, 5):
        x = np.arange(2 * n, dtype=np.float32).reshape(2, n) % 3
        agree(model, compiled, {"x": x, "w": np.ones((n, 3), np.float32)})
    with pytest.raises(ModelError):
        compiled.run({"x": x, "w": np.ones((4, 3), np.float32)})


def test_run_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`xrelay run` verifies stages of rounds against the interpreter."""
    path = tmp_path / "loop.onnx"
    onnx.save(parsed(NUMBERS_OF_ROWS), path)
    assert main(["run", str(path), "--shape", "x=4,3", "--seed", "1", "--verify"]) == 0
    assert "counts" in capsys.readouterr().out


def test_weights_of_a_round(tmp_path: Path) -> None:
    """Initializers of the body, and of the graph around it, one of them in a file of its own."""
    model: ModelProto = parsed(
        """m (float[4] x) => (float[4] y) {
            limit = Constant <value_int = 2> ()
            y = Loop (limit, "", start) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) {
                there = NonZero(x)
                f = Cast <to = 1> (there)
                top = ReduceMax <keepdims = 0> (f)
                scaled = Mul(inner, top)
                more = Add(scaled, outer)
                t = Add(s, more)
                d = Identity(c)
            }>
        }"""
    )
    numbers = np.arange(4, dtype=np.float32)
    for name in ("start", "outer"):
        model.graph.initializer.append(numpy_helper.from_array(numbers + 1, name))
    body = next(each.g for each in model.graph.node[1].attribute if each.name == "body")
    body.initializer.append(numpy_helper.from_array(numbers - 2, "inner"))
    path = tmp_path / "weights.onnx"
    onnx.save(model, path, save_as_external_data=True, location="data", size_threshold=0)
    whole = onnx.load(path)
    compiled = xrelay.compile(path, cache=False)
    for x in masks(4):
        agree(whole, compiled, {"x": x})


def test_slices_that_rounds_add() -> None:
    """A loop over nothing adds slices of no rounds, with what is stated of their shape."""
    compiled = xrelay.compile(parsed(ROUNDS_BY_A_CONDITION), cache=False)
    assert isinstance(compiled, StagedModel) and isinstance(compiled.first, Repeated)
    (added,) = compiled.first.loop.added
    assert added == Added(added.name, "all", Join(0))
    assert [spec.name for spec in compiled.first.signature.inputs] == ["x"]


LISTS = """m (int64[1] first, float[n, 3] x) => (int64[t] tokens, int64[t, 1] stacked, float[k, 3] rows, int64 more) {{
    none = SequenceEmpty <dtype = 7> ()
    no_rows = SequenceEmpty ()
    go = Constant <value = bool {{1}}> ()
    last, list, parts = Loop ("", go, first, none, no_rows) <
        body = b (int64 i, bool c, int64[1] s, seq(int64[1]) words, seq(float[p, 3]) found)
            => (bool d, int64[1] t, seq(int64[1]) more, seq(float[q, 3]) with) {{
            three = Constant <value_ints = [3]> ()
            one = Constant <value_ints = [1]> ()
            seven = Constant <value_ints = [7]> ()
            tripled = Mul(s, three)
            next = Add(tripled, one)
            t = Mod(next, seven)
            more = SequenceInsert(words, t)
            numbers = Cast <to = 1> (t)
            large = Greater(x, numbers)
            ints = Cast <to = 6> (large)
            any = ReduceMax <axes = [1], keepdims = 0> (ints)
            which = Cast <to = 9> (any)
            chosen = Compress <axis = 0> (x, which)
            with = SequenceInsert(found, chosen)
            zero = Constant <value_ints = [0]> ()
            same = Equal(t, zero)
            rest = Not(same)
            d = Squeeze(rest)
        }}
    >
    tokens = ConcatFromSequence <axis = 0> (list)
    stacked = ConcatFromSequence <axis = 0, new_axis = 1> (list)
    rows = ConcatFromSequence <axis = 0> (parts)
    {}
}}"""
"""A decoder, which goes on until it finds the end, and collects rows of any number."""


def test_lists_that_rounds_append_to() -> None:
    model = parsed(LISTS.format("more = Size(tokens)"))
    compiled = xrelay.compile(model, cache=False)
    for first in (1, 2, 5, 6):
        for x in (ROWS, ROWS[:1], -ROWS):
            agree(model, compiled, {"first": np.array([first]), "x": x})


@pytest.mark.parametrize(
    "use",
    [
        "more = SequenceLength(list)",
        "at = Constant <value_int = 0> () more = SequenceAt(list, at)",
        "",
    ],
)
def test_other_uses_of_lists_are_refused(use: str) -> None:
    """It is not known while importing how long the list is. The last one uses it in the body."""
    text = LISTS.format(use or "more = Size(tokens)")
    if not use:
        text = text.replace(
            "rest = Not(same)",
            "size = SequenceLength(more) no = Cast <to = 9> (size) rest = Not(no)",
        )
    model = parsed(text)
    with pytest.raises(xrelay.OnnxImportError, match="which xrelay.interpret and"):
        xrelay.compile(model, shapes={"n": 4}, cache=False)


def test_lists_that_begin_with_a_prompt() -> None:
    model = parsed(LISTS.format("more = Size(tokens)"))
    none, insert = (
        model.graph.node[0],
        onnx.helper.make_node("SequenceInsert", ["none", "first"], ["begun"]),
    )
    model.graph.node.insert(2, insert)
    loop = next(each for each in model.graph.node if each.op_type == "Loop")
    loop.input[3] = "begun"
    compiled = xrelay.compile(model, cache=False)
    for first in (1, 2, 6):
        agree(model, compiled, {"first": np.array([first]), "x": ROWS})
    none.CopyFrom(onnx.helper.make_node("SequenceConstruct", ["first", "first"], ["none"]))
    compiled = xrelay.compile(model, cache=False)
    agree(model, compiled, {"first": np.array([2]), "x": ROWS})


LIST_OF_NONE = """m (int64 k, int64[1] x) => (int64[t] o) {
    none = SequenceEmpty <dtype = 7> ()
    there = NonZero(x)
    go = Constant <value = bool {1}> ()
    list = Loop (k, go, none) <body = b (int64 i, bool c, seq(int64[1]) s) => (bool d, seq(int64[1]) t) {
        n = Add(x, i)
        t = SequenceInsert(s, n)
        top = ReduceSum <keepdims = 0> (n)
        limit = Constant <value_int = 9> ()
        d = Less(top, limit)
    }>
    o = ConcatFromSequence <axis = 0> (list)
}"""


@pytest.mark.parametrize("first", [0, 3])
def test_a_list_of_nothing_is_joined_to_nothing(first: int) -> None:
    """That is refused in every call, as onnxruntime does, whatever calls there were before."""
    compiled = xrelay.compile(parsed(LIST_OF_NONE), cache=False)
    for k in (first, 3, 0):
        inputs = {"k": np.array(k), "x": np.array([2])}
        if k:
            agree(parsed(LIST_OF_NONE), compiled, inputs)
        else:
            with pytest.raises((ModelError, xrelay.OnnxImportError), match="expected one|is empty"):
                compiled.run(inputs)


CACHE = """m (float[b, 1, 8] q, float[b, p, 8] past, int64 n) => (float[b, t, 8] kv, float[b, 1, 8] last, float[r, b, 1, 8] all) {
    last, kv, all = Loop (n, "", q, past) <
        body = b (int64 i, bool c, float[b, 1, 8] s, float[b, k, 8] cache) => (bool d, float[b, 1, 8] t, float[b, l, 8] more, float[b, 1, 8] u) {
            more = Concat <axis = 1> (cache, s)
            turned = Transpose <perm = [0, 2, 1]> (more)
            scores = MatMul(s, turned)
            weights = Softmax <axis = -1> (scores)
            t = MatMul(weights, more)
            u = Identity(t)
            d = Identity(c)
        }
    >
}"""


def test_a_cache_that_grows_in_a_loop() -> None:
    """One program serves all rounds, and all numbers of them, of which there may be more than programs are kept."""
    model = parsed(CACHE)
    compiled = xrelay.compile(model, cache=False)
    assert compiled.stages == ()
    rng = np.random.default_rng(0)
    q, past = (rng.standard_normal((2, length, 8)).astype(np.float32) for length in (1, 3))
    for n in (2, 50, 7, 0):
        agree(model, compiled, {"q": q, "past": past, "n": np.array(n)}, 1e-4)
    assert len({each.conditions for each in compiled.specialisations}) == 1
    assert len(compiled.specialisations) == 50 and len(compiled.stages) == 1


def test_sizes_of_data_and_inputs_of_the_command_line(tmp_path: Path) -> None:
    """An input with few numbers that is given is a constant of the stages."""
    path, count = tmp_path / "cache.onnx", tmp_path / "n.npy"
    onnx.save(parsed(CACHE), path)
    np.save(count, np.array(3))
    shapes = ["--shape", "b=2", "--shape", "p=3"]
    assert main(["run", str(path), *shapes, "--input", f"n={count}", "--verify"]) == 0


def test_a_list_that_is_an_output_is_refused() -> None:
    text = LIST_OF_NONE.replace("=> (int64[t] o)", "=> (seq(int64[1]) list)")
    text = text.replace("o = ConcatFromSequence <axis = 0> (list)", "")
    with pytest.raises(xrelay.OnnxImportError, match="which xrelay.interpret"):
        compiled = xrelay.compile(parsed(text), cache=False)
        compiled.run({"k": np.array(3), "x": np.array([2])})


def test_lists_beside_values_that_are_computed() -> None:
    """Lists that begin with what is computed, and tensors that the rounds take of the nodes in front of the loop."""
    model = parsed(
        """m (float[2] x) => (float[k] y, int64[1] n) {
            scaled = Mul(x, x)
            none = SequenceEmpty ()
            go = Constant <value = bool {1}> ()
            begun = SequenceInsert(none, scaled)
            longer = SequenceInsert(begun, x)
            last, list = Loop ("", go, x, longer) <
                body = b (int64 i, bool c, float[2] s, seq(float[2]) found) => (bool d, float[2] t, seq(float[2]) more) {
                    sum = Add(s, scaled)
                    t = Relu(sum)
                    more = SequenceInsert(found, t)
                    top = ReduceMax <keepdims = 0> (t)
                    limit = Constant <value_float = 20.0> ()
                    d = Less(top, limit)
                }
            >
            y = ConcatFromSequence <axis = 0> (list)
            n = Shape(y)
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for x in ([1, 2], [-3, 0.5], [9, 9]):
        agree(model, compiled, {"x": np.array(x, np.float32)}, 1e-6)


def test_dimensions_of_bodies_of_one_name() -> None:
    """An inner body may call another length what the outer body does."""
    model = parsed(
        """m (float[n] x) => (float[k] y) {
            ones = Abs(x)
            signs = Sign(ones)
            count = ReduceSum <keepdims = 0> (signs)
            rounds = Cast <to = 7> (count)
            y = Loop (rounds, "", x) <body = b (int64 i, bool c, float[k] s) => (bool d, float[k] t) {
                start = Constant <value_floats = [1.0, 2.0]> ()
                inner = Loop (rounds, "", start) <body = b (int64 j, bool e, float[k] p) => (bool f, float[k] q) {
                    there = NonZero(s)
                    size = Size(there)
                    number = Cast <to = 1> (size)
                    q = Add(p, number)
                    f = Identity(e)
                }>
                total = ReduceSum <keepdims = 0> (inner)
                t = Add(s, total)
                d = Identity(c)
            }>
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for x in ([1, 0, 2], [0, 0, 0, 0], [1, 1]):
        agree(model, compiled, {"x": np.array(x, np.float32)})


@pytest.mark.parametrize("rounds", ["n", "computed"])
def test_numbers_of_rounds_of_lists(rounds: str) -> None:
    """A list in a loop is one program for all numbers of rounds."""
    model = parsed(
        """m (int64 n, int64[w] x) => (int64[t] o) {
            none = SequenceEmpty <dtype = 7> ()
            there = NonZero(x)
            computed = Size(there)
            list = Loop (ROUNDS, "", none) <body = b (int64 i, bool c, seq(int64[w]) s) => (bool d, seq(int64[w]) t) {
                m = Add(x, i)
                t = SequenceInsert(s, m)
                d = Identity(c)
            }>
            o = ConcatFromSequence <axis = 0> (list)
        }""".replace("ROUNDS", rounds)
    )
    compiled = xrelay.compile(model, cache=False)
    for n in (2, 5, 3):
        agree(model, compiled, {"n": np.array(n), "x": np.array([3, 1, 0, 2])})
    programs = [each.shapes for each in compiled.specialisations if "n" in each.shapes]
    assert not programs and len({each.conditions for each in compiled.specialisations}) <= 2


def test_lists_that_only_known_numbers_of_rounds_allow() -> None:
    """A round that adds two tensors to a list is imported once for each round, where the number is known."""
    model = parsed(
        """m (int64 n, int64[2] x) => (int64[t] o) {
            none = SequenceEmpty <dtype = 7> ()
            list = Loop (n, "", none) <body = b (int64 i, bool c, seq(int64[2]) s) => (bool d, seq(int64[2]) u) {
                t = SequenceInsert(s, x)
                u = SequenceInsert(t, x)
                d = Identity(c)
            }>
            o = ConcatFromSequence <axis = 0> (list)
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for n in (2, 1):
        agree(model, compiled, {"n": np.array(n), "x": np.array([3, 1])})


def test_several_numbers_of_rounds_are_refused() -> None:
    text = GROWTH.replace("trips = Size(there)", "trips = Shape(there)")
    compiled = xrelay.compile(parsed(text), cache=False)
    with pytest.raises((ModelError, xrelay.OnnxImportError), match="has 2 elements"):
        compiled.run({"x": np.array([1, 0, 2], np.float32)})
    several = ROUNDS_BY_A_CONDITION.replace("(float[3] x)", "(float[3] x, bool[q] more)")
    compiled = xrelay.compile(parsed(several.replace('"", go', '"", more')), cache=False)
    with pytest.raises((ModelError, xrelay.OnnxImportError), match="has 2 elements"):
        compiled.run({"x": np.array([1, 0, 2], np.float32), "more": np.array([True, False])})


def test_types_that_are_not_stated() -> None:
    """What rounds add needs a type to be handed on."""
    model = parsed(ROUNDS_BY_A_CONDITION)
    body = next(each.g for each in model.graph.node[2].attribute if each.name == "body")
    body.output[-1].ClearField("type")
    with pytest.raises(xrelay.OnnxImportError, match="which xrelay.interpret and"):
        xrelay.compile(model, cache=False)
