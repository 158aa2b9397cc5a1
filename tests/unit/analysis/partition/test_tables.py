"""Which parts of a network a compiler gets, for tables of patterns: scenarios of the original's tests."""

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xrelay.analysis.partition.compilers import REGISTRY, Compiler, SupportedOperators
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.language import Pattern, is_op, wildcard
from xrelay.backends.region_builder import RegionBuilder
from xrelay.compiler import context
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BatchNormOp, BiasAddOp, SoftmaxOp
from xrelay.dialects.pool.pool import GlobalAvgPool2DOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp
from xrelay.dialects.tensor.unary import ReluOp, SigmoidOp
from xrelay.interpreters.relay import interpret
from xrelay.transforms.annotate_target import AnnotateTargetPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.fold_scale_axis import FoldScaleAxisPass
from xrelay.transforms.merge_composite import MergeCompositePass
from xrelay.transforms.partition_graph import PartitionGraphPass
from xrelay.transforms.simplify_expr import SimplifyExprPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass

PASSES = (
    SimplifyInferencePass(),
    FoldConstantPass(),
    FoldScaleAxisPass(),
    # It leaves products of constants, and sums of constants are those of literals.
    FoldConstantPass(),
    # A bias and the shift of a batch normalisation become one.
    SimplifyExprPass(reassociate=True, rules="cpu"),
    MergeCompositePass(("dnnl",)),
    AnnotateTargetPass(("dnnl",)),
    PartitionGraphPass(),
)
OPERATORS = SupportedOperators(
    frozenset(
        [
            "nn.batch_norm",
            "nn.conv2d",
            "nn.dense",
            "nn.global_avg_pool2d",
            "nn.relu",
            "nn.softmax",
            "add",
            "multiply",
            "sigmoid",
            "tanh",
        ]
    )
)
"""What oneDNN computes alone; `nn.bias_add` is not among it, nor are changes of shapes."""


def pattern(operator: str, *rest: str) -> CompositePattern:
    """An operator with weights and what follows it, named like `dnnl.conv2d_bias_relu`."""
    value: Pattern = is_op(f"nn.{operator}")(wildcard(), wildcard())
    for each in rest:
        if each == "bias":
            bias = wildcard()
            value = is_op("nn.bias_add")(value, bias) | (value + bias)
        elif each == "sum":
            value = value + wildcard()
        else:
            value = is_op("nn.relu" if each == "relu" else each)(value)
    return CompositePattern("_".join((f"dnnl.{operator}", *rest)), value)


TABLE = {
    entry.name.removeprefix("dnnl."): entry
    for entry in (
        pattern("conv2d", "bias", "sum", "relu"),
        pattern("conv2d", "bias", "sum"),
        *(
            pattern(operator, *bias, *activation)
            for bias in (("bias",), ())
            for activation in (("tanh",), ("sigmoid",), ("relu",), ())
            for operator in ("conv2d", "dense")
            if bias or activation
        ),
    )
}
"""oneDNN's patterns, the preferred ones first."""


class Network(RegionBuilder):
    """A network under construction, with random weights."""

    def weight(self, *shape: int) -> SSAValue:
        """Weights that keep the size of numbers; the first dimension is that of the outputs."""
        return self.constant(self.array("float32", *shape) / np.float32(np.prod(shape[1:]) ** 0.5))

    def conv2d(
        self, data: SSAValue, channels: int, kernel: int = 3, *, stride: int = 1, groups: int = 1
    ) -> SSAValue:
        weight = self.weight(channels, shape_of(data)[1] // groups, kernel, kernel)
        padding, strides = (kernel // 2,) * 2, (stride,) * 2
        return self.op(Conv2DOp(data, weight, strides=strides, padding=padding, groups=groups))

    def vector(self, data: SSAValue, lowest: float = -1.0) -> SSAValue:
        """A number for each channel."""
        values = self.rng.uniform(lowest, 1.5, shape_of(data)[1])
        return self.constant(values.astype(np.float32))

    def bias_add(self, data: SSAValue) -> SSAValue:
        return self.op(BiasAddOp(data, self.vector(data)))

    def batch_norm(self, data: SSAValue) -> SSAValue:
        gamma, beta, mean = (self.vector(data) for _ in range(3))
        norm = BatchNormOp(data, gamma, beta, mean, self.vector(data, lowest=0.5))
        return self.op(TupleGetItemOp(self.op(norm), 0))

    def module(self, result: SSAValue) -> ModuleOp:
        module = self.function([result]).parent_op()
        assert isinstance(module, ModuleOp)
        return module


def parts(network: Network, result: SSAValue, table: list[CompositePattern]) -> list[str]:
    """
    What the compiler gets of a network, which keeps its meaning: for each of its functions the name of
    the composite, or else of the operator, in it.
    """
    module = network.module(result)
    (before,) = interpret(module, network.inputs, "region")
    with REGISTRY.using([Compiler("dnnl", OPERATORS, tuple(table))]):
        for step in PASSES:
            step.apply(context(), module)
            module.verify()
    (after,) = interpret(module, network.inputs, "region")
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)
    found: list[str] = []
    for function in module.ops:
        if isinstance(function, func.FuncOp) and "Compiler" in function.attributes:
            (op,) = (
                each
                for each in function.body.block.ops
                if not isinstance(each, ConstantOp | func.ReturnOp)
            )
            found.append(op.composite.data if isinstance(op, CompositeOp) else op.name)
    return [name.removeprefix("dnnl.").removeprefix("relay.") for name in found]


@pytest.mark.parametrize(
    ("table", "layers", "expected"),
    [
        ("conv2d_bias_relu", "bn", "conv2d_bias_relu nn.conv2d nn.relu"),
        ("conv2d_relu", "bn", "nn.conv2d add nn.relu conv2d_relu"),
        ("conv2d_bias_relu conv2d_relu", "bn", "conv2d_bias_relu conv2d_relu"),
        ("conv2d_bias_relu conv2d_relu", "bias bn", "conv2d_bias_relu conv2d_relu"),
        ("conv2d_relu", "", "conv2d_relu conv2d_relu"),
        ("conv2d_bias_relu", "", "nn.conv2d nn.relu nn.conv2d nn.relu"),
        (
            "conv2d_bias_relu conv2d_relu",
            "bn sigmoid",
            "nn.conv2d add sigmoid nn.relu nn.conv2d sigmoid nn.relu",
        ),
        (
            "conv2d_bias conv2d_relu",
            "bias bn sigmoid",
            "conv2d_bias sigmoid nn.relu nn.conv2d sigmoid nn.relu",
        ),
        (
            "conv2d_bias_sigmoid conv2d_relu",
            "bias bn sigmoid",
            "conv2d_bias_sigmoid nn.relu nn.conv2d sigmoid nn.relu",
        ),
        (
            "conv2d_bias_sigmoid conv2d_sigmoid",
            "bias bn sigmoid",
            "conv2d_bias_sigmoid nn.relu conv2d_sigmoid nn.relu",
        ),
    ],
)
def test_two_convolutions(table: str, layers: str, expected: str):
    network = Network()
    data = network.input(network.array("float32", 1, 3, 8, 8))
    make: dict[str, Callable[[SSAValue], SSAValue]] = {
        "bias": network.bias_add,
        "bn": network.batch_norm,
        "sigmoid": lambda value: network.op(SigmoidOp(value)),
    }
    # The second one has no bias and no batch normalisation.
    for kinds in (layers.split(), [each for each in layers.split() if each == "sigmoid"]):
        data = network.conv2d(data, 8)
        for kind in kinds:
            data = make[kind](data)
        data = network.op(ReluOp(data))
    assert parts(network, data, [TABLE[name] for name in table.split()]) == expected.split()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("conv2d_bias_sum", ["conv2d_bias_sum", "nn.relu"]),
        ("conv2d_bias_sum_relu", ["conv2d_bias_sum_relu"]),
    ],
)
def test_sum(table: str, expected: list[str]):
    network = Network()
    data = network.input(network.array("float32", 1, 4, 6, 6))
    other = network.input(network.array("float32", 1, 8, 6, 6))
    value = network.batch_norm(network.bias_add(network.conv2d(data, 8)))
    value = network.op(ReluOp(network.op(AddOp(value, other))))
    assert parts(network, value, [TABLE[table]]) == expected


def test_mobilenet():
    # Channels are a quarter, and images small: the layers are those of the network.
    network = Network()
    data = network.input(network.array("float32", 1, 3, 32, 32))

    def layer(
        data: SSAValue, channels: int, kernel: int = 3, *, stride: int = 1, groups: int = 1
    ) -> SSAValue:
        convolution = network.conv2d(data, channels, kernel, stride=stride, groups=groups)
        return network.op(ReluOp(network.batch_norm(convolution)))

    data = layer(data, 8, stride=2)
    depth = 8
    for channels, stride in (
        [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)]
        + [(128, 1)] * 5
        + [(256, 2), (256, 1)]
    ):
        data = layer(data, depth, stride=stride, groups=depth)
        data = layer(data, channels, 1)
        depth = channels
    data = network.op(BatchFlattenOp(network.op(GlobalAvgPool2DOp(data))))
    dense = network.op(DenseOp(data, network.weight(10, depth)))
    data = network.op(SoftmaxOp(network.bias_add(dense)))
    assert parts(network, data, list(TABLE.values())) == [
        *["conv2d_bias_relu"] * 27,
        "nn.global_avg_pool2d",
        "dense_bias",
        "nn.softmax",
    ]
