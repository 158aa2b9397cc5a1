"""Regions with tuples, composites and constants on the backends in C, OpenBLAS and ONNX Runtime; parts of ONNX models."""

import re
from typing import Any

import numpy as np
import pytest
from engines.needed import needs_cc, needs_openblas
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from xrelay.analysis.patterns.matching import match
from xrelay.backends import c_source, onnxruntime
from xrelay.backends.base import Array, Backend, BackendError, No, RegionOptions, Yes
from xrelay.backends.c_source import CSourceBackend
from xrelay.backends.onnx_original import Border, OnnxOriginal, fill_weights
from xrelay.backends.onnxruntime import OnnxRuntimeBackend
from xrelay.backends.openblas import OpenBlasBackend
from xrelay.backends.region_builder import RegionBuilder
from xrelay.backends.regions import RegionTensor, compile_region, nested, region_inputs
from xrelay.compiler import context
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp, SoftmaxOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import ExpOp, ReluOp
from xrelay.interpreters.arrays import arrays_in
from xrelay.interpreters.relay import interpret

ROWS = np.dtype(np.float32)


def compared(backend: Backend, function: func.FuncOp, inputs: list[Array]) -> None:
    """Compares what a region computes with the interpreter."""
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    given = nested(inputs, function.function_type.inputs.data)
    wanted = arrays_in(interpret(module, given, function.sym_name.data))
    found = [np.full_like(each, 77) for each in wanted]
    returned = compile_region(backend, function, RegionOptions())(inputs, found)
    for ours, right in zip(found if returned is None else returned, wanted, strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-6)


def region(text: str) -> tuple[func.FuncOp, list[Array]]:
    """The function of a text, and different inputs for it."""
    module = Parser(context(), text).parse_module()
    module.verify()
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(t.shape).astype(t.dtype) for t in region_inputs(function)]
    return function, inputs


STRUCTURE = """
func.func @region(%x: tensor<2x3xf32>, %t: tuple<tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<4xf32>>)
    -> tuple<tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<2x3xf32>, tensor<3x2xf32>> {
  %first = relay.tuple_get_item %t[0] : (tuple<tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<4xf32>>) -> tensor<4xf32>
  %pair = relay.tuple_get_item %t[1] : (tuple<tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<4xf32>>) -> tuple<tensor<2x3xf32>, tensor<3xf32>>
  %last = relay.tuple_get_item %t[2] : (tuple<tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<4xf32>>) -> tensor<4xf32>
  %row = relay.tuple_get_item %pair[1] : (tuple<tensor<2x3xf32>, tensor<3xf32>>) -> tensor<3xf32>
  %sum = relay.subtract %first, %last : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %biased = relay.nn.bias_add %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %both = relay.composite "c.some" %biased, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>):
    %0 = relay.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = relay.divide %0, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %1 : tensor<2x3xf32>
  }
  %turned = relay.reshape %both {newshape = array<i64: 3, 2>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %all = relay.tuple %sum, %pair, %both, %turned : (tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<2x3xf32>, tensor<3x2xf32>) -> tuple<tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<2x3xf32>, tensor<3x2xf32>>
  func.return %all : tuple<tensor<4xf32>, tuple<tensor<2x3xf32>, tensor<3xf32>>, tensor<2x3xf32>, tensor<3x2xf32>>
}
"""


@needs_cc
def test_structure_in_c() -> None:
    """Tuples within tuples, of parameters and results, and operators within a composite."""
    function, inputs = region(STRUCTURE)
    compared(CSourceBackend(), function, inputs)


@needs_cc
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_biases_in_c(axis: int) -> None:
    """Along any axis, counted from either end."""
    build = RegionBuilder(bind_constants=False)
    x = build.input(build.array("float32", 2, 3, 4))
    bias = build.input(build.array("float32", (2, 3, 4)[axis]))
    function = build.function([build.op(BiasAddOp(x, bias, axis=axis))])
    compared(CSourceBackend(), function, build.inputs)


def test_operators_without_c() -> None:
    """They are refused by name."""
    build = RegionBuilder()
    function = build.function([build.op(SoftmaxOp(build.input(build.array("float32", 2, 3))))])
    with pytest.raises(BackendError, match=r"^no C for relay\.nn\.softmax$"):
        c_source.c_source(function)


@pytest.mark.parametrize(
    ("command", "shown"),
    [("no-such-compiler --fast", "no-such-compiler --fast"), ("", "cc")],
)
def test_compilers_that_are_not_there(
    monkeypatch: pytest.MonkeyPatch, command: str, shown: str
) -> None:
    """The environment says which one it is, and the message says so."""
    monkeypatch.setenv("CC", command)
    with pytest.raises(BackendError) as caught:
        CSourceBackend()
    assert str(caught.value) == (
        f"backend 'c' needs a C compiler: there is no '{shown}' (the environment's CC names another one)"
    )


def test_systems_that_load_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """C is compiled for one system alone."""
    monkeypatch.setattr(c_source, "is_supported", lambda: False)
    with pytest.raises(BackendError) as caught:
        CSourceBackend()
    message = "backend 'c' needs Linux on 64-bit x86, to load what it compiles"
    assert str(caught.value) == message


@needs_cc
def test_compilers_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they say is passed on, with the command."""
    monkeypatch.setenv("CC", "sh -c 'echo no room >&2; exit 3' sh")
    build = RegionBuilder()
    function = build.function([build.op(ReluOp(build.input(build.array("float32", 2))))])
    with pytest.raises(BackendError) as caught:
        CSourceBackend().compile(function, RegionOptions())
    assert re.fullmatch(r"sh -c 'echo no room .*region\.c fails: no room", str(caught.value))


OPEN = TensorType(f32, (DYNAMIC_INDEX, 3))


def convolution(**options: Any) -> Conv2DOp:
    build = RegionBuilder()
    data = build.input(build.array("float32", 1, 4, 4, 4))
    return Conv2DOp(data, build.input(build.array("float32", 4, 4, 1, 1)), **options)


@needs_cc
def test_what_c_is_written_for() -> None:
    """Operators, types and layouts."""
    build = RegionBuilder()
    x = build.input(build.array("float32", 2, 3))
    whole = build.input(build.array("int32", 2, 3))
    backend = CSourceBackend()
    relu = ReluOp(x)
    assert backend.supports(relu, relu.operand_types) == Yes()
    assert backend.supports(SoftmaxOp(x), [x.type]) == No("no C is written for it")
    assert backend.supports(ReluOp(whole), [whole.type]) == No(
        "tensor<2x3xi32> is no tensor of f32"
    )
    assert backend.supports(relu, [OPEN]) == No("tensor<?x3xf32> has an unknown dimension")
    plain, other = convolution(), convolution(data_layout="NHWC")
    assert backend.supports(plain, plain.operand_types) == Yes()
    assert backend.supports(other, other.operand_types) == No(
        "its layouts are NHWC, OIHW, NHWC, expected NCHW, OIHW, NCHW"
    )


# -- OpenBLAS ---------------------------------------------------------------------------------------

PRODUCTS = """
func.func @region(%t: tuple<tensor<2x3xf32>, tuple<tensor<4x3xf32>, tensor<5x3xf32>>, tensor<6x3xf32>>)
    -> tuple<tensor<2x4xf32>, tensor<2x6xf32>, tensor<5x3xf32>, tensor<2x2xf32>> {
  %x = relay.tuple_get_item %t[0] : (tuple<tensor<2x3xf32>, tuple<tensor<4x3xf32>, tensor<5x3xf32>>, tensor<6x3xf32>>) -> tensor<2x3xf32>
  %pair = relay.tuple_get_item %t[1] : (tuple<tensor<2x3xf32>, tuple<tensor<4x3xf32>, tensor<5x3xf32>>, tensor<6x3xf32>>) -> tuple<tensor<4x3xf32>, tensor<5x3xf32>>
  %last = relay.tuple_get_item %t[2] : (tuple<tensor<2x3xf32>, tuple<tensor<4x3xf32>, tensor<5x3xf32>>, tensor<6x3xf32>>) -> tensor<6x3xf32>
  %v = relay.tuple_get_item %pair[0] : (tuple<tensor<4x3xf32>, tensor<5x3xf32>>) -> tensor<4x3xf32>
  %w = relay.tuple_get_item %pair[1] : (tuple<tensor<4x3xf32>, tensor<5x3xf32>>) -> tensor<5x3xf32>
  %c = relay.constant dense<[[1.0, -2.0, 0.5], [3.0, 0.0, 1.0]]> : tensor<2x3xf32>
  %0 = relay.nn.dense %x, %v : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.dense %x, %last : (tensor<2x3xf32>, tensor<6x3xf32>) -> tensor<2x6xf32>
  %2 = relay.nn.dense %x, %c : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %all = relay.tuple %0, %1, %w, %2 : (tensor<2x4xf32>, tensor<2x6xf32>, tensor<5x3xf32>, tensor<2x2xf32>) -> tuple<tensor<2x4xf32>, tensor<2x6xf32>, tensor<5x3xf32>, tensor<2x2xf32>>
  func.return %all : tuple<tensor<2x4xf32>, tensor<2x6xf32>, tensor<5x3xf32>, tensor<2x2xf32>>
}
"""


@needs_openblas
def test_structure_of_products() -> None:
    """Fields of tuples, tuples among them, constants, and an input that is an output."""
    function, inputs = region(PRODUCTS)
    compared(OpenBlasBackend(), function, inputs)


@needs_openblas
def test_what_is_no_product() -> None:
    """It is neither taken nor computed."""
    build = RegionBuilder()
    x = build.input(build.array("float32", 2, 3))
    op = ExpOp(x)
    backend = OpenBlasBackend()
    assert backend.supports(op, op.operand_types) == No("the library has products of matrices only")
    dense = DenseOp(x, x)
    assert backend.supports(dense, dense.operand_types) == Yes()
    assert backend.supports(dense, [OPEN, x.type]) == No(
        "tensor<?x3xf32> has an unknown dimension; regions need static shapes"
    )
    function = build.function([build.op(op)])
    with pytest.raises(BackendError, match=r"^the library does not compute exp$"):
        backend.compile(function, RegionOptions())


@needs_openblas
@pytest.mark.parametrize(
    ("dtype", "taken"), [("float32", True), ("float64", True), ("int32", False)]
)
def test_patterns_of_products(dtype: str, taken: bool) -> None:
    """The check of a pattern leaves out the products that the library does not compute."""
    build = RegionBuilder()
    x, w = (build.input(build.array(dtype, 4, 4)) for _ in range(2))
    product = build.op(DenseOp(x, w))
    biased = build.op(BiasAddOp(product, build.input(build.array(dtype, 4)), axis=1))
    build.function([biased])
    (entry,) = (e for e in OpenBlasBackend().patterns() if e.name == "openblas.dense_bias")
    found = match(entry.pattern, biased)
    assert found is not None and entry.check is not None
    assert entry.check(found) is taken


# -- ONNX Runtime -----------------------------------------------------------------------------------


def test_bindings_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of the same addresses are bound once; those of many others make room for new ones."""
    monkeypatch.setattr(onnxruntime, "MOST_BINDINGS", 2)
    backend = OnnxRuntimeBackend()
    bound: list[int] = []
    made = backend.session

    def session(function: func.FuncOp, options: RegionOptions) -> Any:
        inner = made(function, options)

        class Session:
            def __getattr__(self, name: str) -> Any:
                if name == "io_binding":
                    bound.append(len(bound))
                return getattr(inner, name)

        return Session()

    monkeypatch.setattr(backend, "session", session)
    build = RegionBuilder()
    x, y = (build.input(build.array("float32", 2, 3)) for _ in range(2))
    run = backend.compile(build.function([build.op(AddOp(x, y))]), RegionOptions())
    assert callable(run)
    sets = [[np.full((2, 3), n, np.float32) for n in (i, 10 * i, 0)] for i in range(3)]
    counts: list[int] = []
    for number in (0, 0, 1, 0, 2, 2, 0, 2, 1):
        left, right, out = sets[number]
        out.fill(77)
        run([left, right], [out])
        np.testing.assert_array_equal(out, np.full((2, 3), 11 * number))
        counts.append(len(bound))
    # The third set of addresses finds no room: the first two are forgotten, and so on.
    assert counts == [1, 1, 2, 2, 3, 3, 4, 4, 5]


def test_dtypes_that_the_engine_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for an operator on the same types; never for f32, nor for unknown dimensions."""
    backend = OnnxRuntimeBackend()
    asked: list[str] = []

    def answer(op: Any) -> str | None:
        asked.append(op.name)
        return "the engine refuses it: no" if "tanh" in op.name else None

    monkeypatch.setattr(backend, "asked", answer)
    build = RegionBuilder()
    values: dict[str, SSAValue] = {
        name: build.input(build.array(name, 2, 3)) for name in ("float32", "float64")
    }
    plain, wide = ExpOp(values["float32"]), ExpOp(values["float64"])
    assert backend.runs(plain, plain.operand_types) == Yes() and asked == []
    assert backend.runs(plain, [OPEN]) == No(
        "tensor<?x3xf32> has an unknown dimension; regions need static shapes"
    )
    for _ in range(2):
        assert backend.runs(wide, wide.operand_types) == Yes()
    assert asked == ["relay.exp"]


# -- parts of ONNX models ---------------------------------------------------------------------------


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def original(*nodes: NodeProto, **tensors: Array) -> OnnxOriginal:
    graph = helper.make_graph(
        list(nodes), "g", [], [], [numpy_helper.from_array(a, n) for n, a in tensors.items()]
    )
    opsets = [helper.make_opsetid("", 17)]
    return OnnxOriginal(helper.make_model(graph, opset_imports=opsets))


def borders(names: str) -> list[Border]:
    return [Border(name, RegionTensor((2, 3), ROWS)) for name in names.split()]


CHAIN = (
    node("Add", "w one", "v"),
    node("Mul", "v v", "u"),
    node("Exp", "x", "a"),
    node("Add", "a u", "b"),
    node("Relu", "b", "c"),
    node("Split", "c", "d e"),
)
W = np.arange(6, dtype=np.float32).reshape(2, 3)
ONE = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("inputs", "outputs", "nodes", "initializers"),
    [
        ("x", "c", (0, 1, 2, 3, 4), ("w", "one")),
        ("a", "c", (0, 1, 3, 4), ("w", "one")),
        ("b", "c", (4,), ()),
        ("c", "d", (5,), ()),
        ("a w", "b", (0, 1, 3), ("one",)),
        ("", "u", (0, 1), ("w", "one")),
        ("a", "a", None, None),  # No node at all.
        ("b", "d", (4, 5), ()),
        ("a x", "c", None, None),  # What is not needed.
        ("a", "q", None, None),  # What nothing makes.
        ("", "c", None, None),  # More than what is given.
        ("c d", "d", None, None),
        ("b", "d e c", (4, 5), ()),
        ("c", "d e", (5,), ()),
        ("b e", "d", None, None),
        ("b d", "d e", None, None),  # An input that the part computes.
    ],
)
def test_parts_between_values(
    inputs: str, outputs: str, nodes: tuple[int, ...] | None, initializers: tuple[str, ...] | None
) -> None:
    """The nodes on the ways, in the order of the model, and the initializers that they use."""
    model = original(*CHAIN, w=W, one=ONE)
    part = model.between(borders(inputs), borders(outputs), {})
    found = None if part is None else (part.nodes, part.initializers)
    assert found == (None if nodes is None else (nodes, initializers))


def test_values_that_follow_from_initializers() -> None:
    """Through any number of nodes, and only when all that a node needs follows from them."""
    model = original(*CHAIN, w=W, one=ONE)
    assert model.fixed == {"w", "one", "v", "u"}
    assert original(*CHAIN, w=W).fixed == {"w"}
    assert model.producers == {"v": 0, "u": 1, "a": 2, "b": 3, "c": 4, "d": 5, "e": 5}
    assert model.opsets == [("", 17)]


def test_known_values_of_parts() -> None:
    """A part takes what the program knows, unless it follows from initializers, or the part computes it."""
    known = {"a": W, "u": W, "b": W, "z": ONE}
    model = original(*CHAIN, w=W, one=ONE)
    assert [model.is_known(n, known) for n in "abcuvz"] == [True, True, False, False, False, True]
    part = model.between([], borders("d"), known)
    assert part is not None and part.nodes == (4, 5) and list(part.known) == ["b"]
    made = part.model()
    assert [each.name for each in made.graph.initializer] == ["b"]
    np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[0]), W)


@pytest.mark.parametrize(("size", "shown"), [(4075, None), (4076, "value:4097")])
def test_texts_of_large_attributes(size: int, shown: str | None) -> None:
    """Those of weights have a size alone: equal layers are one measurement. Those of 4096 bytes are told apart."""

    def text(value: int) -> str:
        tensor = TensorProto(
            data_type=TensorProto.INT8, dims=[size], raw_data=bytes([value]) * size
        )
        part = original(node("Constant", "", "k", value=tensor), node("Add", "x k", "y")).between(
            borders("x"), borders("y"), {}
        )
        assert part is not None
        return part.text

    assert (text(1) == text(2)) is (shown is not None)
    lines = text(1).split("\n")
    assert lines[0] == "[('', 17)] ['float32[2, 3]']" and lines[-1] == "[2]"
    attribute = lines[1].removeprefix(" Constant [] ")
    if shown is None:
        assert re.fullmatch(r"value:[0-9a-f]{32}", attribute)
    else:
        assert attribute == shown


def test_weights_are_filled_by_shape_and_type() -> None:
    """Matrices of more than 64 elements that came without numbers, of the types of weights."""

    def tensor(name: str, kind: int, *dims: int) -> TensorProto:
        return TensorProto(name=name, data_type=kind, dims=dims)

    model = ModelProto()
    model.graph.initializer.extend(
        [
            tensor("w", TensorProto.FLOAT, 5, 13),
            tensor("small", TensorProto.FLOAT, 8, 8),
            tensor("vector", TensorProto.FLOAT, 65),
            tensor("index", TensorProto.INT64, 5, 13),
            tensor("half", TensorProto.FLOAT16, 13, 5),
            numpy_helper.from_array(np.ones((5, 13), np.int8), "given"),
        ]
    )
    asked: dict[int, str] = {}

    def numbers(wanted: RegionTensor, place: int) -> Array:
        asked[place] = str(wanted)
        return np.full(wanted.shape, 3, wanted.dtype)

    fill_weights(model, numbers)
    assert list(asked.values()) == ["float32[5, 13]", "float16[13, 5]"]
    found = {each.name: each for each in model.graph.initializer}
    assert [n for n, each in found.items() if each.raw_data] == ["w", "half", "given"]
    for name, dtype in (("w", np.float32), ("half", np.float16)):
        array = numpy_helper.to_array(found[name])
        assert array.dtype == dtype and (array == 3).all()
    assert (numpy_helper.to_array(found["given"]) == 1).all()
