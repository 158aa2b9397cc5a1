"""
The nine networks that come with onnx for its own tests, with weights that are worth computing with.

Their files are light because `ConstantOfShape` nodes stand for most weights, all of one value: the
activations then grow or vanish, and the outputs say little. `light_model` puts seeded random
weights in their place. It follows mean and variance of the activations through the network (for
an input of standard normal numbers) and scales the weights of each convolution and product such
that its result has variance 1, as He's initialisation does, but also after sums, concatenations
and the batch norms whose parameters the files do contain.
"""

from dataclasses import dataclass
from math import erf, exp, pi, prod, sqrt
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import onnx.backend.test
from onnx import ModelProto, NodeProto, numpy_helper

from xrelay.frontends.onnx import load_model

Weights = npt.NDArray[np.float32]

LIGHT_MODELS: tuple[str, ...] = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)
"""The names that `light_model` knows."""

_VIEW_OPS = ("Reshape", "Unsqueeze")


def light_model(name: str, seed: int | None = 0) -> ModelProto:
    """
    The network `name` of LIGHT_MODELS, from the installed onnx package.

    With a seed, every weight that the file describes by a ConstantOfShape node is an initializer
    of random values, the same for the same seed and tensor name on each run; initializers are
    then no graph inputs (IR version 4), so that engines may treat them as constants. Without a
    seed it is the model as in the file.
    """
    if name not in LIGHT_MODELS:
        raise ValueError(f"'{name}' is not one of the light models: {', '.join(LIGHT_MODELS)}")
    folder = Path(next(iter(onnx.backend.test.__path__))) / "data" / "light"
    model = load_model(folder / f"light_{name}.onnx")
    if seed is not None:
        _Weighting(model, seed).run()
    return model


@dataclass(frozen=True)
class Moments:
    """Mean and variance of the elements of a tensor, taken as normally distributed."""

    mean: float
    variance: float

    @property
    def mean_square(self) -> float:
        """The mean of the squares."""
        return self.mean * self.mean + self.variance

    def rectified(self) -> "Moments":
        """The moments of max(x, 0)."""
        deviation = sqrt(self.variance)
        ratio = self.mean / deviation
        positive = (1 + erf(ratio / sqrt(2))) / 2
        density = exp(-ratio * ratio / 2) / sqrt(2 * pi)
        mean = self.mean * positive + deviation * density
        square = self.mean_square * positive + self.mean * deviation * density
        return Moments(mean, square - mean * mean)


class _Weighting:
    """The state of replacing the weights of one model."""

    def __init__(self, model: ModelProto, seed: int):
        self.model = model
        self.graph = model.graph
        self.seed = seed
        self.stored = {tensor.name: tensor for tensor in self.graph.initializer}
        self.shapes = {
            node.output[0]: tuple(
                int(dim) for dim in numpy_helper.to_array(self.stored[node.input[0]])
            )
            for node in self.graph.node
            if node.op_type == "ConstantOfShape"
        }
        """The shape of each weight to replace."""
        self.views = {
            node.output[0]: node.input[0] for node in self.graph.node if node.op_type in _VIEW_OPS
        }
        """Results of Reshape and Unsqueeze, which may be views of weights."""
        self.weights: dict[str, Weights] = {}
        self.moments: dict[str, Moments] = {}

    def run(self) -> None:
        """Replaces the weights."""
        graph = self.graph
        for value in graph.input:
            if value.name not in self.stored:
                self.moments[value.name] = Moments(0, 1)
        for node in graph.node:
            # What follows from weights alone has no moments.
            if self.moments.keys() & set(node.input):
                self.moments[node.output[0]] = self._follow(node)
        kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
        used = {name for node in kept for name in node.input}
        tensors = [tensor for tensor in graph.initializer if tensor.name in used]
        for name, weights in self.weights.items():
            tensors.append(numpy_helper.from_array(weights, name))
        inputs = [value for value in graph.input if value.name not in self.stored]
        del graph.node[:], graph.initializer[:], graph.input[:]
        graph.node.extend(kept)
        graph.initializer.extend(tensors)
        graph.input.extend(inputs)
        self.model.ir_version = 4

    def _follow(self, node: NodeProto) -> Moments:
        """The moments of a node's result, from those of its inputs. Chooses the node's weights."""
        inputs = [self.moments[name] for name in node.input if name in self.moments]
        data = inputs[0]
        match node.op_type:
            case "Conv" | "Gemm":
                bias = (
                    self._small(node.input[2]) if len(node.input) > 2 else np.zeros(1, np.float32)
                )
                self._scaled_weight(node, data.mean_square)
                return Moments(0, 1 + _mean_square(bias))
            case "BatchNormalization":
                gamma, beta, mean, variance = node.input[1:5]
                centred = data.mean_square + np.square(self._small(mean), dtype=np.float64)
                gain = np.square(self._near_one(gamma, 0.2)) / (
                    self._near_one(variance, 0.5) + _epsilon(node)
                )
                shift = _mean_square(self._small(beta))
                return Moments(0, float(np.mean(gain * centred)) + shift)
            case "Mul":
                return Moments(0, data.variance * _mean_square(self._near_one(node.input[1], 0.2)))
            case "Add":
                return Moments(0, data.variance + _mean_square(self._small(node.input[1])))
            case "Sum":
                return Moments(
                    sum(each.mean for each in inputs), sum(each.variance for each in inputs)
                )
            case "Concat":
                mean = sum(each.mean for each in inputs) / len(inputs)
                square = sum(each.mean_square for each in inputs) / len(inputs)
                return Moments(mean, square - mean * mean)
            case "Relu":
                return data.rectified()
            case "MaxPool":  # the largest of a few related numbers
                return Moments(data.mean + sqrt(data.variance), data.variance / 2)
            case _:
                return data

    def _scaled_weight(self, node: NodeProto, square: float) -> None:
        """Weights that give a result with mean square 1 for an input with mean square `square`."""
        name = self._origin(node.input[1])
        shape = self.shapes[name]
        products = prod(shape[1:]) if node.op_type == "Conv" else shape[-1]
        deviation = np.float32(1 / sqrt(products * square))
        self.weights[name] = deviation * self._random(name).standard_normal(shape, np.float32)

    def _small(self, value: str) -> Weights:
        """A parameter around 0: the stored one, or a new one."""
        name = self._origin(value)
        if name in self.shapes:
            random = self._random(name).standard_normal(self.shapes[name], np.float32)
            self.weights[name] = np.float32(0.1) * random
        return self._parameter(name)

    def _near_one(self, value: str, distance: float) -> Weights:
        """A parameter around 1: the stored one, or a new one at most `distance` away from it."""
        name = self._origin(value)
        if name in self.shapes:
            random = self._random(name).random(self.shapes[name], np.float32)
            self.weights[name] = np.float32(1 - distance) + np.float32(2 * distance) * random
        return self._parameter(name)

    def _parameter(self, name: str) -> Weights:
        if name in self.weights:
            return self.weights[name]
        return numpy_helper.to_array(self.stored[name]).astype(np.float32)

    def _origin(self, value: str) -> str:
        """The name of the tensor that a value is a view of."""
        while value in self.views:
            value = self.views[value]
        return value

    def _random(self, name: str) -> np.random.Generator:
        """The random numbers of one tensor, which do not depend on other tensors."""
        return np.random.default_rng([self.seed, crc32(name.encode())])


def _mean_square(values: Weights) -> float:
    return float(np.mean(np.square(values, dtype=np.float64)))


def _epsilon(node: NodeProto) -> float:
    """The epsilon of a BatchNormalization."""
    return next((entry.f for entry in node.attribute if entry.name == "epsilon"), 1e-5)
