"""Operators of `com.microsoft` that onnxruntime's optimiser and exporters write, against onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, helper, numpy_helper
from onnx_models import Array, Samples, build, by_import, by_onnxruntime, longs, untyped, value_info

import xrelay
from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(11)
floats = SAMPLES.floats


def one(
    op: str, data: list[Array | None], outputs: int | list[str] = 1, **attributes: Any
) -> tuple[ModelProto, list[Array]]:
    """A model of one operator of the domain, and its inputs."""
    names = ["" if each is None else f"in{i}" for i, each in enumerate(data)]
    results = outputs if isinstance(outputs, list) else [f"out{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, "n", domain="com.microsoft", **attributes)
    given = [each for each in data if each is not None]
    inputs = [value_info(name, each) for name, each in zip(filter(None, names), given, strict=True)]
    model = build([node], inputs, [untyped(name) for name in results if name], opset=17)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model, given


def rows(*lengths: int, count: int) -> Array:
    """A mask of tokens, with as many of each row as stated."""
    return np.array([[place < length for place in range(count)] for length in lengths], np.int32)


IMAGE, WEIGHT = floats(1, 2, 5, 5), floats(4, 2, 3, 3)
STATES = floats(2, 3, 8)
ANGLES = [floats(16, 4), floats(16, 4)]

CASES: dict[str, tuple[ModelProto, list[Array]]] = {
    "matmul": one("FusedMatMul", [floats(2, 3, 4), floats(2, 4, 5)], alpha=0.5),
    "matmul of a transposed one": one("FusedMatMul", [floats(2, 4, 3), floats(4, 5)], transA=1),
    "matmul by a transposed one": one(
        "FusedMatMul", [floats(2, 3, 4), floats(2, 5, 4)], transB=1, alpha=2.0
    ),
    "gemm": one("FusedGemm", [floats(3, 4), floats(4, 5), floats(5)], activation="Relu", alpha=0.5),
    "gemm and leaky relu": one(
        "FusedGemm",
        [floats(4, 3), floats(5, 4)],
        transA=1,
        transB=1,
        activation="LeakyRelu",
        activation_alpha=0.2,
    ),
    "conv": one("FusedConv", [IMAGE, WEIGHT, floats(4)], activation="Relu", pads=[1] * 4),
    "conv and a sum": one(
        "FusedConv", [IMAGE, WEIGHT, floats(4), floats(1, 4, 3, 3)], activation="Relu"
    ),
    "conv and clip": one(
        "FusedConv", [IMAGE, WEIGHT], activation="Clip", activation_params=[-0.5, 0.7]
    ),
    "gelu": one("Gelu", [floats(3, 4)]),
    "bias gelu": one("BiasGelu", [floats(2, 3, 4), floats(4)]),
    "fast gelu": one("FastGelu", [floats(2, 3, 4)]),
    "fast gelu of a sum": one("FastGelu", [floats(2, 3, 4), floats(4)]),
    "quick gelu": one("QuickGelu", [floats(2, 3, 4)], alpha=1.5),
    "layer norm of a sum": one(
        "SkipLayerNormalization",
        [STATES, floats(2, 3, 8), floats(8), floats(8), floats(8)],
        ["y", "", "", "sum"],
        epsilon=1e-3,
    ),
    "layer norm of a sum without biases": one(
        "SkipLayerNormalization", [STATES, floats(2, 3, 8), floats(8)]
    ),
    "rms norm of a sum": one(
        "SkipSimplifiedLayerNormalization",
        [STATES, floats(2, 3, 8), floats(8), floats(8)],
        ["y", "", "", "sum"],
    ),
    "embeddings": one(
        "EmbedLayerNormalization",
        [
            *(
                np.array([[1, 2, 0], [4, 4, 3]], np.int32),
                np.array([[0, 0, 1], [0, 1, 1]], np.int32),
            ),
            *(floats(5, 8), floats(4, 8), floats(2, 8), floats(8), floats(8)),
            rows(2, 3, count=3),
        ],
        2,
    ),
    "embeddings without segments": one(
        "EmbedLayerNormalization",
        [
            np.array([[1, 2]], np.int32),
            None,
            floats(5, 8),
            floats(4, 8),
            None,
            floats(8),
            floats(8),
        ],
        2,
    ),
    "attention": one("Attention", [STATES, floats(8, 24), floats(24)], num_heads=2),
    "attention with a mask": one(
        "Attention", [STATES, floats(8, 24), floats(24), rows(2, 3, count=3)], num_heads=2
    ),
    "attention with lengths": one(
        "Attention", [STATES, floats(8, 24), floats(24), np.array([2, 3], np.int32)], num_heads=2
    ),
    "attention with a past and a mask for each query": one(
        "Attention",
        [
            *(STATES, floats(8, 24), floats(24)),
            np.stack([rows(1, 5, 3, count=5), rows(4, 2, 5, count=5)]),
            floats(2, 2, 2, 2, 4),
        ],
        2,
        num_heads=2,
    ),
    "attention forward with a past": one(
        "Attention",
        [STATES, floats(8, 24), floats(24), None, floats(2, 2, 2, 4, 4)],
        2,
        num_heads=2,
        unidirectional=1,
    ),
    "heads": one(
        "MultiHeadAttention",
        [STATES, floats(2, 5, 8), floats(2, 5, 8), floats(24), rows(4, 5, count=5)],
        num_heads=2,
        scale=0.3,
    ),
    "heads with a past": one(
        "MultiHeadAttention",
        [
            STATES,
            floats(2, 3, 8),
            floats(2, 3, 8),
            None,
            None,
            floats(1, 2, 3, 5),
            floats(2, 2, 2, 4),
            floats(2, 2, 2, 4),
        ],
        3,
        num_heads=2,
    ),
    "heads with a past and a mask": one(
        "MultiHeadAttention",
        [
            *(STATES, floats(2, 3, 8), floats(2, 3, 8), None, rows(4, 5, count=5), None),
            *(floats(2, 2, 2, 4), floats(2, 2, 2, 4)),
        ],
        3,
        num_heads=2,
    ),
    "keys and values by heads": one(
        "MultiHeadAttention", [STATES, floats(2, 2, 5, 4), floats(2, 2, 5, 4)], num_heads=2
    ),
    "groups of one tensor, near keys": one(
        "GroupQueryAttention",
        [
            *(floats(1, 5, 64), None, None, floats(1, 2, 0, 8), floats(1, 2, 0, 8)),
            *(np.array([4], np.int32), np.array(5, np.int32)),
        ],
        3,
        num_heads=4,
        kv_num_heads=2,
        local_window_size=3,
        scale=0.2,
    ),
    "angles": one("RotaryEmbedding", [floats(2, 3, 16), np.array([[3, 1, 0], [2, 4, 9]]), *ANGLES]),
    "angles from a place on": one(
        "RotaryEmbedding", [floats(2, 2, 3, 8), longs(4), *ANGLES], interleaved=1
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime_has_it(name: str) -> None:
    model, data = CASES[name]
    for found, wanted in zip(by_import(model, data), by_onnxruntime(model, data), strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, 2e-5, 2e-5)


def test_images_whose_channels_are_last() -> None:
    """onnxruntime has no kernel of f32 for them on every machine."""
    data = [np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1)), WEIGHT, floats(4)]
    model, given = one("NhwcFusedConv", data, activation="Relu", strides=[2, 2])
    other, others = one("FusedConv", [IMAGE, *data[1:]], activation="Relu", strides=[2, 2])
    (wanted,) = by_onnxruntime(other, others)
    (found,) = by_import(model, given)
    np.testing.assert_allclose(found, wanted.transpose(0, 2, 3, 1), 2e-5, 2e-5)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (one("FusedMatMul", [floats(2, 3), floats(3, 2)], transBatchA=1), "'transBatchA' is set"),
        (one("FusedGemm", [floats(2, 3), floats(3, 2)], activation="Sinh"), "'activation' is \"Sinh\""),
        (one("Attention", [STATES, floats(8, 24)], num_heads=3), "'num_heads' is 3, weights make rows of 24"),
        (
            one("Attention", [STATES, floats(8, 24), None, np.ones((2, 7), np.int32)], num_heads=2),
            r"its mask has the shape \[2, 7\], supported are \[2\], \[2, 3\] and \[2, 3, 3\]",
        ),
        (one("MultiHeadAttention", [floats(2, 3, 2, 3, 4)], num_heads=2), "are one tensor"),
    ],
)  # fmt: skip
def test_what_is_refused(case: tuple[ModelProto, list[Array]], message: str) -> None:
    with pytest.raises(OnnxImportError, match=message):
        import_model(case[0])


def with_caches(*others: str, **attributes: Any) -> ModelProto:
    """GroupQueryAttention of any number of tokens, sequences and places of caches; its inputs after `sin_cache` are named."""
    text = """
    <ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]>
    decoder (float[b, s, 64] q, float[b, s, 32] k, float[b, s, 32] v, float[b, 2, p, 16] past_k,
             float[b, 2, p, 16] past_v, int32[b] ends, int32 total, int64[b, s] places,
             float[1, 4, s, total] bias, float[4] sinks)
        => (float[b, s, 64] y, float[b, 2, t, 16] present_k, float[b, 2, t, 16] present_v) {
      y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2>
          (q, k, v, past_k, past_v, ends, total)
    }"""
    model = onnx.parser.parse_model(text)
    (node,) = model.graph.node
    node.attribute.extend(helper.make_attribute(*each) for each in attributes.items())
    turns = ["cos", "sin"] if "do_rotary" in attributes else ["", ""]
    for name in filter(None, turns):
        model.graph.initializer.append(numpy_helper.from_array(floats(16, 8), name))
    given = ("places", "bias", "sinks")
    node.input.extend([*turns, *(name if name in others else "" for name in given)])
    kept = [each for each in model.graph.input if each.name not in given or each.name in others]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model


def with_past(model: ModelProto, length: int, past: int, ends: list[int]) -> dict[str, Array]:
    """The inputs of a call with as many new tokens of sequences, the last of which is at a place each."""
    batch, total = len(ends), max(ends) + 1
    firsts = [max(end + 1 - length, 0) for end in ends]
    given = {
        "q": floats(batch, length, 64),
        **{name: floats(batch, length, 32) for name in "kv"},
        **{name: floats(batch, 2, past, 16) for name in ("past_k", "past_v")},
        "ends": np.array(ends, np.int32),
        "total": np.array(total, np.int32),
        "places": np.add.outer(firsts, np.arange(length)).astype(np.int64),
        "bias": floats(1, 4, length, total),
        "sinks": floats(4),
    }
    return {each.name: given[each.name] for each in model.graph.input}


@pytest.mark.parametrize(
    ("others", "attributes"),
    [
        ([], {"do_rotary": 1, "local_window_size": 3}),
        (["places", "bias", "sinks"], {"do_rotary": 1, "rotary_interleaved": 1, "softcap": 2.0}),
        ([], {"causal": 0, "smooth_softmax": 1, "scale": 0.3}),
    ],
)  # fmt: skip
def test_caches_of_several_sequences(others: list[str], attributes: dict[str, Any]) -> None:
    """
    Prompts of other lengths, caches that grow, and those that have room for more than they hold: a program for each of
    these serves all lengths.
    """
    model = with_caches(*others, **attributes)
    peer = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = xrelay.compile(model, cache=False)
    calls = [
        *((5, 0, [4]), (6, 0, [5, 2]), (3, 4, [6]), (1, 7, [7]), (1, 5, [5, 3]), (1, 6, [6, 2])),
        *((1, 16, [5]), (3, 16, [7]), (4, 16, [3, 2]), (1, 16, [4, 15, 0]), (1, 16, [4, 12, 0])),
    ]
    for length, past, ends in calls:
        given = with_past(model, length, past, ends)
        for cache in ("past_k", "past_v"):
            for number, end in enumerate(
                ends
            ):  # Nothing was written to the room behind the tokens.
                given[cache][number, :, max(end + 1 - length, 0) :] = np.nan
        wanted = peer.run(None, given)
        assert isinstance(wanted, list)
        found = compiled.run(given).values()
        for caches, one, other in zip((False, True, True), found, wanted, strict=True):
            assert isinstance(one, np.ndarray)
            assert isinstance(other, np.ndarray)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            for number, end in enumerate(ends):
                # Both leave open what stands behind the last token of a sequence.
                seen = np.s_[number, :, : end + 1] if caches else np.s_[number, : end + 1]
                np.testing.assert_allclose(one[seen], other[seen], 2e-5, 2e-5)
    conditions = {each.conditions for each in compiled.specialisations if each.conditions}
    assert len(conditions) <= 6


def test_decoding_in_caches_that_past_and_present_share() -> None:
    """Prompts of two lengths, and tokens behind them: one binding for each number of tokens, whose caches stay where they are."""
    model = with_caches(do_rotary=1)
    peer = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = xrelay.compile(model, cache=False)
    ends = [4, 2]
    own = {name: np.full((2, 2, 12, 16), 7, np.float32) for name in ("past_k", "past_v")}
    others = {name: cache.copy() for name, cache in own.items()}
    for step in range(4):
        given = with_past(model, 5 if step == 0 else 1, 12, ends)
        wanted = peer.run(None, {**given, **others})
        y = np.empty(given["q"].shape, np.float32)
        results = {"y": y, "present_k": own["past_k"], "present_v": own["past_v"]}
        compiled.bind({**given, **own}, results).run()
        for number, end in enumerate(ends):
            np.testing.assert_allclose(
                y[number, : end + 1], wanted[0][number, : end + 1], 2e-5, 2e-5
            )
            for cache, other in zip(own.values(), wanted[1:], strict=True):
                seen = np.s_[number, :, : end + 1]
                np.testing.assert_allclose(cache[seen], other[seen], 2e-5, 2e-5)
                assert (cache[number, :, max(end + 1, 5) :] == 7).all()
        others = dict(zip(others, wanted[1:], strict=True))
        ends = [end + 1 for end in ends]


@pytest.mark.parametrize("end", [-9, 1 << 20])
def test_tokens_behind_a_cache_are_not_written(end: int) -> None:
    model = with_caches()
    given = with_past(model, 1, 16, [5, 3])
    given["ends"][1] = end
    compiled = xrelay.compile(model, cache=False)
    _, found, _ = compiled.run(given).values()
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found[0, :, 5], given["k"][0].reshape(2, 16))
    np.testing.assert_array_equal(found[1, :, 1:], given["past_k"][1, :, 1:])


def encoder() -> ModelProto:
    """Products, a bias, GELU, a sum and a layer norm, as exporters write them out."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    encoder (float[2, 3, 8] x) => (float[2, 3, 8] y) {
      p = MatMul(x, w)
      s = Add(p, b)
      root = Constant <value_float = 1.4142135> ()
      one = Constant <value_float = 1.0> ()
      half = Constant <value_float = 0.5> ()
      d = Div(s, root)
      e = Erf(d)
      f = Add(e, one)
      m = Mul(s, f)
      gelu = Mul(m, half)
      t = Transpose <perm = [0, 2, 1]> (gelu)
      scores = MatMul(gelu, t)
      mixed = MatMul(scores, gelu)
      sum = Add(mixed, x)
      y = LayerNormalization <axis = -1> (sum, g, h)
    }
    """
    model = onnx.parser.parse_model(text)
    weights = {"w": floats(8, 8), "b": floats(8), "g": floats(8), "h": floats(8)}
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in weights.items()
    )
    return model


def test_what_the_optimiser_of_onnxruntime_writes(tmp_path: Path) -> None:
    model, path = encoder(), tmp_path / "optimised.onnx"
    data = [STATES]
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 3
    onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    optimised = onnx.load(path)
    fused = {node.op_type for node in optimised.graph.node if node.domain == "com.microsoft"}
    assert fused >= {"Gelu", "FusedMatMul", "SkipLayerNormalization"}, fused
    (wanted,) = by_onnxruntime(model, data)
    (found,) = by_import(optimised, data)
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)
