"""Nodes of recurrent networks, attention, losses and operators on signals."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.fuzz.onnx.growth import Growth, longs
from tests.fuzz.onnx.templates.template import Template
from tests.fuzz.onnx.values import Array

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(g: Growth, op: str) -> None:
    """All directions, states that are given, lengths of sequences."""
    steps, batch, width, hidden = g.choice(1, 2, 3), g.choice(1, 2), g.choice(2, 3), g.choice(2, 4)
    direction = g.choice("forward", "reverse", "bidirectional")
    ways, gates = 2 if direction == "bidirectional" else 1, GATES[op]
    found = g.find(lambda a: a.dtype == np.float32 and a.ndim == 3 and 0 < a.size < 100)
    data = g.choice(*found) if found and g.chance(0.6) else g.new("float32", (steps, batch, width))
    steps, batch, width = data.shape
    steps = min(steps, 5)
    optional: dict[str, Any] = {}
    if g.chance(0.6):
        optional["B"] = g.weight("float32", (ways, 2 * gates * hidden))
    if g.chance(0.3):
        optional["initial_h"] = g.weight("float32", (ways, batch, hidden))
    if op == "LSTM" and g.chance(0.3):
        optional["initial_c"] = g.weight("float32", (ways, batch, hidden))
    if op == "LSTM" and g.chance(0.2):
        optional["P"] = g.weight("float32", (ways, 3 * hidden))
    if op == "GRU":
        optional["linear_before_reset"] = g.choice(0, 1)
    if g.chance(0.2):
        lengths = [g.rng.randint(1, data.shape[0]) for _ in range(batch)]
        optional["sequence_lens"] = g.leaf(np.array(lengths, np.int32), 0.7)
    g.node(
        op,
        g.choice(1, 2, 3 if op == "LSTM" else 2),
        X=data,
        W=g.weight("float32", (ways, gates * hidden, width)),
        R=g.weight("float32", (ways, gates * hidden, hidden)),
        hidden_size=hidden,
        direction=direction,
        **optional,
    )


def attention(g: Growth, op: str) -> None:
    """Heads in an axis of their own or in the width, masks, causal, fewer heads of keys."""
    batch, heads, rows, columns = (
        g.choice(1, 2),
        g.choice(1, 2, 4),
        g.choice(1, 3, 5),
        g.choice(2, 4, 6),
    )
    width, other = g.choice(2, 4, 8), g.choice(4, 8)
    groups = g.choice(*(n for n in (1, 2, 4) if heads % n == 0))
    optional: dict[str, Any] = {"is_causal": g.choice(0, 1)}
    if g.chance(0.3):
        optional["scale"] = g.choice(0.3, 1.0)
    if g.chance(0.2):
        optional["softcap"] = 2.0
    if g.chance(0.4):
        shape = g.choice((rows, columns), (1, 1, rows, columns), (batch, heads, rows, columns))
        optional["attn_mask"] = g.weight(g.choice("float32", "bool"), shape)
    if g.chance(0.5):
        shapes = ((batch, heads, rows, width), (batch, groups, columns, width),
                  (batch, groups, columns, other))  # fmt: skip
    else:
        shapes = ((batch, rows, heads * width), (batch, columns, groups * width),
                  (batch, columns, groups * other))  # fmt: skip
        optional |= {"q_num_heads": heads, "kv_num_heads": groups}
    q, k, v = (g.new("float32", shape, 0) for shape in shapes)
    g.node(op, Q=q, K=k, V=v, **optional)


def linear_attention(g: Growth, op: str) -> None:
    """The rules that need no decay, and those that do."""
    batch, rows, heads, width = g.choice(1, 2), g.choice(1, 3), g.choice(1, 2), g.choice(2, 4)
    rule = g.choice("linear", "gated", "delta", "gated_delta")
    shape = (batch, rows, heads * width)
    optional: dict[str, Any] = {}
    if "gated" in rule:
        optional["decay"] = g.weight("float32", (batch, rows, heads))
    if "delta" in rule:
        optional["beta"] = g.positive("float32", (batch, rows, heads))
    q, k, v = (g.weight("float32", shape) for _ in range(3))
    g.node(op, 2, query=q, key=k, value=v, q_num_heads=heads, kv_num_heads=heads,
           update_rule=rule, **optional)  # fmt: skip


def causal_conv(g: Growth, op: str) -> None:
    """Depthwise, with the elements before the first."""
    batch, channels, length, k = g.choice(1, 2), g.choice(1, 3), g.choice(2, 5), g.choice(2, 3)
    bias = g.weight("float32", (channels,)) if g.chance(0.5) else None
    state = g.weight("float32", (batch, channels, k - 1)) if g.chance(0.5) else None
    g.node(
        op,
        2,
        input=g.new("float32", (batch, channels, length)),
        weight=g.weight("float32", (channels, 1, k)),
        bias=bias,
        past_state=state,
        activation=g.choice(None, "none", "silu"),
    )


def rotary(g: Growth, op: str) -> None:
    """Whole heads or parts of them, both orders."""
    batch, heads, rows, width = g.choice(1, 2), g.choice(1, 2), g.choice(2, 3), g.choice(4, 8)
    part = g.choice(0, 0, 2)
    half = (part or width) // 2
    cos, sin = (g.weight("float32", (batch, rows, half)) for _ in range(2))
    data = g.new("float32", (batch, heads, rows, width))
    g.node(op, X=data, cos_cache=cos, sin_cache=sin, interleaved=g.choice(0, 1),
           rotary_embedding_dim=part)  # fmt: skip


def loss(g: Growth, op: str) -> None:
    """Classes, weights, all reductions."""
    batch, classes = g.choice(1, 2, 3), g.choice(2, 3, 5)
    rest = tuple(g.choice(1, 2, 3) for _ in range(g.choice(0, 0, 1, 2)))
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    target = g.leaf(numbers.integers(0, classes, (batch, *rest)))
    first, second, third = (
        ("input", "target", "weight")
        if op == "NegativeLogLikelihoodLoss"
        else ("scores", "labels", "weights")
    )
    weight = g.positive("float32", (classes,)) if g.chance(0.4) else None
    ignored = {"ignore_index": g.rng.randrange(classes)} if g.chance(0.3) else {}
    scores = g.new("float32", (batch, classes, *rest))
    reduction = g.choice("none", "mean", "sum")
    g.node(op, **{first: scores, second: target, third: weight}, reduction=reduction, **ignored)


def dft(g: Growth, op: str) -> None:
    """Of real and complex signals, both directions."""
    parts, inverse = g.choice(1, 2), g.choice(0, 0, 1)
    data = g.new("float32", (g.choice(1, 2), g.choice(2, 3, 5, 8), g.choice(1, 4), parts))
    axis = g.choice(1, 2, -2)
    onesided = g.choice(0, 1) if parts == 1 and not inverse else 0
    g.node(op, input=data, axis=longs(axis).reshape(()) if g.opset >= 20 else axis,
           inverse=inverse, onesided=onesided)  # fmt: skip


def stft(g: Growth, op: str) -> None:
    """Of real signals, with a window."""
    length, frame = g.choice(8, 16), g.choice(4, 5, 8)
    data = g.new("float32", (g.choice(1, 2), length, 1))
    window = g.positive("float32", (frame,))
    g.node(op, signal=data, frame_step=longs(g.choice(1, 2, 3)).reshape(()), window=window,
           frame_length=longs(frame).reshape(()), onesided=g.choice(0, 1))  # fmt: skip


def window(g: Growth, op: str) -> None:
    """Of a length."""
    g.node(op, size=np.array(g.choice(2, 3, 5, 8), np.int64), periodic=g.choice(0, 1))


def mel_weights(g: Growth, op: str) -> None:
    """Of a few bins."""
    numbers: list[Array] = [np.array(n, np.int64) for n in (g.choice(4, 8), 16, 8000)]
    bins, length, rate = numbers
    low, high = np.array(g.choice(0.0, 20.0), np.float32), np.array(3800.0, np.float32)
    g.node(op, num_mel_bins=bins, dft_length=length, sample_rate=rate, lower_edge_hertz=low,
           upper_edge_hertz=high)  # fmt: skip


SEQUENCE_TEMPLATES: Mapping[str, Template] = {
    **dict.fromkeys(("GRU", "LSTM", "RNN"), recurrent),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), loss),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), window),
    "Attention": attention,
    "CausalConvWithState": causal_conv,
    "DFT": dft,
    "LinearAttention": linear_attention,
    "MelWeightMatrix": mel_weights,
    "RotaryEmbedding": rotary,
    "STFT": stft,
}
