"""
Models of operators that the fuzzer has no templates for: those of other domains, random numbers, sequences, optionals.

A `Kind` says what a node takes: a tensor is written `float32[2,3]`, behind `=` a constant and behind `?` one that may
be absent, with `|` between choices; `-` is absent. What is drawn depends on what the kind says and the model's number.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper, parser

from code_records.drawn_models import given
from tests.fuzz.onnx.oracle import IR_VERSION
from tests.fuzz.onnx.values import Array

OPSET = 21
MODELS = 8
"""Of each kind."""
MICROSOFT, LEARNING, TRAINING = "com.microsoft", "ai.onnx.ml", "ai.onnx.preview.training"
VERSIONS = {"": OPSET, MICROSOFT: 1, LEARNING: 3, TRAINING: 1}


@dataclass(frozen=True)
class Kind:
    """A node with choices."""

    op: str
    inputs: str
    """Separated by blanks."""
    attributes: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    """Those that may be absent, and their values."""
    required: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    """The others."""
    outputs: int = 1
    """At most: all but the first may be absent."""
    domain: str = MICROSOFT


FLAG = (1,)
ACTIVATIONS: tuple[str, ...] = ("Relu", "Sigmoid", "Tanh")
QUANTIZED = "uint8[1,2,5,5] =float32[] ?=uint8[] =float32[] ?=uint8[]"
PAIR = (
    "uint8[2,3] =float32[] ?=uint8[] uint8[3]|uint8[2,3] =float32[] ?=uint8[] =float32[] ?=uint8[]"
)
PART = "uint8[2,3] =float32[] =uint8[]"
WINDOW: dict[str, tuple[Any, ...]] = {
    "pads": ([1, 1, 1, 1], [0, 1, 1, 0]),
    "strides": ([2, 1], [2, 2]),
    "auto_pad": ("SAME_UPPER", "VALID"),
}
CONV = WINDOW | {"dilations": ([1, 2],), "activation": ACTIVATIONS}
NORM: dict[str, tuple[Any, ...]] = {"epsilon": (1e-3, 1e-5)}
SCALE: dict[str, tuple[Any, ...]] = {"scale": (0.25, 2.0)}
LATER = {"unidirectional": FLAG, "mask_filter_value": (-1e9,)} | SCALE
GROUPS = SCALE | {
    "do_rotary": FLAG,
    "rotary_interleaved": FLAG,
    "local_window_size": (2,),
    "softcap": (2.0,),
}
DRAWN: dict[str, tuple[Any, ...]] = {"dtype": (1, 11), "seed": (3.0,)}

KINDS = (
    Kind("QLinearAdd", PAIR),
    Kind("QLinearMul", PAIR),
    Kind(
        "QLinearAveragePool",
        QUANTIZED,
        WINDOW | {"ceil_mode": FLAG, "count_include_pad": FLAG, "channels_last": (0, 0, 1)},
        {"kernel_shape": ([2, 2], [3, 2])},
    ),
    Kind("QLinearConcat", f"=float32[] =uint8[] {PART} {PART}", required={"axis": (0, 1, -1)}),
    Kind("QLinearGlobalAveragePool", QUANTIZED, {"channels_last": (0, 0, 1)}),
    Kind("QLinearLeakyRelu", QUANTIZED, {"alpha": (0.25, 0.5)}),
    Kind("QLinearSigmoid", QUANTIZED),
    Kind("QLinearSoftmax", QUANTIZED, {"axis": (0, 1, -1)}, {"opset": (9, 12, 13, 18)}),
    Kind(
        "Attention",
        "float32[2,3,8] float32[8,24] ?float32[24] ?int32[2]|int32[2,3]|int32[2,3,3]|int32[2,7] "
        "?float32[2,2,2,4,4] ?float32[2,2,3,3]|float32[2,2,3,7]",
        LATER | {"qkv_hidden_sizes": ([8, 8, 8],)},
        {"num_heads": (2,)},
        outputs=2,
    ),
    Kind(
        "MultiHeadAttention",
        "float32[2,3,8] float32[2,5,8] float32[2,5,8] ?float32[24] ?int32[2]|int32[2,5]|int32[2,3,5] "
        "?float32[2,2,3,5]|float32[1,1,3,5]",
        LATER,
        {"num_heads": (2,)},
        outputs=3,
    ),
    Kind(
        "MultiHeadAttention",
        "float32[2,3,8] float32[2,2,5,4] float32[2,2,5,4] - ?int32[2]|int32[2,5]|int32[2,7] "
        "?float32[2,2,3,5]",
        LATER,
        {"num_heads": (2,)},
        outputs=3,
    ),
    Kind(
        "MultiHeadAttention",
        "float32[2,3,8] float32[2,3,8] float32[2,3,8] ?float32[24] ?int32[2,7] ?float32[2,2,3,7] "
        "float32[2,2,4,4] float32[2,2,4,4]",
        LATER,
        {"num_heads": (2,)},
        outputs=3,
    ),
    Kind(
        "GroupQueryAttention",
        "float32[1,1,64] float32[1,1,32] float32[1,1,32] float32[1,2,1,16] float32[1,2,1,16] int32[1] "
        "=int32[] float32[16,8] float32[16,8] ?int64[1,1] ?float32[1,1,1,1]|float32[1,4,1,2] ?float32[4]",
        GROUPS | {"causal": (1,), "smooth_softmax": FLAG},
        {"num_heads": (4,), "kv_num_heads": (2,)},
        outputs=3,
    ),
    Kind(
        "GroupQueryAttention",
        "float32[2,3,64]|float32[1,3,64] - - - - int32[2] int32[] float32[16,4] float32[16,4]",
        GROUPS,
        {"num_heads": (4,), "kv_num_heads": (2,)},
        outputs=3,
    ),
    Kind(
        "RotaryEmbedding",
        "float32[2,3,16]|float32[2,2,3,8] int64[2,3]|int64[1] float32[16,4] float32[16,4]",
        {"interleaved": FLAG, "num_heads": (2,), "scale": (1.0,)},
    ),
    Kind(
        "MatMulNBits",
        "float32[2,40]|float16[3,2,40] =uint8[5,3,8] =float32[5,3] ?=uint8[10]|=uint8[5,2] - ?float32[5]",
        {"accuracy_level": (4,), "bits": (4,)},
        {"N": (5,), "K": (40,), "block_size": (16,)},
    ),
    Kind(
        "MatMulNBits",
        "float32[2,40] =uint8[5,2,32] =float32[5,2] ?=uint8[5,2]|=uint8[5,3] ?=int32[40] ?float32[5]",
        required={"N": (5,), "K": (40,), "block_size": (32,), "bits": (8,)},
    ),
    Kind("DequantizeLinear", "uint8[2,3] =float32[] ?=uint8[]"),
    Kind("DequantizeLinear", "int8[2,3] =float32[3] ?=int8[3]", required={"axis": (1, -1)}),
    Kind("QuantizeLinear", "float32[2,3] =float32[] ?=uint8[]|=int8[]"),
    Kind("QuantizeLinear", "float32[2,3] =float32[2] ?=uint8[2]|=int8[2]", required={"axis": (0,)}),
    Kind("BiasGelu", "float32[2,3,4] float32[4]"),
    Kind("FastGelu", "float32[2,3,4] ?float32[4]"),
    Kind("Gelu", "float32[3,4]"),
    Kind("QuickGelu", "float32[3,4]", {"alpha": (1.5, 1.0)}),
    Kind(
        "EmbedLayerNormalization",
        "int32[2,3] ?int32[2,3] =float32[5,8] =float32[4,8] ?=float32[4,8] =float32[8] =float32[8] "
        "?int32[2,3] ?=int32[2,3]",
        NORM | {"mask_index_type": (0, 1)},
        outputs=3,
    ),
    Kind("SkipLayerNormalization", "float32[2,3,8] float32[2,3,8]|float32[3,8] =float32[8] "
         "?=float32[8] ?=float32[8]", NORM, outputs=4),
    Kind("SkipSimplifiedLayerNormalization", "float32[2,3,8] float32[2,3,8] =float32[8] ?=float32[8]",
         NORM, outputs=4),
    Kind("FusedConv", "float32[1,2,5,6] =float32[4,2,3,2] ?=float32[4]", CONV),
    Kind(
        "FusedConv",
        "float32[1,4,5,6] =float32[4,2,3,3] ?=float32[4] ?float32[1,4,5,6]",
        required={
            "group": (2,),
            "pads": ([1, 1, 1, 1],),
            "activation": ("LeakyRelu", "Clip", "HardSigmoid"),
            "activation_params": ([0.25, 0.75],),
        },
    ),
    Kind("NhwcConv", "float32[1,5,6,2] =float32[4,2,3,2] ?=float32[4]", WINDOW),
    Kind("NhwcFusedConv", "float32[1,5,6,2] =float32[4,2,3,2] ?=float32[4] ?float32[1,3,5,4]", CONV),
    Kind(
        "FusedGemm",
        "float32[4,4] =float32[4,4] ?=float32[4]|=float32[4,1]",
        {
            "alpha": (0.5,),
            "beta": (2.0,),
            "transA": FLAG,
            "transB": FLAG,
            "activation": (*ACTIVATIONS, "LeakyRelu"),
            "activation_alpha": (0.25,),
        },
    ),
    Kind(
        "FusedMatMul",
        "float32[2,4,4]|float32[4,4] float32[2,4,4]|float32[4,4]",
        {"alpha": (0.5,), "transA": FLAG, "transB": FLAG, "transBatchA": (0, 1)},
    ),
    Kind(
        "QGemm",
        "uint8[4,4] =float32[] =uint8[] =int8[4,4] =float32[]|=float32[4] =int8[] ?=int32[4] "
        "?=float32[] ?=uint8[]",
        {"alpha": (0.5,), "transA": FLAG, "transB": FLAG},
    ),
    Kind("ArrayFeatureExtractor", "float32[4,5]|float32[5] =int64[3]", domain=LEARNING),
    Kind("Binarizer", "float32[2,3]|int64[4]", {"threshold": (1.0, 2.0)}, domain=LEARNING),
    Kind(
        "Adagrad",
        "float32[] int64[] float32[2] float32[2] float32[2]",
        {"norm_coefficient": (0.25,), "decay_factor": (0.5,), "epsilon": (1e-3,)},
        outputs=2,
        domain=TRAINING,
    ),
    Kind(
        "Adam",
        "float32[] int64[] float32[2] float32[2] float32[2] float32[2]",
        {
            "alpha": (0.5,),
            "beta": (0.75,),
            "norm_coefficient": (0.25,),
            "norm_coefficient_post": (0.125,),
            "epsilon": (1e-3,),
        },
        outputs=3,
        domain=TRAINING,
    ),
    Kind(
        "Momentum",
        "float32[] int64[] float32[2] float32[3] float32[2] float32[3] float32[2] float32[3]",
        required={
            "alpha": (0.5, 0.75),
            "beta": (0.25, 1.0),
            "norm_coefficient": (0.0, 0.125),
            "mode": ("standard", "nesterov"),
        },
        outputs=4,
        domain=TRAINING,
    ),
    Kind("Bernoulli", "float32[2,3]", DRAWN, domain=""),
    Kind("RandomNormalLike", "float32[2,3]", DRAWN | {"mean": (0.5,), "scale": (2.0,)}, domain=""),
    Kind("RandomUniformLike", "float32[2,3]", DRAWN | {"low": (-1.0,), "high": (3.0,)}, domain=""),
    Kind("RandomNormal", "", {"mean": (0.5,), "seed": (3.0,)}, {"shape": ([2, 3],)}, domain=""),
    Kind("RandomUniform", "", {"high": (3.0,), "seed": (3.0,)}, {"shape": ([2, 3],)}, domain=""),
    Kind(
        "Multinomial",
        "float32[2,3]",
        {"dtype": (6, 7), "sample_size": (2, 5), "seed": (3.0,)},
        domain="",
    ),
    Kind("Det", "float32[3,3]|float32[2,2,2]", domain=""),
    Kind("Unique", "float32[6]|=float32[6]|=int64[2,3]|=int64[2,3]", {"axis": (0, -1), "sorted": (0, 1)}, outputs=4, domain=""),
    Kind(
        "NonMaxSuppression",
        "float32[1,6,4]|=float32[1,6,4] float32[1,2,6]|=float32[1,2,6] ?=int64[1] ?=float32[1] ?=float32[1]",
        {"center_point_box": FLAG},
        domain="",
    ),
    Kind(
        "TfIdfVectorizer",
        "int64[2,6]",
        {"weights": ([0.5, 1.0, 2.0, 0.25],)},
        {
            "mode": ("TF", "IDF", "TFIDF"),
            "min_gram_length": (1, 2),
            "max_gram_length": (2,),
            "max_skip_count": (0, 1),
            "ngram_counts": ([0, 2],),
            "ngram_indexes": ([0, 1, 2, 3], [3, 0, 1, 2]),
            "pool_int64s": ([1, 2, 1, 2, 3, 1],),
        },
        domain="",
    ),
)  # fmt: skip


def array(random: Random, dtype: str, shape: tuple[int, ...]) -> Array:
    """Small positive numbers; of floats eighths, so that they are the same everywhere."""
    is_float = np.dtype(dtype).kind == "f"
    most = 16 if is_float else 3
    numbers = [random.randrange(1, most) for _ in range(math.prod(shape))]
    return (np.array(numbers).reshape(shape) / (8 if is_float else 1)).astype(dtype)


def drawn(kind: Kind, number: int) -> ModelProto:
    """A model of one node."""
    random = Random(f"{kind.op} {kind.inputs} {number}")
    names: list[str] = []
    inputs: list[ValueInfoProto] = []
    weights: list[TensorProto] = []
    for place, choices in enumerate(kind.inputs.split()):
        text = random.choice(choices.removeprefix("?").split("|"))
        if choices == "-" or (choices.startswith("?") and random.random() < 0.5):
            names.append("")
            continue
        dtype, _, shape = text.strip("=?]").partition("[")
        lengths = tuple(int(length) for length in shape.split(",") if length)
        data, name = array(random, dtype, lengths), f"x{place}"
        names.append(name)
        if text.startswith("="):
            weights.append(numpy_helper.from_array(data, name))
        else:
            code = helper.np_dtype_to_tensor_dtype(data.dtype)
            inputs.append(helper.make_tensor_value_info(name, code, lengths))
    while names and not names[-1]:
        names.pop()
    attributes = {key: random.choice(values) for key, values in kind.required.items()}
    attributes |= {
        key: random.choice(values)
        for key, values in kind.attributes.items()
        if random.random() < 0.5
    }
    results = [f"y{place}" for place in range(kind.outputs)]
    if kind.domain != TRAINING:
        results[1:] = [name if random.random() < 0.5 else "" for name in results[1:]]
    node = helper.make_node(kind.op, names, results, "n", domain=kind.domain, **attributes)
    outputs = [ValueInfoProto(name=name) for name in results if name]
    graph = helper.make_graph([node], "graph", inputs, outputs, weights)
    opsets = [helper.make_opsetid(*pair) for pair in VERSIONS.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


SEQUENCES: dict[str, str] = {
    "split at places, one of them": """(float[6, 2] x) => (float[a, 2] y)
        <int64[3] sizes = {1, 2, 3}, int64 place = {1}>
        { s = SplitToSequence <axis = 0> (x, sizes) y = SequenceAt(s, place) }""",
    "split into equal parts, the last": """(float[5, 4] x) => (float[5, a] y)
        <int64 size = {3}, int64 place = {-1}>
        { s = SplitToSequence <axis = 1> (x, size) y = SequenceAt(s, place) }""",
    "split into lines": """(float[3, 4] x) => (float[a] y) <int64 place = {2}>
        { s = SplitToSequence <axis = 0, keepdims = 0> (x) y = SequenceAt(s, place) }""",
    "split into rows that stay": """(float[3, 4] x) => (float[a, b] y) <int64 place = {0}>
        { s = SplitToSequence <axis = -1, keepdims = 1> (x) y = SequenceAt(s, place) }""",
    "joined": """(float[2, 3] x, float[2, 3] z) => (float[a, b] y)
        { s = SequenceConstruct(x, z, x) y = ConcatFromSequence <axis = 1> (s) }""",
    "joined along a new axis": """(float[2, 3] x, float[2, 3] z) => (float[a, b, c] y)
        { s = SequenceConstruct(x, z) y = ConcatFromSequence <axis = -1, new_axis = 1> (s) }""",
    "inserted at the end": """(float[2] x, float[2] z) => (float[a] y) <int64 place = {1}>
        { e = SequenceEmpty <dtype = 1> () s = SequenceInsert(e, x) t = SequenceInsert(s, z)
          y = SequenceAt(t, place) }""",
    "inserted in front": """(float[2] x, float[2] z) => (float[a] y) <int64 first = {0}>
        { s = SequenceConstruct(x, x) t = SequenceInsert(s, z, first) y = SequenceAt(t, first) }""",
    "erased": """(float[2] x, float[2] z) => (float[a] y, int64 n) <int64 place = {0}>
        { s = SequenceConstruct(x, z) t = SequenceErase(s, place) y = SequenceAt(t, place)
          n = SequenceLength(t) }""",
    "the last erased": """(float[2] x, float[2] z) => (float[a] y)
        { s = SequenceConstruct(x, z) t = SequenceErase(s)
          y = ConcatFromSequence <axis = 0> (t) }""",
    "beyond the end": """(float[2] x) => (float[a] y) <int64 place = {2}>
        { s = SequenceConstruct(x, x) y = SequenceAt(s, place) }""",
    "at a place that is computed": """(float[2] x, int64 place) => (float[a] y)
        { s = SequenceConstruct(x, x) y = SequenceAt(s, place) }""",
    "joined tensors of two ranks": """(float[2] x, float[2, 2] z) => (float[a] y)
        { s = SequenceConstruct(x, z) y = ConcatFromSequence <axis = 0> (s) }""",
    "mapped": """(float[2, 3] x, float[3] z) => (float[a, b] y)
        { s = SequenceConstruct(x, x)
          t = SequenceMap <body = each (float[2, 3] e) => (float[2, 3] r) { r = Add(e, z) }> (s)
          y = ConcatFromSequence <axis = 0> (t) }""",
    "an optional with a value": """(float[2] x) => (float[2] y, bool z)
        { o = Optional(x) y = OptionalGetElement(o) z = OptionalHasElement(o) }""",
    "the element of a tensor": """(float[2] x) => (float[2] y, bool z)
        { y = OptionalGetElement(x) z = OptionalHasElement(x) }""",
    "nothing": """(float[2] x) => (bool y) { y = OptionalHasElement() }""",
}
"""Programs with sequences and optionals."""


def models() -> Iterator[tuple[str, ModelProto]]:
    """All of them, each with what its node has."""
    count = Counter[str]()
    for kind, number in product(KINDS, range(MODELS)):
        model = drawn(kind, number)
        (node,) = model.graph.node
        place = f"{kind.op} of {kind.domain}" if kind.domain else kind.op
        yield f"{place}, {count[place]} ({given(node, OPSET)})", model
        count[place] += 1
    head = f'<ir_version: {IR_VERSION}, opset_import: ["" : {OPSET}]>'
    for name, text in SEQUENCES.items():
        yield f"Sequence, {name}", parser.parse_model(f"{head} graph {text}")
