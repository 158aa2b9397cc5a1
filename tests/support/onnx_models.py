"""Small ONNX models for tests, and what the importer makes of them."""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.interpreters.relay import interpret

Array = np.ndarray


class Samples:
    """
    Seeded random arrays: each file of tests has its own, named SAMPLES, which starts anew for each
    test (tests/conftest.py), whichever others run.
    """

    def __init__(self, seed: int):
        self.seed = seed
        self.random = np.random.default_rng(seed)

    def restart(self, test: str) -> None:
        self.random = np.random.default_rng([self.seed, zlib.crc32(test.encode())])

    def floats(self, *shape: int, dtype: str = "float32") -> Array:
        return self.random.standard_normal(shape).astype(dtype)

    def integers(self, *shape: int, low: int = -9, high: int = 9, dtype: str = "int64") -> Array:
        return self.random.integers(low, high, shape).astype(dtype)

    def bools(self, *shape: int) -> Array:
        return self.random.integers(0, 2, shape).astype(bool)


def longs(*values: int) -> Array:
    return np.array(values, np.int64)


def value_info(name: str, array: Array) -> ValueInfoProto:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
    )


def untyped(name: str) -> ValueInfoProto:
    return ValueInfoProto(name=name)


def build(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    initializers: Sequence[TensorProto] = (),
    opset: int = 13,
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def model_of(text: str, *, opset: int = 17, **shapes: Sequence[int]) -> ModelProto:
    """An ONNX model in its text format, with seeded random weights of some shapes."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>{text}')
    random = np.random.default_rng(len(text))
    for name, shape in shapes.items():
        weights = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        model.graph.initializer.append(numpy_helper.from_array(weights.astype(np.float32), name))
    return model


PERCEPTRON = model_of(
    """perceptron (float[batch, 40] x) => (float[batch, 10] y) {
        a = Gemm(x, w1, b1)
        b = Relu(a)
        c = Gemm(b, w2, b2)
        y = Softmax <axis = -1> (c)
    }""",
    w1=(40, 70),
    b1=(70,),
    w2=(70, 10),
    b2=(10,),
)


def one_node(
    op: str,
    data: Sequence[Array | None],
    constants: Sequence[Array | None] = (),
    opset: int = 13,
    outputs: int = 1,
    **attributes: Any,
) -> ModelProto:
    """A model of one node whose first inputs are graph inputs, the others initializers."""
    names: list[str] = []
    inputs: list[ValueInfoProto] = []
    initializers: list[TensorProto] = []
    for i, array in enumerate([*data, *constants]):
        names.append("" if array is None else f"in{i}")
        if array is None:
            continue
        if i < len(data):
            inputs.append(value_info(f"in{i}", array))
        else:
            initializers.append(numpy_helper.from_array(array, f"in{i}"))
    results = [f"out{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, "the_node", **attributes)
    return build([node], inputs, [untyped(name) for name in results], initializers, opset)


def side_by_side(models: Sequence[ModelProto]) -> ModelProto:
    """A model that has the outputs of several ones of one node, which have the same inputs."""
    nodes: list[NodeProto] = []
    for number, model in enumerate(models):
        node = NodeProto()
        node.CopyFrom(model.graph.node[0])
        node.name, node.output[0] = f"{node.name}{number}", f"out{number}"
        nodes.append(node)
    first, outputs = models[0], [untyped(node.output[0]) for node in nodes]
    return build(nodes, first.graph.input, outputs, [], first.opset_import[0].version)


def by_import(model: ModelProto, data: Sequence[Array], **options: Any) -> tuple[Array, ...]:
    module = import_model(model, **options)
    module.verify()
    return interpret(module, list(data))


def operations(module: ModuleOp) -> list[Operation]:
    """The operations of @main without the return."""
    function = main(module)
    return list(function.body.block.ops)[:-1]


def main(module: ModuleOp) -> FuncOp:
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return function


def by_onnxruntime(model: ModelProto, data: Sequence[Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, data, strict=True)))


def by_plain_onnxruntime(model: ModelProto, data: Array) -> Array:
    """With its graph optimisations off: QDQ in numbers, others in integers."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    # It would round data to 8 bits otherwise.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"x": data})[0]


def require_equal(results: Sequence[Array], expected: Sequence[Array]) -> None:
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        tolerance = 1e-2 if wanted.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(result, wanted, tolerance, tolerance)


def check(
    op: str,
    data: Sequence[Array | None],
    constants: Sequence[Array | None] = (),
    expected: Sequence[Array] | Array | None = None,
    **options: Any,
) -> None:
    """Compares with `expected`, with onnxruntime when there is none."""
    model = one_node(op, data, constants, **options)
    given = [array for array in data if array is not None]
    if expected is None:
        expected = by_onnxruntime(model, given)
    require_equal(
        by_import(model, given), [expected] if isinstance(expected, np.ndarray) else expected
    )


def kinds(model: ModelProto, **options: Any) -> list[str]:
    """The operations that a model becomes, without constants."""
    return [
        op.name.removeprefix("relay.")
        for op in operations(import_model(model, **options))
        if not isinstance(op, ConstantOp)
    ]


def with_constants(
    model: ModelProto, data: Sequence[Array]
) -> tuple[ModelProto, ModuleOp, list[Array]]:
    """
    A model of one node in which the inputs that must be constants are, what it is imported as, and
    the data for the other inputs.
    """
    changed = ModelProto()
    changed.CopyFrom(model)
    names = [value.name for value in model.graph.input]
    feeds = dict(zip(names, data, strict=True))
    while True:
        try:
            return changed, import_model(changed), list(feeds.values())
        except OnnxImportError as error:
            asked = re.search(r"input (\d+) \('\w+'\) is not a constant", str(error))
            if asked is not None:
                needed = [model.graph.node[0].input[int(asked[1])]]
            elif feeds and "the size of its result depends on data" in str(error):
                needed = list(feeds)
            else:
                raise
            for name in needed:
                changed.graph.initializer.append(numpy_helper.from_array(feeds.pop(name), name))


def parsed(text: str) -> ModelProto:
    """A model of opset 17 from its text, with the dimensions that it leaves open."""
    return parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> ' + text)


def bands_of(source: str, axis: int, result: str) -> str:
    """
    Nodes in text: a matrix [9, n] of bands, for the n elements of an axis. Importing needs the number, so each length takes a
    program.
    """
    return f"""
        {result}_lengths = Shape <start = {axis}, end = {axis + 1}> ({source})
        {result}_bands = Squeeze ({result}_lengths)
        {result}_depth = Constant <value_int = 16> ()
        {result}_rate = Constant <value_int = 8000> ()
        {result}_low = Constant <value_float = 0.0> ()
        {result}_high = Constant <value_float = 4000.0> ()
        {result} = MelWeightMatrix ({result}_bands, {result}_depth, {result}_rate, {result}_low, {result}_high)
    """


def session(model: ModelProto) -> Any:
    """A model in onnxruntime, which prints no warnings."""
    options: Any = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def agree(
    model: ModelProto, compiled: Any, inputs: Mapping[str, Any], tolerance: float = 0
) -> None:
    """Runs both; shapes, dtypes and elements are the same."""
    wanted = session(model).run(None, dict(inputs))
    found = compiled.run(inputs)
    assert list(found) == [each.name for each in model.graph.output]
    for output, (name, array) in zip(wanted, found.items(), strict=True):
        assert array.dtype == output.dtype and array.shape == output.shape, name
        np.testing.assert_allclose(array, output, atol=tolerance, rtol=tolerance, err_msg=name)


def masks(*shape: int) -> Iterator[Any]:
    """Numbers of which none, all, one, the last, some, most are not 0, and one that is none."""
    rng = np.random.default_rng(len(shape))
    numbers = rng.standard_normal(shape).astype(np.float32)
    yield np.zeros(shape, np.float32)
    yield np.ones(shape, np.float32)
    for place in (0, -1):
        one = np.zeros(shape, np.float32)
        one.reshape(-1)[place] = -2
        yield one
    for share in (0.1, 0.5, 0.9):
        yield np.where(rng.random(shape) < share, numbers, 0).astype(np.float32)
    with_nan = numbers.copy()
    with_nan.reshape(-1)[1::3] = np.nan
    with_nan.reshape(-1)[::2] = -0.0
    yield with_nan
