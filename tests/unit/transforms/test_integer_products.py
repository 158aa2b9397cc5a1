"""
Programs of quantised ONNX models on integers: products of bytes against the meaning of `relay.qnn.*`, and what passes
make of models against integer formulas, in NumPy and in onnxruntime.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper
from onnx_models import Array, build, by_onnxruntime, one_node, untyped, value_info
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, i32
from xdsl.ir import Block, Region, SSAValue

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.qnn.products import QnnBatchMatmulOp, QnnConv2DOp, QnnDenseOp
from xrelay.dialects.shapes import tensor_type
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.arrays import type_of
from xrelay.interpreters.constants import constant_op
from xrelay.interpreters.relay import interpret
from xrelay.transforms.cpu_pipeline import CpuPipelinePass
from xrelay.transforms.legalize.legalize_quantized_products import LegalizeQuantizedProductsPass
from xrelay.transforms.quantize.fake_quantization_to_integer import FakeQuantizationToIntegerPass

PRODUCTS = (Conv2DOp, DenseOp, BatchMatmulOp)


def random_bytes(rng: np.random.Generator, dtype: Any, shape: Sequence[int]) -> Array:
    """Integers of the whole range; each fourth is one of its ends."""
    limits = np.iinfo(dtype)
    found = rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    ends = rng.choice([limits.min, limits.max], shape).astype(dtype)
    return np.where(rng.integers(0, 4, shape) == 0, ends, found)


def applied(module: ModuleOp, *passes: RelayPass) -> ModuleOp:
    """A verified copy after some passes."""
    module = module.clone()
    for each in passes:
        each.apply(Context(), module)
        module.verify()
    return module


# -- products of bytes ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """Two factors, and the operator on them."""

    op: Callable[..., RelayOp]
    left: tuple[int, ...]
    right: tuple[int, ...]
    channels: int = 1
    """How many zero points the second factor may have."""
    properties: dict[str, Any] = field(default_factory=dict[str, Any])


FACTORS = [
    Product(QnnConv2DOp, (1, 4, 5, 6), (6, 4, 3, 3), 6, {"padding": [1, 0, 2, 1]}),
    Product(QnnConv2DOp, (2, 3, 7, 7), (5, 3, 1, 1), 5, {"strides": [2, 2]}),
    Product(QnnConv2DOp, (1, 2, 9, 8), (3, 2, 3, 2), 3, {"dilation": [2, 3], "padding": [2, 2]}),
    Product(QnnConv2DOp, (1, 4, 6, 5), (4, 1, 3, 3), 4, {"groups": 4, "padding": [1, 1]}),
    Product(QnnConv2DOp, (1, 4, 4, 5), (6, 2, 2, 1), 6, {"groups": 2}),
    Product(QnnDenseOp, (3, 7), (5, 7), 5),
    Product(QnnDenseOp, (2, 3, 6), (4, 6), 4),
    Product(QnnBatchMatmulOp, (2, 3, 5), (2, 4, 5), 1, {"transpose_b": True}),
    Product(QnnBatchMatmulOp, (2, 5, 3), (1, 5, 4), 1, {"transpose_a": True, "transpose_b": False}),
]
ZEROS: list[tuple[int, tuple[int, ...]]] = [
    (0, (0,)),
    (-1, (0,)),
    (0, (3,)),
    (7, (-1,)),
    (-1, (-1, 0)),
    (-1, (0, 1)),
    (0, (5, -1)),
    (1000, (-1000,)),
]
"""Zero points of both factors, from the least integer on; -1 is the largest. Several are those of channels in turn."""


def zero_points(numbers: Sequence[int], dtype: Any, count: int) -> Array:
    limits = np.iinfo(dtype)
    found = [limits.max if each == -1 else limits.min + each for each in numbers]
    if len(found) == 1:
        return np.array(found[0], np.int32)
    return np.resize(np.array(found, np.int32), count)


def module_of(case: Product, arrays: Sequence[Array], known: Sequence[bool]) -> ModuleOp:
    """A program with the operands that are not known as arguments."""
    given = [array for array, constant in zip(arrays, known, strict=True) if not constant]
    block = Block(arg_types=[type_of(array) for array in given])
    arguments, operands = iter(block.args), list[SSAValue]()
    for array, constant in zip(arrays, known, strict=True):
        if constant:
            block.add_op(held := constant_op(array))
            operands.append(held.result)
        else:
            operands.append(next(arguments))
    op = case.op(*operands, **case.properties)
    block.add_ops([op, func.ReturnOp(op.results[0])])
    type_ = FunctionType.from_lists(block.arg_types, [op.results[0].type])
    return ModuleOp([func.FuncOp("main", type_, Region(block))])


CONSTANTS = {"all": (0, 1, 1, 1, 1, 1), "none": (0,) * 6, "zeros": (0, 0, 1, 1, 1, 1)}


@pytest.mark.parametrize("known", CONSTANTS)
@pytest.mark.parametrize("number", range(len(FACTORS)))
def test_products_of_bytes_mean_the_same(number: int, known: str):
    case, rng = FACTORS[number], np.random.default_rng(number)
    cases = list(product(product((np.int8, np.uint8), repeat=2), ZEROS))
    # A third of them, each with some operator.
    for (left, right), (zero_left, zero_right) in cases[number % 3 :: 3]:
        if case.channels == 1 and len(zero_right) > 1:
            continue
        arrays = [
            random_bytes(rng, left, case.left),
            random_bytes(rng, right, case.right),
            zero_points([zero_left], left, 1),
            zero_points(zero_right, right, case.channels),
            *(np.array(1, np.float32),) * 2,
        ]
        flags = [bool(flag) for flag in CONSTANTS[known]]
        module = module_of(case, arrays, flags)
        module.verify()
        given = [array for array, flag in zip(arrays, flags, strict=True) if not flag]
        new = applied(module, LegalizeQuantizedProductsPass(rules="cpu"))
        (found,), (expected,) = interpret(new, given), interpret(module, given)
        np.testing.assert_array_equal(found, expected, f"{left} {right} {zero_left} {zero_right}")
        # Only what is no byte cannot be padded with.
        padded = bool(case.properties.get("padding"))
        known_byte = known != "none" and zero_left != 1000
        assert known_byte or padded or not any(map(is_wide, new.walk()))
        assert not known_byte or not any(map(is_wide, new.walk()))


def is_wide(op: Any) -> bool:
    """Whether an operation is a product of factors of 32 bits."""
    return isinstance(op, PRODUCTS) and any(
        tensor_type(each, "a factor").element_type == i32 for each in op.operands[:2]
    )


def test_sums_of_the_largest_products_do_not_saturate():
    data = np.full((1, 999), -128, np.int8)
    zero, one = np.array(0, np.int32), np.array(1, np.float32)
    arrays = [data, data, zero, zero, one, one]
    module = module_of(Product(QnnDenseOp, (), ()), arrays, [False] * 2 + [True] * 4)
    new = applied(module, LegalizeQuantizedProductsPass(rules="cpu"))
    assert interpret(new, [data, data])[0].item() == 999 * 128 * 128


# -- models ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """A convolution or a matrix product as exporters write it, quantised."""

    form: str
    data: str = "uint8"
    weight: str = "int8"
    zeros: tuple[int, int, int] = (100, 0, 90)
    """The zero points of data, weight and result."""
    scales: tuple[float, float, float] = (0.03, 0.01, 0.4)
    channels: bool = True
    relu: bool = False
    bias: bool = True
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])

    def operands(self) -> tuple[Array, Array, Array]:
        """Data, weight and bias."""
        rng = np.random.default_rng(len(str(self)))
        shapes = {"conv": ((1, 4, 6, 7), (8, 4, 3, 3)), "matmul": ((3, 9), (9, 8))}
        data, weight = shapes[self.form]
        if self.attributes.get("group"):
            weight = (8, 1, 3, 3)
        # Small enough for processors without VNNI, on which onnxruntime saturates pairs.
        small = rng.integers(-60, 61, weight)
        held = small.astype(np.int8) if self.weight == "int8" else (small + 128).astype(np.uint8)
        return (
            random_bytes(rng, self.data, data),
            held,
            rng.integers(-2000, 2000, 8).astype(np.int32),
        )

    def parameters(self) -> tuple[list[Array], list[Array]]:
        """Scales and zero points of data, weight and result."""
        scales = [np.array(each, np.float32) for each in self.scales]
        dtypes = (self.data, self.weight, self.data)
        zeros = [np.array(each, dtype) for each, dtype in zip(self.zeros, dtypes, strict=True)]
        if self.channels:
            scales[1] = scales[1] * np.linspace(0.5, 2, 8, dtype=np.float32)
            zeros[1] = np.full(8, zeros[1])
        return scales, zeros

    def quantized(self) -> tuple[ModelProto, Array]:
        """The one operator of integers."""
        (data, weight, bias), (scales, zeros) = self.operands(), self.parameters()
        first = [scales[0], zeros[0], weight, scales[1], zeros[1], scales[2], zeros[2]]
        if self.form == "conv":
            constants = [*first, bias] if self.bias else first
            return one_node("QLinearConv", [data], constants, **self.attributes), data
        return one_node("QLinearMatMul", [data], first), data

    def fake(self) -> tuple[ModelProto, Array]:
        """The operator on numbers, between conversions."""
        (data, weight, bias), (scales, zeros) = self.operands(), self.parameters()
        held = {"w": weight, "b": bias, "bs": scales[0] * scales[1]}
        held |= {f"s{i}": each for i, each in enumerate(scales)}
        held |= {f"z{i}": each for i, each in enumerate(zeros)}
        axis = {"axis": 0 if self.form == "conv" else 1} if self.channels else {}
        nodes: list[NodeProto] = [
            helper.make_node("DequantizeLinear", ["in0", "s0", "z0"], ["x"]),
            helper.make_node("DequantizeLinear", ["w", "s1", "z1"], ["wf"], **axis),
        ]
        if self.form == "conv":
            bias_axis = {"axis": 0} if self.channels else {}
            nodes += [helper.make_node("DequantizeLinear", ["b", "bs"], ["bf"], **bias_axis)]
            names = ["x", "wf", "bf"] if self.bias else ["x", "wf"]
            nodes += [helper.make_node("Conv", names, ["y"], **self.attributes)]
        else:
            nodes += [helper.make_node("MatMul", ["x", "wf"], ["y"])]
        if self.relu:
            nodes += [helper.make_node("Relu", ["y"], ["r"])]
        ends = ["r" if self.relu else "y", "s2", "z2"]
        nodes += [helper.make_node("QuantizeLinear", ends, ["q"])]
        initializers = [numpy_helper.from_array(np.asarray(a), name) for name, a in held.items()]
        model = build(nodes, [value_info("in0", data)], [untyped("q")], initializers)
        return model, data


PADDED = {"pads": [1, 0, 1, 2]}
LAYERS = [
    Layer("conv", attributes=PADDED),
    Layer("conv", channels=False, attributes={**PADDED, "strides": [2, 1]}),
    Layer("conv", zeros=(0, 0, 0), relu=True, attributes={"pads": [1, 1, 1, 1]}),
    Layer("conv", zeros=(255, 0, 255), attributes=PADDED),
    Layer("conv", data="int8", zeros=(-128, 0, 127), attributes=PADDED),
    Layer("conv", data="int8", zeros=(0, 0, 0), attributes=PADDED, bias=False),
    Layer("conv", weight="uint8", zeros=(100, 128, 90), channels=False, attributes=PADDED),
    Layer("conv", weight="uint8", zeros=(3, 7, 90), channels=False, attributes=PADDED),
    Layer("conv", attributes={"group": 4, "dilations": [2, 1], "pads": [1, 1, 1, 1]}),
    Layer("conv", scales=(1e-20, 1e-20, 1e-3), attributes=PADDED),
    Layer("conv", scales=(1e15, 1e15, 1e-3), attributes=PADDED),
    Layer("conv", scales=(0.5, 0.5, 0.5), attributes=PADDED),
    Layer("matmul"),
    Layer("matmul", channels=False),
    Layer("matmul", data="int8", zeros=(-128, 0, -128)),
    Layer("matmul", weight="uint8", zeros=(9, 131, 200), channels=False),
]


def names(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in module.walk()]


@pytest.mark.parametrize("layer", LAYERS, ids=range(len(LAYERS)))
def test_layers_are_what_onnxruntime_computes_with_integers(layer: Layer):
    (exact, data), (fake, _) = layer.quantized(), layer.fake()
    (expected,) = by_onnxruntime(exact, [data])
    if layer.relu:
        expected = np.maximum(expected, layer.parameters()[1][2])
    for model in (fake,) if layer.relu else (exact, fake):
        module = applied(import_model(model), CpuPipelinePass())
        (found,) = interpret(module, [data])
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        assert not any(is_wide(op) for op in module.walk())
        assert not {"qnn.quantize", "qnn.dequantize", "qnn.requantize"} & set(names(module))
        weights = [op for op in module.walk() if isinstance(op, ConstantOp)]
        assert not [op for op in weights if op.result.type.get_num_dims() == 4 and is_real(op)]


def is_real(op: ConstantOp) -> bool:
    return str(op.result.type.element_type) == "f32" and np.prod(op.result.type.get_shape()) > 8


MOVES: list[tuple[str, dict[str, Any]]] = [
    ("MaxPool", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}),
    ("Transpose", {"perm": [0, 2, 3, 1]}),
    ("Flatten", {}),
    ("Relu", {}),
    ("Clip", {}),
    ("Identity", {}),
    ("DepthToSpace", {"blocksize": 2}),
    ("GlobalMaxPool", {}),
]


@pytest.mark.parametrize("dtype, zero", [("uint8", 0), ("uint8", 200), ("int8", -5)])
@pytest.mark.parametrize("op, attributes", MOVES, ids=[case[0] for case in MOVES])
def test_what_moves_integers_needs_no_numbers(
    op: str, attributes: dict[str, Any], dtype: str, zero: int
):
    data = random_bytes(np.random.default_rng(3), dtype, (1, 4, 6, 6))
    held = {"s": np.array(0.1, np.float32), "z": np.array(zero, dtype)}
    held |= {"low": np.array(-1, np.float32), "high": np.array(2.04, np.float32)}
    inputs = ["x", "low", "high"] if op == "Clip" else ["x"]
    nodes = [
        helper.make_node("DequantizeLinear", ["in0", "s", "z"], ["x"]),
        helper.make_node(op, inputs, ["y"], **attributes),
        helper.make_node("QuantizeLinear", ["y", "s", "z"], ["q"]),
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in held.items()]
    model = build(nodes, [value_info("in0", data)], [untyped("q")], initializers)
    module = import_model(model)
    new = applied(module, FakeQuantizationToIntegerPass(rules="cpu"))
    assert not any(name.startswith("qnn.") for name in names(new))
    np.testing.assert_array_equal(interpret(new, [data])[0], interpret(module, [data])[0])
    np.testing.assert_array_equal(interpret(new, [data])[0], by_onnxruntime(model, [data])[0])


def fake_function(names: Sequence[str], dtype: str, *, between: bool) -> tuple[ModelProto, Array]:
    """Functions of bytes one after the other, quantised in between or not, and the product with the first operand."""
    limits = np.iinfo(dtype)
    data = np.arange(limits.min, limits.max + 1).astype(dtype)
    held = {"s": np.array(0.03, np.float32), "z": np.array(limits.min + 100, dtype)}
    nodes = [helper.make_node("DequantizeLinear", ["in0", "s", "z"], ["x"])]
    value = "x"
    for number, name in enumerate(names):
        nodes.append(helper.make_node(name, [value], [f"y{number}"]))
        value = f"y{number}"
        if between:
            nodes.append(helper.make_node("QuantizeLinear", [value, "s", "z"], [f"q{number}"]))
            nodes.append(
                helper.make_node("DequantizeLinear", [f"q{number}", "s", "z"], [f"x{number}"])
            )
            value = f"x{number}"
    nodes.append(helper.make_node("Mul", ["x", value], ["product"]))
    nodes.append(helper.make_node("QuantizeLinear", ["product", "s", "z"], ["q"]))
    initializers = [numpy_helper.from_array(array, name) for name, array in held.items()]
    return build(nodes, [value_info("in0", data)], [untyped("q")], initializers), data


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("functions", [["Sigmoid"], ["Tanh", "Neg", "Exp"], ["Erf", "Abs", "Erf"]])
def test_functions_of_bytes_are_looked_up(functions: list[str], between: bool, dtype: str):
    model, data = fake_function(functions, dtype, between=between)
    module = import_model(model)
    new = applied(module, FakeQuantizationToIntegerPass(rules="cpu"))
    assert [name for name in names(new) if name not in ("constant", "builtin.module")] == [
        *("func.func", "qnn.lookup", "func.return")
    ]
    np.testing.assert_array_equal(interpret(new, [data])[0], interpret(module, [data])[0])


def test_what_is_cheap_or_no_function_of_bytes_is_computed():
    model, _ = fake_function(["Neg"], "uint8", between=False)
    module = applied(import_model(model), FakeQuantizationToIntegerPass(rules="cpu"))
    assert "qnn.lookup" not in names(module)
    data = random_bytes(np.random.default_rng(5), np.uint8, (2, 8))
    held = {"s": np.array(0.03, np.float32), "z": np.array(9, np.uint8)}
    held["v"] = np.linspace(-1, 1, 8, dtype=np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["in0", "s", "z"], ["x"]),
        helper.make_node("Add", ["x", "v"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("QuantizeLinear", ["b", "s", "z"], ["q"]),
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in held.items()]
    model = build(nodes, [value_info("in0", data)], [untyped("q")], initializers)
    module = applied(import_model(model), FakeQuantizationToIntegerPass(rules="cpu"))
    assert "qnn.lookup" not in names(module)


def test_numbers_with_several_users_are_kept_as_bytes():
    """Each user dequantizes for itself: what lies in memory between groups are bytes."""
    data = random_bytes(np.random.default_rng(4), np.uint8, (1, 3, 5, 5))
    held = {"s": np.array(0.1, np.float32), "z": np.array(7, np.uint8)}
    nodes = [
        helper.make_node("DequantizeLinear", ["in0", "s", "z"], ["x"]),
        helper.make_node("Sigmoid", ["x"], ["a"]),
        helper.make_node("Tanh", ["x"], ["b"]),
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in held.items()]
    model = build(nodes, [value_info("in0", data)], [untyped("a"), untyped("b")], initializers)
    module = applied(import_model(model), CpuPipelinePass())
    bytes_to_numbers = [op for op in module.walk() if isinstance(op, CastOp)]
    assert len(bytes_to_numbers) == 2
    for found, expected in zip(
        interpret(module, [data]), by_onnxruntime(model, [data]), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_what_depends_on_the_end_of_a_region_is_made_for_each():
    """Of two ends of one product: its left operand is a function in the integers of the end, its right one is not."""
    random = np.random.default_rng(6)
    data = random.integers(100, 150, (1, 4, 3, 3)).astype(np.uint8)
    weight = random.integers(100, 150, (5, 4, 2, 2)).astype(np.uint8)
    held = {"s": np.array(0.1, np.float32), "z": np.array(120, np.uint8), "w": weight}
    scales = {"a": np.array(0.02, np.float32), "b": np.array(0.05, np.float32)}
    before = [
        helper.make_node("DequantizeLinear", ["in0", "s", "z"], ["x"]),
        helper.make_node("Sigmoid", ["x"], ["y"]),
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["v"]),
        helper.make_node("Conv", ["y", "v"], ["p"]),
    ]

    def integers(*ends: str) -> ModuleOp:
        nodes = [helper.make_node("QuantizeLinear", ["p", f"s{end}", "z"], [end]) for end in ends]
        arrays = {**held, **{f"s{end}": scales[end] for end in ends}}
        stored = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
        outputs = [untyped(end) for end in ends]
        model = build([*before, *nodes], [value_info("in0", data)], outputs, stored)
        return applied(import_model(model), FakeQuantizationToIntegerPass())

    both = integers("a", "b")
    assert names(both).count("qnn.sigmoid") == 2 and "sigmoid" not in names(both)
    wanted = [*interpret(integers("a"), [data]), *interpret(integers("b"), [data])]
    for found, expected in zip(interpret(both, [data]), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
