"""What is said of nodes that are refused, in whole sentences, for all that was found and expected."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, parser
from onnx_models import Array, longs, one_node

from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.errors import UnknownInputs

MICROSOFT, TRAINING, LEARNING = "com.microsoft", "ai.onnx.preview.training", "ai.onnx.ml"


def floats(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


def bytes_of(*shape: int, dtype: str = "uint8") -> Array:
    return np.zeros(shape, dtype)


ONE, NONE = np.array(1, np.float32), np.array(0, np.uint8)
SCALED: Sequence[Array] = (ONE, NONE)
"""The scale and the zero point of a quantised tensor."""
TOKENS = floats(2, 3, 8)


MODEL = "opset", "outputs"
"""What the model says, unless a node of another domain does."""


def node_of(
    domain: str,
    op: str,
    data: Sequence[Array | None],
    constants: Sequence[Array | None],
    options: dict[str, Any],
) -> ModelProto:
    """A model of a node of another domain."""
    named = {
        name: options[name]
        for name in MODEL
        if name in options and not (domain and name == "opset")
    }
    model = one_node(op, data, constants, **named)
    if domain:
        (node,) = model.graph.node
        node.domain = domain
        model.opset_import.append(helper.make_opsetid(domain, 1))
    model.graph.node[0].attribute.extend(
        helper.make_attribute(name, each) for name, each in options.items() if name not in named
    )
    return model


Row = tuple[str, str, Sequence[Array | None], Sequence[Array | None], dict[str, Any], str]
GROUPED: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2}
GROUPS = [floats(1, 3, 64), floats(1, 3, 32), floats(1, 3, 32)]
WORDS = np.zeros((2, 3), np.int32)
EMBEDDED = [WORDS, None, floats(5, 8), floats(2, 8), None, floats(8), floats(8)]
UNPOOLED: dict[str, Any] = {"opset": 11, "kernel_shape": [2, 2], "strides": [2, 2]}

REFUSED: Sequence[Row] = (
    ("", "Dropout", [floats(2)], [np.array([0.5, 0.5], np.float32), np.array(True)], {"opset": 13}, "input 1 ('ratio') has 2 elements, expected one"),
    ("", "MaxUnpool", [floats(1, 2, 3)], [longs(0, 0, 0, 0, 0, 0).reshape(1, 2, 3)], UNPOOLED, "'kernel_shape' is [2, 2], its input has rank 3"),
    ("", "MaxUnpool", [floats(1, 1, 2, 2)], [np.zeros((1, 1, 2, 2), np.int64), longs(1, 1, 4)], UNPOOLED, "its result would have the shape [1, 1, 4, 4], stated is [1, 1, 4]"),
    ("", "MaxUnpool", [floats(1, 1, 2, 2)], [np.zeros((1, 1, 2, 2), np.int64)], {**UNPOOLED, "pads": [0, 3, 0, 2]}, "its result would have the shape [1, 1, 4, -1], stated is [1, 1, 4, -1]"),
    ("", "MaxUnpool", [floats(1, 1, 2, 2)], [np.zeros((1, 1, 2, 2), np.int64), longs(1, 1, 4, 3)], UNPOOLED, "'output_shape' is [1, 1, 4, 3], expected at least [1, 1, 4, 4]"),
    ("", "Add", [floats(2, 3, 4)], [floats(3)], {"opset": 6, "broadcast": 1, "axis": 3}, "'axis' is 3, accepted range is [-3, 2]"),
    ("", "Add", [floats(2, 3, 4)], [floats(3)], {"opset": 6, "broadcast": 1, "axis": -4}, "'axis' is -4, accepted range is [-3, 2]"),
    ("", "Add", [floats(2, 3, 4)], [floats(3, 4)], {"opset": 6, "broadcast": 1, "axis": 2}, "input 1 of rank 2 does not fit at axis 2"),
    ("", "RandomUniformLike", [bytes_of(2)], [], {"opset": 1, "seed": 1.0}, "its result has elements of type ui8, expected floating point"),
    ("", "LpNormalization", [floats(2)], [], {"opset": 1, "p": 3}, "'p' is 3, accepted are 1 and 2"),
    ("", "MaxRoiPool", [floats(1, 1, 2, 2)], [floats(1, 5)], {"opset": 1}, "attribute 'pooled_shape' is missing"),
    ("", "SplitToSequence", [floats(4)], [np.array(0, np.int64)], {"opset": 11}, "input 1 ('split') is 0, expected a positive number"),
    ("", "SplitToSequence", [floats(4)], [longs(1, 2)], {"opset": 11}, "parts of [1, 2] elements of an axis of 4"),
    ("", "If", [np.array(True)], [], {"opset": 11}, "attribute 'then_branch' is missing"),
    (LEARNING, "ArrayFeatureExtractor", [ONE], [longs(0)], {}, "its input is a scalar, expected at least rank 1"),
    (LEARNING, "Binarizer", [bytes_of(2)], [], {}, "input 0 ('X') has elements of type uint8, expected int32, int64, float32, float64"),
    ("", "RandomNormal", [], [], {"opset": 1, "shape": [1] * 65}, "the tensor of random numbers has 65 dimensions, arrays have at most 64"),
    ("", "RandomUniform", [], [], {"opset": 1, "shape": [2**21, 2**21]}, "the tensor of random numbers has the shape [2097152, 2097152] with more than 1099511627776 elements"),
    (TRAINING, "Momentum", [ONE, np.array(0, np.int64), floats(2), floats(2), floats(2)], [], {"mode": "fast", "alpha": 0.5, "beta": 0.5, "norm_coefficient": 0.0}, '\'mode\' is "fast", accepted are "standard" and "nesterov"'),
    (TRAINING, "Momentum", [ONE, np.array(0, np.int64)], [], {"mode": "standard"}, "it has 2 inputs, expected two and 3 for each parameter"),
    (TRAINING, "Adam", [ONE, np.array(0, np.int64), *[floats(2)] * 5], [], {}, "it has 7 inputs, expected two and 4 for each parameter"),
    (MICROSOFT, "QLinearSoftmax", [bytes_of(1, 2)], [*SCALED, *SCALED], {"opset": 0}, "'opset' is 0, expected a positive number"),
    (MICROSOFT, "MultiHeadAttention", [TOKENS] * 3, [], {"num_heads": 3}, "'num_heads' is 3, the queries have 8 elements"),
    (MICROSOFT, "MultiHeadAttention", [TOKENS] * 3, [], {"num_heads": 0}, "'num_heads' is 0, the queries have 8 elements"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [], {**GROUPED, "kv_num_heads": 3}, "'num_heads' is 4, 'kv_num_heads' is 3"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [], {**GROUPED, "kv_num_heads": 0}, "'num_heads' is 4, 'kv_num_heads' is 0"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [*[None] * 4, *[floats(2, 8)] * 2], {**GROUPED, "do_rotary": 1}, "there are 3 tokens, and angles of 2 places"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [], {**GROUPED, "causal": 0, "local_window_size": 2}, "'local_window_size' is 2 and 'causal' 0"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [*[floats(1, 2, 4, 4)] * 2, np.array([6], np.int32), np.array(2, np.int32)], GROUPED, "input 6 ('total_sequence_length') is [2], expected one number that is at least 3, the number of tokens"),
    (MICROSOFT, "EmbedLayerNormalization", EMBEDDED, [], {"outputs": 2}, "there are 3 tokens, and embeddings of 2 places"),
)  # fmt: skip

UNSUPPORTED: Sequence[Row] = (
    ("", "RoiAlign", [floats(1, 4, 2)], [floats(1, 4), longs(0)], {"opset": 16}, "its input has the shape [1, 4, 2]: only images, of rank 4, are supported"),
    ("", "QuantizeLinear", [floats(2)], [ONE], {"opset": 21, "output_dtype": TensorProto.INT64}, "its result has elements of type i64"),
    (MICROSOFT, "QGemm", [bytes_of(2, 2, dtype="int16")], [*SCALED, bytes_of(2, 2), *SCALED], {}, "it multiplies elements of type i16"),
    ("", "ConvInteger", [bytes_of(1, 1, 2, 2, 2)], [bytes_of(1, 1, 1, 1, 1)], {"opset": 10}, "its input has 3 spatial axes: expected lines or images"),
    ("", "QLinearMatMul", [bytes_of(2, 2)], [*SCALED, bytes_of(2, 2), *SCALED, np.ones(2, np.float32), NONE], {"opset": 10}, "its result has a scale or a zero point for each channel"),
    ("", "QLinearMatMul", [bytes_of(2, 2)], [*SCALED, bytes_of(2, 2), *SCALED, ONE, bytes_of(2)], {"opset": 10}, "its result has a scale or a zero point for each channel"),
    ("", "Optional", [None], [], {"opset": 15}, "it has no value, and values that are absent are no tensors"),
    (MICROSOFT, "QLinearGlobalAveragePool", [bytes_of(1, 2, 2, 1)], [*SCALED, *SCALED], {"channels_last": 1}, "'channels_last' is 1, expected images with channels first"),
    *(
        (MICROSOFT, "QLinearSoftmax", [bytes_of(1, 2)], [*SCALED, *SCALED], {"opset": given, "beta": 2}, f"in its body, the node that computes 'y': op type Softmax, domain 'ai.onnx', opset {used}: it has the attribute 'beta'")
        for given, used in ((1, 11), (12, 12), (13, 13), (17, 13))
    ),
    (MICROSOFT, "Attention", [TOKENS, floats(8, 24), floats(24)], [], {"num_heads": 2, "do_rotary": 1}, "'do_rotary' and a buffer for the past are not supported"),
    (MICROSOFT, "Attention", [TOKENS, floats(8, 24), floats(24), None, None, None, np.array([1], np.int32)], [], {"num_heads": 2}, "'do_rotary' and a buffer for the past are not supported"),
    (MICROSOFT, "MultiHeadAttention", [TOKENS] * 3, [None] * 5 + [longs(1)], {"num_heads": 2}, "a buffer for the past is not supported"),
    (MICROSOFT, "MultiHeadAttention", [TOKENS, floats(2, 2, 5, 4), floats(2, 2, 5, 4), floats(24)], [], {"num_heads": 2}, "keys or values by heads, and a bias of them"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [*[None] * 9, ONE], GROUPED, "its input 12 is not supported"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [], {**GROUPED, "qk_output": 1}, "'qk_output' and 'sliding_window_cache' are not supported"),
    (MICROSOFT, "GroupQueryAttention", GROUPS, [], {**GROUPED, "sliding_window_cache": 1}, "'qk_output' and 'sliding_window_cache' are not supported"),
    (MICROSOFT, "RotaryEmbedding", [floats(1, 3, 16)], [longs(0, 1, 2).reshape(1, 3), *[floats(4, 8)] * 2], {"scale": 0.5}, "'scale' is 0.5"),
    (MICROSOFT, "SkipSimplifiedLayerNormalization", [TOKENS, TOKENS], [floats(8)], {"outputs": 2}, "its second and third output are not supported"),
    (MICROSOFT, "EmbedLayerNormalization", EMBEDDED, [], {"outputs": 2, "mask_index_type": 2}, "'mask_index_type' is 2, supported are 0 and 1"),
)  # fmt: skip


def said_of(row: Row) -> str:
    """What is said of a model that is refused."""
    domain, op, data, constants, options, _ = row
    with pytest.raises(OnnxImportError) as caught:
        import_model(node_of(domain, op, data, constants, options))
    return str(caught.value)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[1]}: {row[5][:40]}")
def test_nodes_that_are_refused(row: Row) -> None:
    """One sentence after the name of the node and its operator."""
    assert said_of(row) == f"cannot import model 'g': node 'the_node' ({row[1]}): {row[5]}"


@pytest.mark.parametrize("row", UNSUPPORTED, ids=lambda row: f"{row[1]}: {row[5][:40]}")
def test_nodes_that_are_not_supported(row: Row) -> None:
    """A list, of one node, with the operator set that says what it means."""
    domain, op, _, _, options, reason = row
    version = 1 if domain else options["opset"]
    assert said_of(row) == (
        "cannot import model 'g': 1 node is not supported:\n"
        f"  node 'the_node': op type {op}, domain '{domain or 'ai.onnx'}', opset {version}: {reason}"
    )


OPEN = '<ir_version: 9, opset_import: ["" : 18, "own" : 1, "com.example" : 1]>'


@pytest.mark.parametrize(
    "body",
    [
        "{ a = Relu (x) b = com.example.Fancy (a) y = Add (x, b) }",
        "{ y = own.outer (x) }",
        "{ k = Constant <value_int = 3> () b = com.example.Fancy (x) y = Expand (x, b) }",
    ],
)
def test_operators_of_models_with_open_dimensions(body: str) -> None:
    """Those that are not supported are named before there are lengths, those in functions among them."""
    functions = """
        <domain: "own", opset_import: ["" : 18, "own" : 1]> outer (a) => (b) { b = own.inner (a) }
        <domain: "own", opset_import: ["" : 18, "com.example" : 1]> inner (a) => (b, c) {
            b = com.example.Fancy (a)
            c = com.example.Fancier (a)
        }"""
    model = parser.parse_model(f"{OPEN} m (float[n, 4] x) => (float[n, 4] y) {body}{functions}")
    with pytest.raises(OnnxImportError) as found:
        import_model(model)
    assert "1 node is not supported" in str(found.value)
    assert "op type Fancy, domain 'com.example', opset 1: the operator is not" in str(found.value)
    assert "Fancier" not in str(found.value)


@pytest.mark.parametrize(
    "body",
    [
        "{ unused = com.example.Fancy (x) y = Relu (x) }",
        """{ c = Constant <value = bool {1}> () y = If (c) <
            then_branch = t () => (float[n, 4] a) { a = Relu (x) },
            else_branch = e () => (float[n, 4] b) { b = com.example.Fancy (x) }> }""",
        "{ y = own.itself (x) }",
    ],
)
def test_operators_that_may_not_run(body: str) -> None:
    """What nothing needs, and branches: lengths are all that is asked for. A function that calls itself is no endless search."""
    function = '<domain: "own", opset_import: ["own" : 1]> itself (a) => (b) { b = own.itself (a) }'
    model = parser.parse_model(f"{OPEN} m (float[n, 4] x) => (float[n, 4] y) {body}{function}")
    with pytest.raises(UnknownInputs, match="unknown dimension 0"):
        import_model(model)


def test_functions_that_call_others_twice_are_looked_into_once() -> None:
    """Each level doubles the calls: 2^28 are no walk to take."""
    levels = 28
    functions = "".join(
        f"""<domain: "own", opset_import: ["own" : 1]> f{i} (a) => (b) {{
            c = own.f{i + 1} (a)
            b = own.f{i + 1} (c)
        }}"""
        for i in range(levels)
    )
    last = f"""<domain: "own", opset_import: ["com.example" : 1]> f{levels} (a) => (b) {{
        b = com.example.Fancy (a)
    }}"""
    model = parser.parse_model(
        f"{OPEN} m (float[n, 4] x) => (float[n, 4] y) {{ y = own.f0 (x) }}{functions}{last}"
    )
    with pytest.raises(OnnxImportError, match="op type Fancy") as found:
        import_model(model)
    assert str(found.value).count("op type Fancy") == 1
