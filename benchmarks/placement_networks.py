"""
Networks for placement beside those of the suite, in which some parts are good for one engine and some for another. Their
weights are seeded, and they are written in ONNX: a U-Net, a detector, an LSTM tagger, a stack of NASNet cells, two towers.

`size` is what images, sequences or towers are long; the tests have small ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from benchmarks.suite import OPSET, SEED, Array, BenchmarkModel, Input

Builder = Callable[[int], ModelProto]


@dataclass
class Writer:
    """A graph that grows node by node; every method returns the name of a value."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    tensors: list[TensorProto] = field(default_factory=list[TensorProto])

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """The first output of a node."""
        name = f"{kind.lower()}{len(self.nodes)}"
        names = [name, *(f"{name}.{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=name, **attributes))
        return name

    def constant(self, array: Array) -> str:
        """An initializer."""
        name = f"w{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape: int) -> str:
        """Normal numbers, of which sums over all axes but the first have the variance 2."""
        fan = int(np.prod(shape[1:])) or 1
        numbers = self.rng.standard_normal(shape) * np.sqrt(2 / fan)
        return self.constant(numbers.astype(np.float32))

    def integers(self, *numbers: int) -> str:
        """A list of integers."""
        return self.constant(np.array(numbers, np.int64))

    def conv(self, x: str, channels: tuple[int, int], kernel: int, **attributes: Any) -> str:
        """A convolution with a bias, padded such that a stride of 1 keeps the size."""
        into, out = channels
        group: int = attributes.get("group", 1)
        weight = self.weight(out, into // group, kernel, kernel)
        bias = self.constant(np.zeros(out, np.float32))
        pads = [kernel // 2] * 4
        return self.op("Conv", x, weight, bias, pads=pads, **attributes)

    def conv_relu(self, x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        """A convolution and a relu."""
        return self.op("Relu", self.conv(x, channels, kernel, strides=[stride, stride]))

    def dense(self, x: str, rows: int, columns: int) -> str:
        """A product with a matrix, and a bias."""
        weight = self.rng.standard_normal((rows, columns)) * np.sqrt(2 / rows)
        product = self.op("MatMul", x, self.constant(weight.astype(np.float32)))
        return self.op("Add", product, self.constant(np.zeros(columns, np.float32)))

    def model(
        self, name: str, inputs: Sequence[Input], outputs: Sequence[tuple[str, int]]
    ) -> ModelProto:
        """The model; outputs are values with their element types."""
        float_, int_ = TensorProto.FLOAT, TensorProto.INT64
        graph = helper.make_graph(
            self.nodes,
            name,
            [
                helper.make_tensor_value_info(
                    each.name, float_ if each.integers is None else int_, each.shape
                )
                for each in inputs
            ],
            [helper.make_tensor_value_info(each, kind, None) for each, kind in outputs],
            self.tensors,
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8
        )


def unet_inputs(size: int) -> tuple[Input, ...]:
    """An image."""
    return (Input("image", (1, 3, size, size)),)


def unet(size: int) -> ModelProto:
    """A U-Net of three scales, with bilinear upsampling, and the 100 brightest places of its result."""
    g = Writer()
    widths = (16, 32, 64)
    x, channels = "image", 3
    kept: list[str] = []
    for width in widths:
        x = g.conv_relu(g.conv_relu(x, (channels, width), 3), (width, width), 3)
        kept.append(x)
        channels = width
        x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = g.conv_relu(x, (channels, 2 * channels), 3)
    channels *= 2
    for width, skip in zip(reversed(widths), reversed(kept), strict=True):
        scales = g.constant(np.array([1, 1, 2, 2], np.float32))
        x = g.op(
            "Resize", x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel"
        )
        x = g.op("Concat", x, skip, axis=1)
        x = g.conv_relu(g.conv_relu(x, (channels + width, width), 3), (width, width), 3)
        channels = width
    flat = g.op("Reshape", g.op("Sigmoid", g.conv(x, (channels, 1), 1)), g.integers(1, -1))
    count = g.integers(min(100, size * size))
    top = g.op("TopK", flat, count, outputs=2, axis=1)
    outputs = [(flat, TensorProto.FLOAT), (top, TensorProto.FLOAT)]
    return g.model("unet", unet_inputs(size), outputs)


BOXES = 50
"""How many boxes the detector looks at in the end."""


def detector(size: int) -> ModelProto:
    """
    A detector of one class. Non-maximum suppression has a static form, of which the size of the result does not depend
    on data: of the boxes with the highest scores those keep theirs that overlap no better one by half or more.
    """
    g = Writer()
    x, channels = "image", 3
    for width in (16, 32, 64):
        x = g.conv_relu(g.conv_relu(x, (channels, width), 3, 2), (width, width), 3)
        channels = width
    scores = g.op("Sigmoid", g.conv(x, (channels, 1), 1))
    boxes = g.op("Sigmoid", g.conv(x, (channels, 4), 1))
    places = (size // 8) ** 2
    scores = g.op("Reshape", scores, g.integers(places))
    boxes = g.op("Transpose", g.op("Reshape", boxes, g.integers(4, places)), perm=[1, 0])
    count = min(BOXES, places)
    best = g.op("TopK", scores, g.integers(count), outputs=2, axis=0)
    chosen = g.op("Gather", boxes, f"{best}.1", axis=0)
    kept = g.op("Mul", best, suppression(g, chosen, count))
    outputs = [(kept, TensorProto.FLOAT), (chosen, TensorProto.FLOAT)]
    return g.model("detector", unet_inputs(size), outputs)


def suppression(g: Writer, boxes: str, count: int) -> str:
    """1 for boxes (middle, extents), the best first, that overlap no better one by half or more; 0 for others."""
    parts = [
        g.op("Slice", boxes, g.integers(i), g.integers(i + 1), g.integers(1)) for i in range(4)
    ]
    half = g.constant(np.array(0.5, np.float32))
    overlap = ""
    area = g.op("Mul", parts[2], parts[3])
    for middle, extent in ((parts[0], parts[2]), (parts[1], parts[3])):
        reach = g.op("Mul", extent, half)
        low, high = g.op("Sub", middle, reach), g.op("Add", middle, reach)
        ends = g.op("Min", high, g.op("Transpose", high, perm=[1, 0]))
        starts = g.op("Max", low, g.op("Transpose", low, perm=[1, 0]))
        length = g.op("Relu", g.op("Sub", ends, starts))
        overlap = g.op("Mul", overlap, length) if overlap else length
    both = g.op("Add", area, g.op("Transpose", area, perm=[1, 0]))
    union = g.op("Add", g.op("Sub", both, overlap), g.constant(np.array(1e-6, np.float32)))
    better = g.constant(np.tril(np.ones((count, count), np.float32), -1))
    worst = g.op(
        "ReduceMax", g.op("Mul", g.op("Div", overlap, union), better), axes=[1], keepdims=0
    )
    return g.op("Cast", g.op("Less", worst, half), to=TensorProto.FLOAT)


WORDS, TAGS = 1000, 20


def tagger_inputs(size: int) -> tuple[Input, ...]:
    """The words of a text."""
    return (Input("words", (size, 1), (0, WORDS)),)


def lstm_tagger(size: int) -> ModelProto:
    """A tag for each word of a text, by an LSTM in both directions."""
    g = Writer()
    width, hidden = 64, 64
    x = g.op("Gather", g.weight(WORDS, width), "words", axis=0)
    weights = g.weight(2, 4 * hidden, width), g.weight(2, 4 * hidden, hidden)
    y = g.op("LSTM", x, *weights, hidden_size=hidden, direction="bidirectional")
    joined = g.op("Transpose", y, perm=[0, 2, 1, 3])
    flat = g.op("Reshape", joined, g.integers(size, 2 * hidden))
    tags = g.op("Softmax", g.dense(g.op("Tanh", flat), 2 * hidden, TAGS), axis=-1)
    return g.model("lstm_tagger", tagger_inputs(size), [(tags, TensorProto.FLOAT)])


def nasnet_stack(size: int) -> ModelProto:
    """Four NASNet-A cells, each of five sums of two branches, with the two cells before as inputs."""
    g = Writer()
    width = 32
    before = last = g.conv_relu("image", (3, width), 3, 2)
    counts = (width, width)
    for _ in range(4):
        made = nasnet_cell(g, (before, last), counts, width)
        before, last, counts = last, made, (counts[1], 6 * width)
    pooled = g.op("Flatten", g.op("GlobalAveragePool", last))
    logits = g.dense(pooled, counts[1], 100)
    return g.model("nasnet_stack", unet_inputs(size), [(logits, TensorProto.FLOAT)])


def nasnet_cell(g: Writer, inputs: tuple[str, str], counts: tuple[int, int], width: int) -> str:
    """A normal cell."""
    p, h = (
        g.conv(g.op("Relu", x), (count, width), 1) for x, count in zip(inputs, counts, strict=True)
    )

    def separable(x: str, kernel: int) -> str:
        for _ in range(2):
            x = g.conv(g.op("Relu", x), (width, width), kernel, group=width)
            x = g.conv(x, (width, width), 1)
        return x

    def pool(x: str) -> str:
        return g.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])

    sums = [
        g.op("Add", separable(h, 3), h),
        g.op("Add", separable(p, 3), separable(h, 5)),
        g.op("Add", pool(h), p),
        g.op("Add", pool(p), pool(p)),
        g.op("Add", separable(p, 5), separable(p, 3)),
    ]
    return g.op("Concat", p, *sums, axis=1)


def tower_inputs(size: int) -> tuple[Input, ...]:
    """A user, and a list of items with their features."""
    return (
        Input("user", (1, 16), (0, WORDS)),
        Input("items", (size,), (0, WORDS)),
        Input("features", (size, 32)),
    )


def two_towers(size: int) -> ModelProto:
    """The best ten of a list of items for a user: products of what two towers of dense layers make of each."""
    g = Writer()
    width = 64
    history = g.op("Gather", g.weight(WORDS, width), "user", axis=0)
    user = g.op("ReduceMean", history, axes=[1], keepdims=0)
    item = g.op(
        "Concat", g.op("Gather", g.weight(WORDS, width), "items", axis=0), "features", axis=1
    )
    rows = {"user": width, "item": width + 32}
    towers: list[str] = []
    for x, count in ((user, rows["user"]), (item, rows["item"])):
        for into, out in ((count, 256), (256, 128), (128, width)):
            x = g.op("Relu", g.dense(x, into, out))
        norm = g.op("Sqrt", g.op("ReduceSum", g.op("Mul", x, x), g.integers(1), keepdims=1))
        towers.append(g.op("Div", x, g.op("Add", norm, g.constant(np.array(1e-6, np.float32)))))
    scores = g.op("MatMul", towers[0], g.op("Transpose", towers[1], perm=[1, 0]))
    top = g.op("TopK", scores, g.integers(min(10, size)), outputs=2, axis=1)
    outputs = [(top, TensorProto.FLOAT), (f"{top}.1", TensorProto.INT64)]
    return g.model("two_towers", tower_inputs(size), outputs)


@dataclass(frozen=True)
class Built(BenchmarkModel):
    """A network that is written in ONNX."""

    builder: Builder
    inputs: Callable[[int], tuple[Input, ...]]
    size: int

    maker: ClassVar[str] = "onnx"

    def input_list(self) -> tuple[Input, ...]:
        """Those of its size."""
        return self.inputs(self.size)

    def source(self) -> Path:
        """This file."""
        return Path(__file__)

    def write(self, path: Path) -> None:
        """Writes what the builder makes."""
        path.write_bytes(self.builder(self.size).SerializeToString())


BUILT: tuple[Built, ...] = (
    Built("unet", unet, unet_inputs, 128),
    Built("detector", detector, unet_inputs, 256),
    Built("lstm_tagger", lstm_tagger, tagger_inputs, 32),
    Built("nasnet_stack", nasnet_stack, unet_inputs, 64),
    Built("two_towers", two_towers, tower_inputs, 512),
)
"""With the sizes of the benchmark."""
