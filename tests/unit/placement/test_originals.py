"""Regions as the nodes of the ONNX model that they come from: which have that form, what engines get, and that it is right."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, parser, save
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from xrelay.backends.base import Array, Backend, CompiledRegion, No, RegionOptions, Support, Yes
from xrelay.backends.numpy import NumpyBackend
from xrelay.backends.onnx_original import OnnxPart, fill_weights
from xrelay.backends.regions import nested
from xrelay.compiler import read_model
from xrelay.dialects.tensor.unary import NegativeOp, ReluOp
from xrelay.engines import Engines
from xrelay.finalists import planned_model
from xrelay.interpreters.arrays import arrays_in
from xrelay.interpreters.constants import constant_array
from xrelay.interpreters.relay import interpret
from xrelay.options import CompileOptions
from xrelay.placement.costs.borders import BorderTable, Line
from xrelay.placement.costs.cost import Cost, Estimator
from xrelay.placement.costs.inputs import numbers
from xrelay.placement.costs.job import weights as seeded_weights
from xrelay.placement.costs.key import Machine
from xrelay.placement.graph.extraction import extract
from xrelay.placement.graph.index_set import members
from xrelay.placement.graph.onnx_parts import onnx_part
from xrelay.placement.placing import Request, all_candidates, place
from xrelay.placement.plan_file import model_digest, plan_data
from xrelay.placement.rules.base import Whole
from xrelay.placement.rules.candidate import Candidate
from xrelay.placement.rules.defaults import OWN_KERNELS
from xrelay.priority import compile_partitioned, priority_placement, priority_regions
from xrelay.sources import Source


def weights(dtype: str, *shape: int) -> Array:
    """The same numbers in each call."""
    rng = np.random.default_rng(0)
    if dtype == "int8":
        return rng.integers(-100, 100, shape).astype(np.int8)
    return rng.standard_normal(shape).astype(dtype)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[tuple[str, Sequence[int]]],
    outputs: str,
    **tensors: Array,
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs.split()],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(kind: str, inputs: str, outputs: str, **attributes: object) -> NodeProto:
    return helper.make_node(
        kind, inputs.split(), outputs.split(), name=f"at {outputs}", **attributes
    )


def quantised() -> ModelProto:
    """Operators between quantised tensors, the weights of a convolution too, and a shape that is computed."""
    return model(
        [
            node("QuantizeLinear", "x scale zero", "xq"),
            node("DequantizeLinear", "xq scale zero", "xd"),
            node("DequantizeLinear", "w scale wzero", "wd"),
            node("Conv", "xd wd", "c", pads=[1, 1, 1, 1]),
            node("Identity", "c", "same"),
            node("Relu", "same", "r"),
            node("Shape", "x", "shape"),
            node("Gather", "shape first", "n"),
            node("Concat", "n rest", "wanted", axis=0),
            node("Reshape", "r wanted", "y"),
        ],
        [("x", [2, 3, 4, 4])],
        "y",
        scale=np.float32(0.02),
        zero=np.uint8(128),
        wzero=np.int8(0),
        w=weights("int8", 8, 3, 3, 3),
        first=np.array([0], np.int64),
        rest=np.array([-1], np.int64),
    )


def integers() -> ModelProto:
    """QLinearConv, and a product of dynamically quantised matrices, which imports take apart."""
    return model(
        [
            node("QuantizeLinear", "x scale zero", "xq"),
            node("QLinearConv", "xq scale zero w scale wzero scale zero", "cq"),
            node("DequantizeLinear", "cq scale zero", "c"),
            node("DynamicQuantizeLinear", "c", "dq ds dz"),
            node("MatMulInteger", "dq m dz", "p"),
            node("Cast", "p", "pf", to=TensorProto.FLOAT),
            node("Mul", "pf ds", "y"),
        ],
        [("x", [1, 3, 5, 4])],
        "y",
        scale=np.float32(0.02),
        zero=np.uint8(128),
        wzero=np.int8(0),
        w=weights("int8", 2, 3, 1, 1),
        m=weights("int8", 4, 6),
    )


def branches() -> ModelProto:
    """Nodes with several outputs, two results, and a bias that imports make an operator of its own."""
    return model(
        [
            node("Split", "x", "a b", axis=1),
            node("Conv", "a w bias", "c"),
            node("Sigmoid", "b", "s"),
            node("Dropout", "s", "kept"),
            node("Mul", "c kept", "y"),
            node("Concat", "kept x", "z", axis=1),
        ],
        [("x", [1, 4, 3, 3])],
        "y z",
        w=weights("float32", 2, 2, 1, 1),
        bias=weights("float32", 2),
    )


NETWORKS = [quantised, integers, branches]


class Recorder(Backend):
    """An engine that takes ONNX, and keeps what it got."""

    name = "recorder"
    takes_onnx = True

    def __init__(self, argument: str = ""):
        super().__init__(argument)
        self.got: list[bytes | None] = []

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return NumpyBackend().supports(op, types)

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        self.got.append(options.onnx)
        if options.onnx is None:
            made = NumpyBackend().compile(function, options)
            assert callable(made)
            return made
        session = ort.InferenceSession(options.onnx)
        names = [each.name for each in session.get_inputs()]

        def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
            return session.run(None, dict(zip(names, inputs, strict=True)))

        return run


def kinds(content: bytes | None) -> list[str]:
    """The operators of a model."""
    assert content is not None
    return [each.op_type for each in ModelProto.FromString(content).graph.node]


def part_of(candidate: Candidate) -> tuple[func.FuncOp, OnnxPart | None]:
    """The function of a candidate, and the nodes that it is in the model."""
    found = extract(candidate.part, "region")
    return found.function, onnx_part(candidate.part.graph, found)


def candidates(network: ModelProto) -> list[Candidate]:
    """What an engine that runs everything may have of a network."""
    graph = Source.read(network).prepared(CompileOptions())
    rules = Engines.of([Recorder()]).rules(OWN_KERNELS)
    return [each for each in all_candidates(graph, rules) if each.engine == "recorder"]


def with_label(found: Sequence[Candidate], label: str) -> Candidate:
    return next(each for each in found if each.part.label == label)


@pytest.mark.parametrize("network", NETWORKS)
def test_names_change_nothing(network: Callable[[], ModelProto]) -> None:
    """A plan is for a model, whether it was read with names or without."""
    plain = Source(read_model(network())[0]).prepared(CompileOptions())
    named = Source.read(network()).prepared(CompileOptions())
    assert model_digest(plain) == model_digest(named)
    assert plain.origin is None and named.origin is not None


@pytest.mark.parametrize("network", NETWORKS)
def test_parts_compute_what_functions_compute(network: Callable[[], ModelProto]) -> None:
    """Of each candidate, the nodes in onnxruntime against the function in the interpreter."""
    found = 0
    for candidate in candidates(network()):
        function, original = part_of(candidate)
        if original is None:
            continue
        found += 1
        inputs = [numbers(each.tensor) for each in original.inputs]
        feeds = {each.name: x for each, x in zip(original.inputs, inputs, strict=True)}
        results = ort.InferenceSession(original.model().SerializeToString()).run(None, feeds)
        values = nested(inputs, function.function_type.inputs.data)
        expected = arrays_in(interpret(ModuleOp([function]), values, "region"))
        for result, right in zip(results, expected, strict=True):
            assert result.dtype == right.dtype
            # Roundings to the next of 256 steps may differ by one.
            allowed = 0.021 if network is not branches else 1e-5
            np.testing.assert_allclose(
                result.astype(np.float64),
                right.astype(np.float64),
                rtol=1e-4,
                atol=1 if right.dtype == np.uint8 else allowed,
            )
    assert found > 4


def test_what_has_the_form_of_nodes() -> None:
    """The constants of a region are those of the model, before anything was folded; borders are values of the model."""
    quantised_ones, others = candidates(quantised()), candidates(branches())

    def nodes_of(found: Sequence[Candidate], label: str) -> list[str] | None:
        original = part_of(with_label(found, label))[1]
        return None if original is None else [n.op_type for n in original.model().graph.node]

    assert nodes_of(quantised_ones, "qnn.dequantize+nn.conv2d") == ["DequantizeLinear", "Conv"]
    # What computes the shape from the input of the model is a constant of the region.
    assert nodes_of(quantised_ones, "nn.relu+reshape") == ["Identity", "Relu", "Reshape"]
    assert nodes_of(others, "split") == ["Split"]
    assert nodes_of(others, "sigmoid") == ["Sigmoid"]
    assert nodes_of(others, "nn.conv2d") is None, "the bias is part of the node"
    assert nodes_of(others, "nn.conv2d+nn.bias_add") == ["Conv"]


def shipped(
    network: ModelProto, wanted: Callable[[Candidate], bool]
) -> tuple[list[list[str]], dict[str, Array]]:
    """What an engine got of a network that it has wanted parts of, and the outputs."""
    source, engine = Source.read(network), Recorder()
    graph = source.prepared(CompileOptions())
    engines = Engines.of([engine])
    costs = {True: 1.0, False: 1e6}
    table = Costs(lambda each: costs[wanted(each)] if each.engine == "recorder" else 10.0)
    placement = place(graph, engines.rules(OWN_KERNELS), table, Request())
    plan = plan_data(placement, Machine.here(1), engines.facts())
    made = planned_model(source.module, plan, engines, CompileOptions(), graph.origin, cache=False)
    outputs = made.run({"x": inputs_of(network)["x"]})
    return [kinds(content) for content in engine.got], outputs


class Costs(Estimator):
    """Costs that a function of candidates knows."""

    def __init__(self, seconds: Callable[[Candidate], float]):
        self.seconds = seconds

    def estimate(self, candidate: Candidate) -> Cost:
        return Cost(self.seconds(candidate), "table")


def inputs_of(network: ModelProto) -> dict[str, Array]:
    (value,) = network.graph.input
    shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
    return {value.name: weights("float32", *shape)}


def expected(network: ModelProto) -> list[Array]:
    return ort.InferenceSession(network.SerializeToString()).run(None, inputs_of(network))


def is_whole(candidate: Candidate) -> bool:
    """Whether only the parameter and the end of the function are outside."""
    part = candidate.part
    return (part.graph.everything & ~part.inside).bit_count() == 2


@pytest.mark.parametrize("network", NETWORKS)
def test_the_whole_model_is_the_original_one(network: Callable[[], ModelProto]) -> None:
    got, outputs = shipped(network(), is_whole)
    # A shape that is known is a constant.
    folded = ["Shape", "Gather", "Concat"] if network is quantised else []
    assert got == [[each.op_type for each in network().graph.node if each.op_type not in folded]]
    for result, right in zip(outputs.values(), expected(network()), strict=True):
        np.testing.assert_array_equal(result, right)


def test_weights_in_files_and_in_none(tmp_path: Path) -> None:
    """Parts have the weights of the file beside the model; those that are measured have none until they are there."""
    path = tmp_path / "model.onnx"
    save(branches(), path, save_as_external_data=True, location="weights", size_threshold=0)
    graph = Source.read(path).prepared(CompileOptions())
    rules = Engines.of([Recorder()]).rules(OWN_KERNELS)
    found = [each for each in all_candidates(graph, rules) if each.engine == "recorder"]
    original = part_of(with_label(found, "nn.conv2d+nn.bias_add"))[1]
    assert original is not None
    session = ort.InferenceSession(original.model().SerializeToString())
    bias = weights("float32", 2).reshape(1, 2, 1, 1)
    (result,) = session.run(None, {"a": np.zeros((1, 2, 3, 3), np.float32)})
    np.testing.assert_array_equal(result, np.broadcast_to(bias, (1, 2, 3, 3)))

    large = part_of(with_label(candidates(quantised()), "qnn.dequantize+nn.conv2d"))[1]
    assert large is not None
    empty = large.model(weights=False)
    assert {t.name for t in empty.graph.initializer if not t.raw_data} == {"w"}
    fill_weights(empty, seeded_weights)
    names = {t.name: numpy_helper.to_array(t) for t in empty.graph.initializer}
    assert names["w"].shape == (8, 3, 3, 3) and names["w"].dtype == np.int8 and names["w"].any()


def test_scales_are_no_weights() -> None:
    """With other scales and zero points for channels, engines fuse other nodes."""
    network = model(
        [node("DequantizeLinear", "w scales zeros", "wd", axis=0), node("Conv", "x wd", "y")],
        [("x", [1, 2, 3, 3])],
        "y",
        w=weights("int8", 80, 2, 1, 1),
        scales=np.full(80, 0.5, np.float32),
        zeros=np.zeros(80, np.int8),
    )
    original = part_of(with_label(candidates(network), "qnn.dequantize+nn.conv2d"))[1]
    assert original is not None
    tensors = original.model(weights=False).graph.initializer
    assert [t.name for t in tensors if not t.raw_data] == ["w"]


def test_form_is_part_of_what_is_measured() -> None:
    """
    The same function as other nodes is another measurement, and so are other numbers in small tensors, which may be
    shapes; names and weights are none of it.
    """

    def text(network: ModelProto, label: str) -> str:
        original = part_of(with_label(candidates(network), label))[1]
        assert original is not None
        return original.text

    renamed = branches()
    for each in renamed.graph.node:
        each.input[:] = [f"{name}_" if name == "s" else name for name in each.input]
        each.output[:] = [f"{name}_" if name == "s" else name for name in each.output]
    assert text(branches(), "sigmoid") == text(renamed, "sigmoid")
    other = branches()
    other.graph.initializer[0].CopyFrom(
        numpy_helper.from_array(np.ones((2, 2, 1, 1), np.float32), "w")
    )
    label = "nn.conv2d+nn.bias_add"
    assert text(branches(), label) != text(other, label)
    network, other = quantised(), quantised()
    for each, number in ((network, 1), (other, 2)):
        (place,) = (i for i, t in enumerate(each.graph.initializer) if t.name == "w")
        kind = numpy_helper.to_array(each.graph.initializer[place]).dtype
        numbers = numpy_helper.from_array(np.full((8, 3, 3, 3), number, kind), "w")
        each.graph.initializer[place].CopyFrom(numbers)
    label = "qnn.dequantize+nn.conv2d"
    assert text(network, label) == text(other, label)
    assert text(quantised(), "nn.relu") != text(branches(), "sigmoid")
    plain = quantised()
    del plain.graph.node[4]
    plain.graph.node[4].input[0] = "c"
    assert text(plain, "nn.relu") != text(quantised(), "nn.relu"), "the one has an Identity"
    one, two = (
        parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
        network (float[4] x) => (float[4] y) {{ a = mine.f(x) y = Relu(a) }}
        <domain: "mine", opset_import: ["" : 17]> f (x) => (y) {{ y = {body} }}""")
        for body in ("Tanh(x)", "Exp(x)")
    )
    assert text(one, "tanh+nn.relu") != text(two, "exp+nn.relu"), "functions have bodies"


def test_a_region_keeps_its_nodes() -> None:
    """QLinearConv goes to the engine as it is; own code has what is before and after."""
    got, outputs = shipped(integers(), lambda each: each.part.label == "qnn.conv2d+qnn.requantize")
    assert got == [["QLinearConv"]]
    np.testing.assert_allclose(outputs["y"], expected(integers())[0], rtol=1e-5)


def test_the_whole_model_goes_to_engines_that_take_it() -> None:
    """What an engine says of operators is about exports; the original is its own affair."""

    def refuses(op: Operation, types: Sequence[Attribute]) -> Support:
        return No("not as this operator")

    named = Source.read(integers()).prepared(CompileOptions())
    plain = Source(read_model(integers())[0]).prepared(CompileOptions())
    assert len(Whole(refuses, takes_onnx=True).candidates(named, "engine")) == 1
    assert Whole(refuses, takes_onnx=True).candidates(plain, "engine") == []
    assert Whole(refuses).candidates(named, "engine") == []


@pytest.mark.parametrize(("version", "written"), [(3, 4), (4, 4), (7, 7)])
def test_initializers_are_no_inputs_of_a_part(version: int, written: int) -> None:
    """Which they are before version 4 of the format."""
    network = quantised()
    network.ir_version = version
    original = part_of(with_label(candidates(network), "qnn.dequantize+nn.conv2d"))[1]
    assert original is not None
    assert original.model().ir_version == written


class Floats(Recorder):
    """An engine that knows no quantised tensors."""

    name = "floats"

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        if op.name.startswith("relay.qnn."):
            return No("it is quantised")
        return super().supports(op, types)


class FloatsOnly(Floats):
    """One that takes no ONNX either."""

    takes_onnx = False


@pytest.mark.parametrize("network", NETWORKS)
def test_priority_order_keeps_the_nodes(network: Callable[[], ModelProto]) -> None:
    engine = Recorder()
    found = compile_partitioned(network(), None, CompileOptions(), [engine])
    assert {each.backend for each in found.steps} == {"recorder"}
    got = {kind for each in engine.got for kind in kinds(each)}
    # A shape that is known is a constant.
    folded = {"Shape", "Gather", "Concat"} if network is quantised else set[str]()
    assert got == {n.op_type for n in network().graph.node} - folded
    given = inputs_of(network())
    for got, want in zip(found.run(given).values(), expected(network()), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_quantised_weights_go_along_as_numbers() -> None:
    """With engines that know no quantised ones: in nodes as the model has them, or else folded."""
    named, plain = Floats(), FloatsOnly()
    for engine in (named, plain):
        found = compile_partitioned(quantised(), None, CompileOptions(), [engine])
        before, region, *_ = found.steps
        assert (before.backend, region.backend) == ("default", engine.name)
        assert len(region.reads) == 1, "the weights are in the function"
        (got,) = found.run(inputs_of(quantised())).values()
        np.testing.assert_allclose(got, expected(quantised())[0], rtol=1e-5)
    assert sorted(kinds(named.got[0])) == [
        "Conv",
        "DequantizeLinear",
        "Identity",
        "Relu",
        "Reshape",
    ]
    assert plain.got == [None]


def test_quantised_weights_cost_nothing() -> None:
    """Whoever dequantises them: it is done before anything runs, and nothing crosses a border."""
    source = Source.read(quantised())
    graph = source.prepared(CompileOptions())
    (weight,) = members(graph.foldable)
    assert graph[weight].label == "qnn.dequantize"
    op = graph[weight].op
    assert op is not None
    expected_weights = (0.02 * weights("int8", 8, 3, 3, 3)).astype(np.float32)
    np.testing.assert_allclose(constant_array(graph.folded(op)), expected_weights, rtol=1e-6)
    assert graph.folded(op) is graph.folded(op)
    engines = Engines.of([Floats()])
    by_engine = Costs(lambda each: 1.0 if each.engine == "floats" else 10.0)
    # 10 seconds for each value that crosses: the image on its way in, and the result.
    borders = BorderTable({}, Line(10.0))
    rules = engines.rules(OWN_KERNELS)
    placement = place(graph, rules, by_engine, Request(), borders=borders)
    regions = priority_regions(source.module, graph, engines.backends, CompileOptions())
    assert sorted(each.engine for each in regions) == ["default", "floats"]
    priority = priority_placement(placement, regions, by_engine.estimates(regions))
    assert priority is not None
    plan = plan_data(priority, Machine.here(1), engines.facts())
    hosted = [r for r in plan["regions"] if r["engine"] == "host"]
    assert [n["index"] for r in hosted for n in r["nodes"]] == [weight, len(graph) - 1]
    assert plan["seconds"] == 10.0 + 1.0 + 10.0 * crossings(plan)
    held = graph.folded(op).result.type.get_shape()
    assert plan["memory"] >= 4 * prod(held)


def crossings(plan: Mapping[str, Any]) -> int:
    """The borders of a chain of regions that begins at the host."""
    engines = ["host", *(r["engine"] for r in plan["regions"] if r["engine"] != "host")]
    return sum(a != b for a, b in pairwise(engines))


def scaled() -> ModelProto:
    """A convolution whose weights are computed of quantised ones."""
    return model(
        [
            node("DequantizeLinear", "w scale wzero", "wd"),
            node("Mul", "wd factor", "wm"),
            node("Transpose", "wm", "wt", perm=[1, 0, 2, 3]),
            node("Conv", "x wt", "c", pads=[1, 1, 1, 1]),
            node("Relu", "c", "y"),
        ],
        [("x", [1, 3, 6, 6])],
        "y",
        scale=np.float32(0.02),
        wzero=np.int8(0),
        factor=np.float32(0.3),
        w=weights("int8", 3, 4, 3, 3),
    )


@pytest.mark.parametrize("kind", [Floats, FloatsOnly])
def test_what_is_computed_of_quantised_weights_goes_along(kind: type[Floats]) -> None:
    """Nothing of it is computed at each run."""
    found = compile_partitioned(scaled(), None, CompileOptions(), [kind()])
    assert [(each.backend, len(each.reads)) for each in found.steps] == [(kind.name, 1)]
    (got,) = found.run(inputs_of(scaled())).values()
    np.testing.assert_allclose(got, expected(scaled())[0], rtol=1e-4, atol=1e-5)


class Lowering(Backend):
    """An engine that rewrites its parts: relu becomes negative, so that one sees it."""

    name = "lowering"

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if isinstance(op, ReluOp) else No("it is no relu")

    def lower(self, module: ModuleOp) -> bool:
        for op in [each for each in module.walk() if isinstance(each, ReluOp)]:
            Rewriter.replace_op(op, NegativeOp(op.operands[0]))
        return True

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        raise AssertionError("it is lowered")


def test_engines_that_lower_stand_beside_others() -> None:
    """What they made of their parts is run, whatever the engine beside them takes."""
    (before,) = expected(scaled())
    for engines in ([Lowering(), Floats()], [Lowering(), FloatsOnly()], [Lowering()]):
        found = compile_partitioned(scaled(), None, CompileOptions(), engines)
        (got,) = found.run(inputs_of(scaled())).values()
        assert (got <= 0).any() and (got > 0).any(), "a relu has one of these"
        np.testing.assert_allclose(np.maximum(-got, 0), before, rtol=1e-4, atol=1e-5)
