"""Loops and scans that stay loops of a program, and numbers of rounds, parts and tensors that do not fit."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, parser
from onnx_models import Samples, by_import, by_onnxruntime, main, require_equal
from xdsl.dialects import scf

from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.importer.core import unrolling
from xrelay.frontends.onnx.importer.core.loop_inputs import goes_on
from xrelay.runtime.signature import InputSequence

SAMPLES = Samples(43)
floats = SAMPLES.floats


def model(text: str) -> ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')


def scan(rounds: int, axis: int, direction: int, given: int = 0) -> ModelProto:
    """The sums of a state and each matrix, and products of both; matrices are `given` from the last on if that is 1."""
    return model(f"""
    scanned (float[2, 3] s, float[{rounds}, 2, 3] xs) => (float[2, 3] y, float[a, b, c] ys) {{
      y, ys = Scan <num_scan_inputs = 1, scan_output_axes = [{axis}], scan_output_directions = [{direction}],
        scan_input_directions = [{given}],
        body = body (float[2, 3] h, float[2, 3] x) => (float[2, 3] sum, float[2, 3] out) {{
          sum = Add(h, x)
          out = Mul(sum, x)
        }}> (s, xs)
    }}""")


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_what_rounds_add_on_any_axis(axis: int, direction: int) -> None:
    """Of a scan that is not unrolled."""
    scanned = scan(70, axis, direction)
    assert any(isinstance(op, scf.ForOp) for op in main(import_model(scanned)).walk())
    data = [floats(2, 3), floats(70, 2, 3)]
    require_equal(by_import(scanned, data), by_onnxruntime(scanned, data))


def test_rounds_from_the_last_slice_on() -> None:
    scanned = scan(70, 0, 0, 1)
    assert any(isinstance(op, scf.ForOp) for op in main(import_model(scanned)).walk())
    data = [floats(2, 3), floats(70, 2, 3)]
    require_equal(by_import(scanned, data), by_onnxruntime(scanned, data))


LOOP = """
looped (float[2] x, int64 n) => (float[2] y) {
  cond = Constant <value = bool[1] {COND}> ()
  y = Loop <body = body (int64 i, bool go, float[2] h) => (bool on, float[2] hn) {
      on = Identity(go)
      hn = Add(h, h)
    }> (n, cond, x)
}"""


@pytest.mark.parametrize(("cond", "factor"), [(0, 1), (1, 8)])
def test_loops_that_end_before_they_begin(cond: int, factor: int) -> None:
    """By a condition that is known, whatever the number of rounds is."""
    x = floats(2)
    (found,) = by_import(model(LOOP.replace("COND", str(cond))), [x, np.array(3)])
    np.testing.assert_array_equal(found, x * factor)


SCANS = {
    "num_scan_inputs = 0": "'num_scan_inputs' is 0, it has 3 inputs and its body 2 outputs",
    "num_scan_inputs = 4": "'num_scan_inputs' is 4, it has 3 inputs and its body 2 outputs",
    "num_scan_inputs = 2": "the scanned axes have the lengths [4, 5]",
}


@pytest.mark.parametrize("number", SCANS)
def test_scans_that_do_not_fit(number: str) -> None:
    """Inputs of unequal lengths, and another number of them."""
    text = f"""
    scanned (float[2] s, float[4, 2] xs, float[5, 2] zs) => (float[2] y, float[a, 2] ys) {{
      y, ys = Scan <{number}, body = body (float[2] h, float[2] x, float[2] z) => (float[2] sum, float[2] out) {{
          sum = Add(h, x)
          out = Mul(sum, z)
        }}> (s, xs, zs)
    }}"""
    assert reason(text) == f"{SCANS[number]}"


def reason(text: str) -> str:
    """What is said of the node of a model."""
    with pytest.raises(OnnxImportError) as caught:
        import_model(model(text))
    said = str(caught.value)
    return said.partition("): ")[2] or said.rpartition("opset 17: ")[2]


def test_scans_with_more_states_than_outputs() -> None:
    """The body gives each state anew."""
    text = """
    scanned (float[2] s, float[2] t, float[4, 2] xs) => (float[2] y) {
      y = Scan <num_scan_inputs = 1, body = body (float[2] h, float[2] k, float[2] x) => (float[2] sum) {
          sum = Add(h, x)
        }> (s, t, xs)
    }"""
    assert reason(text) == "'num_scan_inputs' is 1, it has 3 inputs and its body 1 outputs"


def test_scans_without_rounds() -> None:
    """What they add has a shape that only a round would tell."""
    text = """
    scanned (float[2] s, float[0, 2] xs) => (float[2] y, float[a, 2] ys) {
      y, ys = Scan <num_scan_inputs = 1, body = body (float[2] h, float[2] x) => (float[2] sum, float[2] out) {
          sum = Add(h, x)
          out = Mul(sum, x)
        }> (s, xs)
    }"""
    expected = "it makes no round, and the shape of what rounds add is not known"
    assert reason(text) == expected


def test_bodies_with_too_few_outputs() -> None:
    """The condition, and each carried value."""
    text = """
    looped (float[2] x) => (float[2] y) {
      n = Constant <value_int = 3> ()
      y = Loop <body = body (int64 i, bool go, float[2] h) => (bool on) { on = Identity(go) }> (n, , x)
    }"""
    assert reason(text) == "its body has 1 outputs, expected 2 or more"


def test_conditions_of_several_elements() -> None:
    """A loop goes on or does not."""
    text = """
    looped (float[2] x, bool[2] c) => (float[2] y) {
      y = Loop <body = body (int64 i, bool go, float[2] h) => (bool on, float[2] hn) {
          on = Identity(go)
          hn = Add(h, h)
        }> (, c, x)
    }"""
    assert reason(text) == "tensor<2xi1> is given, expected one element of type i1"


MAPPED = """
mapped (float[4] x, float[6] z) => (seq(float[k]) ys) {
  two = Constant <value_int = 2> ()
  xs = SplitToSequence <axis = 0> (x, two)
  zs = SplitToSequence <axis = 0> (z, two)
  ys = SequenceMap <body = body (float[k] a, float[k] b) => (float[k] c) { c = Add(a, b) }> (xs, zs)
}"""


def test_sequences_of_unequal_lengths() -> None:
    """Each tensor of one goes with one of the other."""
    assert reason(MAPPED) == "its sequences have 2 and 3 tensors"
    equal: Any = MAPPED.replace("float[6]", "float[4]")
    x, z = floats(4), floats(4)
    (found,) = by_import(model(equal), [x, z])
    np.testing.assert_array_equal(np.concatenate(found), x + z)


def test_tensors_for_sequences_that_are_tensors() -> None:
    """A list of tensors stands for a sequence."""
    text = "plain (float[2] x) => (float[2] y) { y = Relu(x) }"
    message = (
        "^cannot import model 'plain': shapes= gives the tensors of 'x', which is no sequence$"
    )
    with pytest.raises(OnnxImportError, match=message):
        import_model(model(text), shapes={"x": InputSequence.of([floats(2)])})


def test_programs_that_grow_too_large() -> None:
    """The operations of all loops count together."""
    text = """
    looped (float[2] x) => (float[n, 2] y, float[n, 2] z) {
      n = Constant <value_int = 30> ()
      first, y = Loop <body = body (int64 i, bool go, float[2] h) => (bool on, float[2] hn, float[2] r) {
          rest = Mod(i, n)
          on = Equal(rest, i)
          hn = Add(h, h)
          r = Identity(hn)
        }> (n, , x)
      second, z = Loop <body = body (int64 i, bool go, float[2] h) => (bool on, float[2] hn, float[2] r) {
          rest = Mod(i, n)
          on = Equal(rest, i)
          hn = Add(h, h)
          r = Identity(hn)
        }> (n, , first)
    }"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unrolling, "MAX_OPERATIONS", 200)
        found, _, remedy = reason(text).partition("\n")
    assert found == (
        "loops are unrolled, which makes more than 200 operations; how many rounds it makes is "
        "computed, and the shape of what rounds add depends on it"
    )
    assert "xrelay.compile and `xrelay run` find out in stages" in remedy


@pytest.mark.parametrize(
    ("shapes", "axis", "message"),
    [
        ("float[4] x, float[4, 3] z", 1, "'axis' is 1, accepted range is [-1, 0]"),
        (
            "float[4, 3] x, float[4] z",
            1,
            "field 1 of 'data' is tensor<4xf32>, field 0 is tensor<4x3xf32>",
        ),
        ("float[4] x, float[4] z", -2, "'axis' is -2, accepted range is [-1, 0]"),
    ],
)
def test_axes_of_what_is_joined(shapes: str, axis: int, message: str) -> None:
    """That of the first tensor, which the others follow."""
    text = f"joined ({shapes}) => (float[a] y) {{ y = Concat <axis = {axis}> (x, z) }}"
    assert reason(text) == message


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("b (int64 i, bool go) => (bool go) { x = Identity(i) }", True),
        ("b (int64 i, bool go) => (bool on) { on = Identity(go) }", True),
        ("b (int64 i, bool go) => (bool on) { a = Identity(go) on = Identity(a) }", True),
        ("b (int64 i, bool go) => (bool on) { on = Not(go) }", False),
        ("b (int64 i, bool go) => (bool on) { on = Identity(i) }", False),
        ("b (int64 i, bool go) => (bool on) { on = Constant <value = bool {1}> () }", True),
        ("b (int64 i, bool go) => (bool on) { on = Constant <value = bool {0}> () }", False),
        ("b (int64 i, bool go) => (bool on) <bool on = {1}> { x = Identity(i) }", True),
        ("b (int64 i, bool go) => (bool on) <bool on = {0}> { x = Identity(i) }", False),
        ("b (int64 i) => (bool on) { on = Identity(i) }", False),
        ("b () => (bool on) { on = Identity(on) }", False),
        ("b () => () { on = Identity(on) }", False),
        ("b (int64 i, bool go) => (bool on) { a = Not(go) on = Not(a) }", True),
        ("b (int64 i, bool go) => (bool on) { a = Not(go) on = Or(a, go) }", True),
        ("b (int64 i, bool go) => (bool on) { a = Not(go) on = And(a, go) }", False),
        (
            "b (int64 i, bool go) => (bool on) { c = Constant <value_int = 2> () on = Cast <to = 9> (c) }",
            True,
        ),
        (
            "b (int64 i, bool go) => (bool on) { c = Constant <value_float = 1.0> () a = Cast <to = 9> (c) on = Not(a) }",
            False,
        ),
        (
            "b (int64 i, bool go) => (bool on) { c = Constant <value = float {0.3}> () a = Cast <to = 7> (c) on = Cast <to = 9> (a) }",
            False,
        ),
    ],
)
def test_conditions_that_stay_true(body: str, found: bool) -> None:
    """That which is given, or a constant, also in bodies that are damaged."""
    assert goes_on(parser.parse_graph(body), lambda name: None) is found


def counted(
    condition: str,
    *,
    start: int = 0,
    most: str = "",
    first: str = "yes",
    following: str = "Add(j, three)",
    what: str = "j",
) -> ModelProto:
    """A loop whose condition compares numbers."""
    numbers = {
        "one": 1,
        "two": 2,
        "three": 3,
        "seventy": 70,
        "many": 207,
        "none": -5,
        "start": start,
    }
    constants = [f"{name} = Constant <value_int = {n}> ()" for name, n in numbers.items()]
    return model(f"""
    counted (float[2] x) => (float[2] y, int64 last, float[a, 2] ys) {{
      {" ".join(constants)}
      yes = Constant <value = bool {{1}}> ()
      no = Constant <value = bool {{0}}> ()
      y, last, ys = Loop <body = body (int64 i, bool go, float[2] h, int64 j) => (bool on, float[2] hn, int64 jn, float[2] out) {{
          {condition}
          jn = {following}
          half = Constant <value_float = 0.5> ()
          kf = Cast <to = 1> ({what})
          hh = Mul(h, half)
          hn = Add(hh, kf)
          out = Tanh(hn)
        }}> ({most}, {first}, x, start)
    }}""")


@pytest.mark.parametrize(
    ("looped", "rounds"),
    [
        (counted("k = Add(i, one) on = Less(k, seventy)"), 70),
        (counted("k = Add(i, one) on = LessOrEqual(k, seventy)"), 71),
        (counted("on = Greater(seventy, i)"), 71),
        (counted("k = Add(j, three) on = Less(k, many)"), 69),
        (counted("k = Add(j, two) on = Less(k, many)"), 70),
        (counted("k = Mul(i, three) on = GreaterOrEqual(many, k)"), 71),
        (counted("k = Sub(seventy, i) on = Greater(k, none)"), 76),
        (counted("on = Greater(j, none)", start=300, following="Sub(j, three)"), 103),
        (counted("k = Sub(seventy, i) l = Mul(i, two) on = GreaterOrEqual(k, l)"), 25),
        (counted("k = Add(i, one) l = Less(k, seventy) on = And(go, l)"), 70),
        (counted("k = GreaterOrEqual(i, seventy) on = Not(k)"), 71),
        (counted("k = Greater(i, seventy) l = Not(k) m = Not(l) on = Not(m)"), 72),
        (counted("on = Less(i, seventy)", most="three"), 3),
        (counted("on = Less(i, seventy)", most="many"), 71),
        (counted("on = Less(i, none)"), 1),
        (counted("on = Less(many, i)"), 1),
        (counted("on = Less(i, seventy)", following="Sub(three, j)", what="i"), 71),
    ],
)
def test_rounds_that_a_condition_counts(looped: ModelProto, rounds: int) -> None:
    """A condition that compares numbers which grow by the same in each round says how many there are."""
    x = floats(2)
    found = by_import(looped, [x])
    require_equal(found, by_onnxruntime(looped, [x]))
    assert len(found[2]) == rounds
    if rounds > 25:
        assert any(isinstance(op, scf.ForOp) for op in main(import_model(looped)).walk())


@pytest.mark.parametrize(
    ("first", "most"), [("no", ""), ("yes", "none")], ids=["condition", "limit"]
)
def test_counted_rounds_that_do_not_begin(first: str, most: str) -> None:
    looped = counted("on = Less(i, seventy)", first=first, most=most)
    x = floats(2)
    found = by_import(looped, [x])
    np.testing.assert_array_equal(found[0], x)
    assert found[1] == 0 and found[2].shape == (0, 2)


@pytest.mark.parametrize(
    "condition",
    [
        "k = Mul(i, i) on = Less(k, seventy)",
        "k = Mod(i, three) on = Less(k, two)",
        "k = Cast <to = 6> (i) l = Cast <to = 6> (seventy) on = Less(k, l)",
        "k = Less(i, seventy) l = Less(i, many) on = Or(k, l)",
        "k = Less(i, seventy) l = Less(j, many) on = And(k, l)",
        "on = Less(j, many)",
    ],
)
def test_rounds_that_no_number_counts(condition: str) -> None:
    """They are found out one after the other, as are those of a number that does not grow by the same."""
    looped = counted(condition, start=1, following="Mul(j, two)")
    x = floats(2)
    require_equal(by_import(looped, [x]), by_onnxruntime(looped, [x]))


@pytest.mark.parametrize(
    "body", ["b () => () { on = Not(yes) }", "b (int64 i, bool go) => () { on = Less(i, many) }"]
)
@pytest.mark.parametrize("inputs", [["many"], ["many", "yes"], ["", "yes"]])
def test_bodies_that_compute_no_condition(body: str, inputs: list[str]) -> None:
    looped = counted("on = Less(i, many)")
    node = looped.graph.node[-1]
    assert node.op_type == "Loop"
    node.attribute[0].g.CopyFrom(parser.parse_graph(body))
    node.input[:] = inputs
    del node.output[1:]
    del looped.graph.output[1:]
    with pytest.raises(OnnxImportError, match="cannot import model 'counted': "):
        import_model(looped)


NESTED = """
nested (float[2] x) => (float[2] y) {
  one = Constant <value_int = 1> ()
  yes = Constant <value = bool {1}> ()
  rounds = Constant <value_int = 80> ()
  y = Loop <body = outer (int64 i, bool go, float[2] h) => (bool on, float[2] hn) {
      on = Identity(go)
      hn = Loop <body = inner (int64 k, bool goes, float[2] g) => (bool still, float[2] gn) {
          e = Add(k, one)
          still = CONDITION
          gn = Cos(g)
        }> (, yes, h)
    }> (rounds, , x)
}"""


@pytest.mark.parametrize("condition", ["Less(e, i)", "Less(k, i)", "Greater(i, rounds)"])
def test_conditions_that_compare_rounds_of_two_loops(condition: str) -> None:
    looped, x = model(NESTED.replace("CONDITION", condition)), floats(2)
    require_equal(by_import(looped, [x]), by_onnxruntime(looped, [x]))


@pytest.mark.parametrize(
    "condition",
    [
        "r = Range(start, i, one) s = Size(r) on = Less(s, many)",
        "o = Unsqueeze(i, start) r = Slice(o, start, o) s = Size(r) on = Less(s, two)",
    ],
)
def test_conditions_that_are_not_looked_into(condition: str) -> None:
    """Only when rounds are unrolled is it known what they compute."""
    condition = condition.replace("start", "axis")
    looped = counted(condition, most="three")
    looped.graph.node.insert(0, looped.graph.node[0])
    looped.graph.node[0].CopyFrom(helper.make_node("Constant", [], ["axis"], value_ints=[0]))
    if "Range" in condition:
        looped.graph.node[0].CopyFrom(helper.make_node("Constant", [], ["axis"], value_int=0))
    x = floats(2)
    require_equal(by_import(looped, [x]), by_onnxruntime(looped, [x]))


@pytest.mark.parametrize(
    ("condition", "following"),
    [
        ("k = Mul(i, large) on = LessOrEqual(k, largest)", "Add(j, one)"),
        ("on = Less(j, largest)", "Add(j, large)"),
        ("k = Mul(i, quarter) l = Mul(i, less) m = Add(l, seventy) on = Less(k, m)", "Add(j, one)"),
    ],
)
def test_numbers_that_wrap_around(condition: str, following: str) -> None:
    """They are less again behind the largest."""
    looped = counted(condition, most="seventy", following=following)
    numbers = {"large": 2**63 - 2, "largest": 2**63 - 1, "quarter": 2**61 - 10, "less": 2**61 - 11}
    for name, number in numbers.items():
        constant = helper.make_node("Constant", [], [name], value_int=number)
        looped.graph.node.insert(0, constant)
    x = floats(2)
    require_equal(by_import(looped, [x]), by_onnxruntime(looped, [x]))


def test_conditions_of_loops_in_each_other_are_imported_once() -> None:
    """Each of them depends on what the loop within computes; twice as much for each level would be too much."""
    depth = 20
    body = "h0 = Cos(x0)"
    for level in range(depth):
        body = f"""
          h{level + 1}, n{level} = Loop <body = b{level} (int64 i{level}, bool c{level}, float[2] x{level}, int64 m{level})
            => (bool d{level}, float[2] h{level}, int64 k{level}) {{
              {body}
              k{level} = Add(m{level}, {f"n{level - 1}" if level else "one"})
              d{level} = Less(k{level}, many)
            }}> (, yes, x{level + 1}, one)"""
    looped = model(f"""
    deep (float[2] x{depth}) => (float[2] h{depth}) {{
      one = Constant <value_int = 1> ()
      many = Constant <value_int = 300> ()
      yes = Constant <value = bool {{1}}> ()
      {body}
    }}""")
    assert len(list(main(import_model(looped)).walk())) < 100 * depth
