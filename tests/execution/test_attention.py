"""
Attention as one kernel, on numbers that are none or all too large, and where it is no kernel.

Random cases, on every target with several threads, are those of tests/support/cases/attention.py,
which test_strategies.py runs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from math import inf, nan

import numpy as np
import onnx
import pytest
from cases.attention import HEAD_SIZES, LENGTHS, LONG, Attention
from cases.strategies.case import Case, direct_bound
from graphs import Graph
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from raw_calls import RawCode
from strategy_checks import problems
from vector_functions import REGISTER_FILES
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue

import xrelay
from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import build, kernel_options, run_passes
from xrelay.dialects.tensor.binary import MultiplyOp, NotEqualOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import Array
from xrelay.lowering.emit.target import TARGETS
from xrelay.lowering.program.fuse_composites import FuseCompositesPass
from xrelay.lowering.program.program import lower_function
from xrelay.options import CompileOptions
from xrelay.transforms.fuse_ops import FuseOpsPass

FLOAT = onnx.TensorProto.FLOAT
LOWEST = float(np.finfo(np.float32).min)


def case_of(attention: Attention) -> Case:
    bound = direct_bound(attention.depth + attention.keys)
    return Case("blocks of rows", str(attention), bound, attention.build)


@pytest.mark.slow
def test_lengths_and_head_sizes(target: str) -> None:
    """Every length with every other one, and every size of a head. The targets share them."""
    sizes = list(product(HEAD_SIZES, HEAD_SIZES))
    cases = [
        case_of(Attention(1, 2, rows, keys, *sizes[7 * i % len(sizes)]))
        for i, (rows, keys) in enumerate(product(LENGTHS, LENGTHS))
    ]
    own = cases[list(REGISTER_FILES).index(target) :: len(REGISTER_FILES)]
    problem = problems(own[::2], target, 2) + problems(own[1::2], target, 3)
    assert not problem, problem


@pytest.mark.in_turn
def test_fewer_heads_than_threads(target: str) -> None:
    cases = [
        case_of(Attention(1, 1, rows, keys, 64, 64, "scores", "causal"))
        for rows, keys in ((1, 9), (2, 33), (65, 65), (130, LONG))
    ]
    problem = problems(cases, target, 3)
    assert not problem, problem


def run(graph: Graph, target: str) -> list[Array]:
    return RawCode(graph.code(target, 2)).run(graph.inputs, 2)


def masked(rows: list[Array], keys: int) -> Callable[[Graph], SSAValue]:
    """Attention whose rows each have a mask that is added."""
    attention = Attention(1, 1, len(rows), keys, 64, 64, "scores", "added")
    mask = np.stack(rows).astype(np.float32).reshape(1, 1, len(rows), keys)
    return lambda g: attention.build_with(g, *attention.arrays(g), mask)


def special_rows(keys: int) -> list[Array]:
    """Masks of a row that make scores special."""
    rng, zeros = np.random.default_rng(0), np.zeros(keys)
    last, first = zeros.copy(), zeros.copy()
    first[0], last[-1] = 1.0, 1.0
    return [
        np.full(keys, -inf),
        np.full(keys, LOWEST),
        np.full(keys, inf),
        np.where(last, 0.0, -inf),
        np.where(first, 0.0, -inf),
        np.where(last, LOWEST, -inf),
        np.where(first, LOWEST, -inf),
        np.where(last, inf, 0.0),
        np.where(first, nan, 0.0),
        np.where(last, -nan, 0.0),
        rng.choice([1e30, -1e30], keys),
        rng.choice([0.0, -1e30, -inf], keys),
        np.linspace(0, -1e30, keys),
        np.linspace(-1e30, 0, keys),
        np.linspace(-90, 90, keys),
        zeros,
    ]


@pytest.mark.in_turn
@pytest.mark.parametrize("keys", [1, 33, LONG])
def test_special_scores(target: str, keys: int) -> None:
    """Rows that are masked as a whole, infinities, NaN and scores of any size, in whichever block."""
    graph = Graph()
    graph.returns(masked(special_rows(keys), keys)(graph))
    ((_, expected),) = graph.expected()
    (found,) = run(graph, target)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.in_turn
@pytest.mark.parametrize("keys", [19, LONG])
def test_special_operands(target: str, keys: int) -> None:
    """What is not finite in a query, a key or a value goes as far as it must, and no further."""
    attention = Attention(1, 2, 9, keys, 17, 64 if keys == LONG else 31)
    graph = Graph()
    arrays = attention.arrays(graph)
    graph.returns(attention.build_with(graph, *arrays, None))
    code, inputs = RawCode(graph.code(target, 2)), [array.copy() for array in graph.inputs]
    for number, special in product(range(3), (inf, -inf, nan)):
        graph.inputs = [array.copy() for array in inputs]
        graph.inputs[number][0, -1, 3] = special  # Of the first head.
        ((_, expected),) = graph.expected()
        (found,) = code.run(graph.inputs, 2)
        assert 0 < np.isfinite(expected).mean() < 1
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def visible(rows: int, keys: int) -> dict[str, Array]:
    """Which keys rows see, in masks that hide blocks of them."""
    row, key = np.arange(rows)[:, None], np.arange(keys)[None]
    return {
        "causal": key <= row,
        "from behind": key >= row + keys - rows,
        "window": abs(key - row) < 40,
        "behind a prefix": (key < 3) | (key <= row),
        "some rows see nothing": (key <= row) & (row % 7 > 0),
        "nothing": np.zeros((rows, keys), bool),
        "all": np.ones((rows, keys), bool),
        "one key in a block": (key == 130) | (key == row),
    }


@pytest.mark.in_turn
@pytest.mark.parametrize("low", [-inf, LOWEST, -1e4, -80.0])
@pytest.mark.parametrize("mask_kind", ["added", "zeros for NaN", "zeros where masked"])
def test_hidden_blocks(target: str, mask_kind: str, low: float) -> None:
    """Masks that hide blocks of scores, whose weights are zeros or nearly so."""
    attention = Attention(1, 1, 150, 400, 17, 33, "scores", mask_kind)
    for name, seen in visible(150, 400).items():
        mask = np.where(seen, 0, low).astype(np.float32)[None, None]
        graph = Graph()
        graph.returns(attention.build_with(graph, *attention.arrays(graph), mask))
        ((_, expected),) = graph.expected()
        (found,) = run(graph, target)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=name)


HIDING = (
    Attention(1, 2, 140, 400, 16, 31, "roots", "chosen"),
    Attention(2, 1, 70, 270, 16, 17, "roots", "zeros for NaN"),
    Attention(1, 2, 70, 270, 16, 16, "none", "zeros where masked", "by columns"),
    Attention(1, 4, 70, 300, 33, 16, "divided", "filled", sharing=2),
    Attention(2, 1, 66, 333, 16, 16, "none", "added", "by columns"),
    Attention(1, 1, 130, 260, 8, 24, "scores", "added twice", dtype="float64"),
    Attention(1, 1, 130, 290, 32, 32, "scores", "added", short="bfloat16"),
)


@pytest.mark.in_turn
@pytest.mark.parametrize("attention", HIDING, ids=str)
def test_hidden_blocks_of_special_operands(target: str, attention: Attention) -> None:
    """What is no number, or so large that products are none, is hidden where its weight is 0 and no further."""
    rows, keys = attention.rows, attention.keys
    kind = "some rows see nothing" if attention.mask.startswith("zeros") else "causal"
    seen = np.broadcast_to(visible(rows, keys)[kind], (attention.batch, 1, rows, keys))
    if attention.mask.startswith(("added", "zeros")):
        mask = np.where(seen, 0, -inf).astype(attention.dtype)
    else:
        mask = ~seen if attention.mask == "filled" else seen.copy()
    graph = Graph()
    graph.returns(attention.build_with(graph, *attention.arrays(graph), mask))
    code, inputs = RawCode(graph.code(target, 2)), [array.copy() for array in graph.inputs]
    largest = 2.0**100 if attention.dtype == "float32" else 2.0**1000
    tolerance = (
        {"rtol": 2.0**-6, "atol": 2.0**-6} if attention.short else {"rtol": 1e-4, "atol": 1e-5}
    )
    for number, special in product(range(3), (0.0, inf, -inf, nan, largest)):
        graph.inputs = [array.copy() for array in inputs]
        # The last key is hidden from all rows.
        graph.inputs[number][
            (0, 3, -1) if attention.layout == "by columns" and number == 1 else (0, -1, 3)
        ] = special
        ((_, expected),) = graph.expected()
        (found,) = code.run(graph.inputs, 2)
        with np.errstate(all="ignore"):
            wide, other = (array.astype(np.float64) for array in (found, expected))
        np.testing.assert_allclose(wide, other, **tolerance, err_msg=f"{number} {special}")


@dataclass(frozen=True)
class Tested(Attention):
    """Attention whose scores are tested before the softmax: keys that a query has something in common with are hidden."""

    def weights(self, g: Graph, scores: SSAValue, mask: SSAValue | None) -> SSAValue:
        low = g.constant(np.array(-1e9, self.dtype))
        common = g.op(CastOp(g.op(CastOp(scores, i1)), f32))
        return super().weights(g, g.op(MultiplyOp(common, low)), mask)


@pytest.mark.in_turn
def test_scores_that_become_other_numbers_hide_nothing(target: str) -> None:
    """What is 0 in the middle and not at both ends: the ends do not bound it."""
    attention = Tested(1, 1, 70, 300, 16, 16, "none", "causal")
    graph = Graph()
    queries, keys, values = attention.arrays(graph)
    keys[:, [5, 250]] = 0
    mask = np.zeros((1, 1, 70, 300), np.float32)
    graph.returns(attention.build_with(graph, queries, keys, values, mask))
    ((_, expected),) = graph.expected()
    np.testing.assert_allclose(run(graph, target)[0], expected, rtol=1e-4, atol=1e-5)


@dataclass(frozen=True)
class RoundedFirst(Attention):
    """Attention whose weights are rounded before zeros stand for those that are NaN."""

    def weights(self, g: Graph, scores: SSAValue, mask: SSAValue | None) -> SSAValue:
        weights = self.rounded(g, super().weights(g, scores, mask))
        zero = self.rounded(g, g.constant(np.array(0.25, self.dtype)))
        return g.op(WhereOp(g.op(NotEqualOp(weights, weights)), zero, weights))


@pytest.mark.in_turn
@pytest.mark.parametrize("short", ["float16", "bfloat16"])
def test_a_short_number_stands_for_rows_that_see_nothing(target: str, short: str) -> None:
    attention = RoundedFirst(1, 1, 70, 300, 16, 17, "scores", "added", short=short)
    seen = visible(70, 300)["some rows see nothing"]
    mask = np.where(seen, 0, -inf).astype(np.float32)[None, None]
    graph = Graph()
    graph.returns(attention.build_with(graph, *attention.arrays(graph), mask))
    ((_, expected),) = graph.expected()
    (found,) = run(graph, target)
    assert np.isfinite(expected.astype(np.float32)).all()
    bound = 4 * SHORT_BOUNDS[short] * np.abs(expected.astype(np.float32)).max()
    difference = found.astype(np.float64) - expected.astype(np.float64)
    assert np.abs(difference).max() < bound


SHORT_CASES = (
    Attention(1, 2, 5, 33, 17, 31),
    Attention(2, 1, 19, 17, 64, 7, "roots", "causal"),
    Attention(1, 2, 64, 64, 32, 32, "scores", "added", "projection"),
    Attention(1, 1, 3, 16, 1, 16, "divided", "zeros for NaN"),
    Attention(1, 3, 9, 21, 7, 33, "scores", "added twice", "matrices"),
    Attention(1, 2, 65, 40, 33, 64, "scores", "filled", "by columns"),
    Attention(1, 1, 70, LONG + 1, 64, 65, "scores", "added"),
)
SHORT_BOUNDS = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
"""Two roundings, relative to the largest result: of weights, which may lie between two numbers, and of the result."""


def test_operands_of_fewer_bits(any_target: str) -> None:
    """Products of them, sums and the softmax in f32: whole groups of dot products and not, and keys in blocks."""
    cases = [
        Case("blocks of rows", str(each), bound, each.build)
        for short, bound in SHORT_BOUNDS.items()
        for each in (replace(attention, short=short) for attention in SHORT_CASES)
    ]
    number = list(TARGETS).index(any_target)
    own = cases[: len(SHORT_CASES)] if TARGETS[any_target].bf16_dot else cases[number % 4 :: 4]
    problem = problems(own, any_target, 2)
    assert not problem, problem


@pytest.mark.parametrize("target", ["x86-64-v4-bf16"], indirect=True)
@pytest.mark.parametrize("keys", [19, LONG + 1])
def test_special_operands_of_fewer_bits(target: str, keys: int) -> None:
    """Elements that fill up the last pair of a depth are no numbers beside those that are none."""
    graph = Graph()
    attention = Attention(1, 2, 9, keys, 17, 64 if keys > 19 else 31, short="bfloat16")
    graph.returns(attention.build_with(graph, *attention.arrays(graph), None))
    code, inputs = RawCode(graph.code(target, 2)), [array.copy() for array in graph.inputs]
    for number, special in product(range(3), (inf, -inf, nan, -0.0, 1e-40, 3.39e38)):
        graph.inputs = [array.copy() for array in inputs]
        graph.inputs[number][0, -1, 3] = special
        ((_, expected),) = graph.expected()
        (found,) = code.run(graph.inputs, 2)
        wide, other = (array.astype(np.float64) for array in (found, expected))
        largest = np.abs(other[np.isfinite(other) & (np.abs(other) < 1e30)]).max()
        np.testing.assert_allclose(wide, other, rtol=2.0**-6, atol=2.0**-7 * largest)


def composite_alone(attention: Attention) -> Graph:
    """A function of a composite, about which nothing is decided."""
    graph = Graph()
    args = [
        graph.input(np.ascontiguousarray(x.reshape(*x.shape[:2], -1)))
        for x in attention.arrays(graph)
    ]
    graph.returns(graph.fused(args, attention.body, composite="attention"))
    return graph


@pytest.mark.in_turn
def test_elements_without_a_kernel_are_computed_by_other_operators(target: str) -> None:
    for dtype, kernels, tolerance in (("float32", 1, 64), ("float16", 8, 4)):
        graph = composite_alone(Attention(1, 3, 17, 17, 7, 7, dtype=dtype))
        module, options = graph.module().clone(), CompileOptions(2, target)
        run_passes(module, [FuseCompositesPass(target, 2), FuseOpsPass()])
        program = lower_function(entry_function(module), kernel_options(options))
        steps = [step.name for step in program.steps]
        assert (steps == ["fused_attention"]) == (dtype == "float32"), steps
        assert len(steps) <= kernels
        found = RawCode(build(program, "test", options)).run(graph.inputs, 2)
        graph.outputs[0] = type(graph.outputs[0])(graph.outputs[0].value, dtype, tolerance)
        problem = graph.problems(graph.expected(), found)
        assert not problem, problem


@pytest.mark.in_turn
def test_a_composite_about_which_nothing_is_decided_runs(target: str) -> None:
    """Without `fuse-composites`, its operators are kernels."""
    graph = composite_alone(Attention(2, 3, 5, 17, 7, 9))
    code = graph.code(target)
    assert len(code.signature.steps) > 3
    graph.outputs[0] = type(graph.outputs[0])(graph.outputs[0].value, "", 64)
    problem = graph.problems(graph.expected(), RawCode(code).run(graph.inputs, 1))
    assert not problem, problem


def exported(causal: bool) -> onnx.ModelProto:
    """A layer as torch writes it: heads of one projection, with the root of the scale on both sides."""
    rng = np.random.default_rng(0)
    tokens, heads, size = 20, 3, 32
    width = heads * size
    constants = {
        "weight": (rng.standard_normal((width, 3 * width)) / 10).astype(np.float32),
        "shape": np.array([1, tokens, heads, size]),
        "joined": np.array([1, tokens, width]),
        "root": np.array([size**-0.25], np.float32),
        "size": np.float32(size),
        "low": np.float32(-inf),
        "lower": np.tril(np.ones((tokens, tokens), bool)),
        "parts": np.array([width] * 3),
    }
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "weight"], ["qkv"]),
        node("Split", ["qkv", "parts"], ["q", "k", "v"], axis=2),
        *(node("Reshape", [part, "shape"], [f"{part}s"]) for part in "qkv"),
        node("Transpose", ["qs"], ["qt"], perm=[0, 2, 1, 3]),
        node("Transpose", ["ks"], ["kt"], perm=[0, 2, 3, 1]),
        node("Transpose", ["vs"], ["vt"], perm=[0, 2, 1, 3]),
    ]
    if causal:
        nodes += [
            node("Mul", ["qt", "root"], ["qr"]),
            node("Mul", ["kt", "root"], ["kr"]),
            node("MatMul", ["qr", "kr"], ["scores"]),
            node("Where", ["lower", "scores", "low"], ["masked"]),
        ]
    else:
        nodes += [
            node("Sqrt", ["size"], ["divisor"]),
            node("MatMul", ["qt", "kt"], ["scores"]),
            node("Div", ["scores", "divisor"], ["scaled"]),
            node("Add", ["scaled", "mask"], ["masked"]),
        ]
    nodes += [
        node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "vt"], ["y"]),
        node("Transpose", ["y"], ["yt"], perm=[0, 2, 1, 3]),
        node("Reshape", ["yt", "joined"], ["output"]),
    ]
    shapes = {"x": [1, tokens, width], **({} if causal else {"mask": [1, 1, 1, tokens]})}
    values = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items()]
    output = helper.make_tensor_value_info("output", FLOAT, [1, tokens, width])
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    return helper.make_model(helper.make_graph(nodes, "layer", values, [output], stored))


@pytest.mark.in_turn
@pytest.mark.parametrize("opset", [14, 18])
@pytest.mark.parametrize("causal", [False, True])
def test_an_exported_layer_is_two_kernels(target: str, causal: bool, opset: int) -> None:
    proto = exported(causal)
    del proto.opset_import[:]
    proto.opset_import.append(helper.make_opsetid("", opset))
    model = xrelay.compile(proto, target=target, threads=2)
    assert [step.name for step in model.signature.steps] == ["fused_nn_dense", "fused_attention"]
    rng = np.random.default_rng(1)
    inputs = {"x": rng.standard_normal((1, 20, 96)).astype(np.float32)}
    if not causal:
        inputs["mask"] = np.where(np.arange(20) < 13, 0, -1e9).astype(np.float32)[None, None, None]
    (expected,) = ReferenceEvaluator(proto).run(None, inputs)
    np.testing.assert_allclose(model.run(inputs)["output"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["x86-64-v4-bf16"], indirect=True)
@pytest.mark.parametrize("causal", [False, True])
def test_an_exported_layer_in_bf16(target: str, causal: bool) -> None:
    """Attention takes numbers of f32 that it rounds, and gives what the next product takes."""
    proto = exported(causal)
    proto.opset_import[0].version = 18
    rng = np.random.default_rng(1)
    (weight,) = (x for x in proto.graph.initializer if x.name == "weight")
    square = numpy_helper.to_array(weight)[:, :96]
    proto.graph.initializer.append(numpy_helper.from_array(square, "square"))
    proto.graph.node.append(helper.make_node("MatMul", ["output", "square"], ["z"]))
    del proto.graph.output[:]
    proto.graph.output.append(helper.make_tensor_value_info("z", FLOAT, [1, 20, 96]))
    model = xrelay.compile(proto, target=target, precision="bf16", cache=False)
    names = [step.name for step in model.signature.steps if "cast" not in step.name]
    assert names == ["fused_nn_dense", "fused_attention", "fused_nn_dense_1"]
    inputs = {"x": rng.standard_normal((1, 20, 96)).astype(np.float32)}
    if not causal:
        inputs["mask"] = np.where(np.arange(20) < 13, 0, -1e9).astype(np.float32)[None, None, None]
    (expected,) = ReferenceEvaluator(proto).run(None, inputs)
    noise = np.square(model.run(inputs)["z"] - expected).mean() / np.square(expected).mean()
    assert 2.0**-20 < noise < 2.0**-14


@pytest.mark.parametrize("target", ["x86-64-v3", "native"])
def test_bits_do_not_depend_on_threads_where_keys_come_in_blocks(target: str) -> None:
    """The choice between one kernel and several would change them."""
    heads, rows, keys, depth = 1, 128, 2100, 64
    shapes = {"q": [heads, rows, depth], "k": [heads, depth, keys], "v": [heads, keys, depth]}
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["scores"]),
        helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["weights"]),
        helper.make_node("MatMul", ["weights", "v"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "attention",
        [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info("y", 1, [heads, rows, depth])],
        [numpy_helper.from_array(np.float32(0.125), "scale")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal(s).astype(np.float32) for name, s in shapes.items()}
    results = [
        xrelay.compile(model, target=target, threads=threads, cache=False).run(inputs)["y"]
        for threads in (1, 2, 3)
    ]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
