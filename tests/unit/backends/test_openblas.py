"""Products by OpenBLAS: what the contract tests do not reach, conditions, and regions of programs."""

import ctypes
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines.needed import needs_openblas
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

import xrelay
from xrelay.analysis.facts.names import short_name
from xrelay.analysis.partition.compilers import No
from xrelay.backends.base import Array, RegionOptions
from xrelay.backends.discovery import find_backend
from xrelay.backends.openblas import PACKAGE, Library
from xrelay.backends.region_builder import RegionBuilder
from xrelay.backends.regions import compile_region, nested, region_operators
from xrelay.compiler import context
from xrelay.contract import check, contract_cases, patterns_without_example
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.interpreters.relay import interpret
from xrelay.partitioned import compiler_of, find_backends, partition
from xrelay.runtime.arguments import few

pytestmark = needs_openblas

Make = dict[str, object]


def results(build: RegionBuilder, result: SSAValue, threads: int = 1) -> tuple[Array, Array]:
    """What the backend and the interpreter compute."""
    function = build.function([result])
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    (right,) = interpret(module, nested(build.inputs, function.function_type.inputs.data), "region")
    found = np.full_like(right, 77)
    region = compile_region(find_backend("openblas"), function, RegionOptions(threads))
    region(build.inputs, [found])
    return found, right


def test_contract() -> None:
    backend = find_backend("openblas")
    cases = list(contract_cases(backend))
    assert len(cases) >= 30 and not patterns_without_example(backend)
    for case in cases:
        check(case, backend)


def test_threads_of_products() -> None:
    """What the library itself says of them, after each change."""
    package: Any = import_module(PACKAGE)
    (path,) = Path(package.get_lib_dir()).glob(f"lib{package.get_library()}.*")
    count = ctypes.CDLL(str(path)).scipy_openblas_get_num_threads64_
    before, found = count(), list[int]()
    for threads in (1, 2, 2, 1):
        Library().use_threads(threads)
        found.append(count())
    Library().use_threads(before)
    assert found == [1, 2, 2, 1]


CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], Make]] = [
    ((1, 3, 5, 6), (4, 3, 1, 1), {}),
    ((2, 3, 5, 6), (4, 3, 1, 1), {"strides": (2, 1)}),
    ((2, 3, 7, 6), (4, 3, 3, 2), {"padding": (1, 0, 2, 3)}),
    ((1, 2, 9, 8), (3, 2, 3, 3), {"strides": (2, 3), "dilation": (2, 1), "padding": (2, 1)}),
    ((1, 2, 4, 4), (3, 2, 1, 1), {"padding": (1, 1)}),
]


@pytest.mark.parametrize(("image", "weight", "options"), CONVOLUTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_convolutions(
    image: tuple[int, ...], weight: tuple[int, ...], options: Make, dtype: str
) -> None:
    build = RegionBuilder()
    data, kernel = build.input(build.array(dtype, *image)), build.input(build.array(dtype, *weight))
    found, right = results(build, build.op(Conv2DOp(data, kernel, **options)), threads=2)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("batches", [(), (3,), (1, 4), (4, 1), (2, 2)], ids=str)
def test_transposed_products(first: bool, second: bool, batches: tuple[int, ...]) -> None:
    build = RegionBuilder()
    left, right = (5, 2) if first else (2, 5), (7, 5) if second else (5, 7)
    if len(batches) == 2:
        operator, shapes = (
            BatchMatmulOp,
            [(n, *s) for n, s in zip(batches, (left, right), strict=True)],
        )
    else:
        operator, shapes = MatmulOp, [(*batches, *left), right]
    a, b = (build.input(build.array("float32", *shape)) for shape in shapes)
    product = operator(a, b, transpose_a=first, transpose_b=second)
    np.testing.assert_allclose(*results(build, build.op(product)), rtol=1e-4, atol=1e-5)


def dense(dtypes: tuple[str, str], *shapes: tuple[int, ...]) -> Operation:
    build = RegionBuilder()
    a, b = (build.input(build.array(d, *s)) for d, s in zip(dtypes, shapes, strict=True))
    return DenseOp(a, b)


def conv(groups: int, **options: object) -> Operation:
    build = RegionBuilder()
    data = build.input(build.array("float32", 1, 4, 4, 4))
    weight = build.input(build.array("float32", 4, 4 // groups, 1, 1))
    return Conv2DOp(data, weight, groups=groups, **options)


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (dense(("float16", "float16"), (2, 3), (4, 3)), "f32 with f32, and f64 with f64"),
        (dense(("int32", "int32"), (2, 3), (4, 3)), "f32 with f32, and f64 with f64"),
        (dense(("float32", "float32"), (0, 3), (4, 3)), "there is nothing to multiply"),
        (dense(("float32", "float32"), (2, 0), (4, 0)), "there is nothing to multiply"),
        (conv(2), "convolutions are of one group"),
        (conv(1, data_layout="NHWC", kernel_layout="OIHW"), "of images NCHW with filters OIHW"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_what_it_refuses(op: Operation, reason: str) -> None:
    answer = find_backend("openblas").supports(op, op.operand_types)
    assert isinstance(answer, No) and reason in answer.reason


PROGRAM = """
func.func @main(%x: tensor<2x4xf32>, %i: tensor<1x2x3x3xf32>) -> (tensor<2x3xf32>, tensor<1x5x3x3xf32>, tensor<2x3xf32>, tensor<2x2xf32>) {
  %e = relay.constant dense<0.25> : tensor<2x3xf32>
  %f = relay.constant dense<0.75> : tensor<2x2xf32>
  %w = relay.constant dense<1.5> : tensor<3x4xf32>
  %b = relay.constant dense<[-9.0, 0.5, 1.0]> : tensor<3xf32>
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = relay.nn.relu %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %k = relay.constant dense<0.5> : tensor<5x2x1x1xf32>
  %c = relay.constant dense<[1.0, -2.0, 3.0, -4.0, 5.0]> : tensor<5xf32>
  %3 = relay.nn.conv2d %i, %k : (tensor<1x2x3x3xf32>, tensor<5x2x1x1xf32>) -> tensor<1x5x3x3xf32>
  %4 = relay.nn.bias_add %3, %c : (tensor<1x5x3x3xf32>, tensor<5xf32>) -> tensor<1x5x3x3xf32>
  %d = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %5 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %6 = relay.nn.bias_add %5, %d {axis = 0} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %7 = relay.nn.dense %6, %e : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %8 = relay.add %7, %d : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %9 = relay.nn.dense %8, %f : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %10 = relay.add %f, %9 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2, %4, %6, %10 : tensor<2x3xf32>, tensor<1x5x3x3xf32>, tensor<2x3xf32>, tensor<2x2xf32>
}
"""


def test_products_of_a_program() -> None:
    """What is added along columns, or channels, or everywhere, is part of the product; along rows it is not."""
    module = Parser(context(), PROGRAM).parse_module()
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in ((2, 4), (1, 2, 3, 3))]
    right = interpret(module, inputs)
    partition(module, find_backends(["openblas"]))
    taken = [
        short_name(op)
        for function in module.ops
        if isinstance(function, func.FuncOp) and compiler_of(function) == "openblas"
        for op in region_operators(function)
    ]
    expected = [
        *("openblas.dense_bias_relu", "openblas.dense_bias", "openblas.dense_bias"),
        *("openblas.conv2d_bias", "nn.dense"),
    ]
    assert sorted(taken) == sorted(expected), few(taken)
    model = xrelay.compile(
        Parser(context(), PROGRAM).parse_module(), backends=["openblas"], cache=False
    )
    found = model.run({"x": inputs[0], "i": inputs[1]})
    for ours, wanted in zip(found.values(), right, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)
