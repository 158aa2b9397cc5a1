"""Products of matrices, and reductions along axes, against onnxruntime or NumPy."""

import pytest
from onnx_models import Samples, check, kinds, longs, one_node

from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(7)
floats, integers = SAMPLES.floats, SAMPLES.integers


# Matrix products


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [None, (), (5,), (1,), (3, 1), (3, 5)])
def test_gemm(trans_a: int, trans_b: int, bias: tuple[int, ...] | None):
    a, b = floats(3, 4), floats(4, 5)
    constants = [b.T.copy() if trans_b else b] + ([] if bias is None else [floats(*bias)])
    for factors in ({}, {"alpha": 0.5, "beta": 0.25}):
        data = [a.T.copy() if trans_a else a]
        check("Gemm", data, constants, transA=trans_a, transB=trans_b, **factors)


def test_gemm_as_dense():
    model = one_node("Gemm", [floats(3, 4)], [floats(5, 4), floats(5)], transB=1)
    assert kinds(model) == ["nn.dense", "nn.bias_add"]


def test_gemm_of_integers():
    a, b = integers(3, 4, dtype="int32"), integers(4, 5, dtype="int32")
    check("Gemm", [a, b], alpha=2.0, expected=2 * (a @ b))
    with pytest.raises(OnnxImportError, match="'alpha' 0.5"):
        import_model(one_node("Gemm", [a, b], alpha=0.5))


def test_legacy_gemm():
    a, b, c = floats(3, 4), floats(4, 5), floats(5)
    check("Gemm", [a, b, c], opset=6, broadcast=1, expected=a @ b + c)


@pytest.mark.parametrize(
    "lhs, rhs",
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((2, 1, 3, 4), (6, 4, 5)),
        ((2, 6, 3, 4), (2, 6, 4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((0, 4), (4, 5)),
    ],
)
def test_matmul(lhs: tuple[int, ...], rhs: tuple[int, ...]):
    check("MatMul", [floats(*lhs), floats(*rhs)])


# Reductions


REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
]


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axes", [None, [1], [0, -1]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 18])
def test_reduction(op: str, axes: list[int] | None, keepdims: int, opset: int):
    by_input = opset == 18
    constants = [longs(*axes)] if by_input and axes is not None else []
    options = {"axes": axes} if not by_input and axes is not None else {}
    check(op, [floats(2, 3, 4)], constants, opset=opset, keepdims=keepdims, **options)


def test_reduction_without_axes():
    for constants in ([longs()], []):
        check("ReduceSum", [floats(2, 3)], constants, noop_with_empty_axes=0)
        check("ReduceSum", [floats(2, 3)], constants, noop_with_empty_axes=1)


def test_mean_of_integers():
    check("ReduceMean", [integers(3, 4, low=0, high=99, dtype="int32")], opset=11, axes=[1])


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("options", [{}, {"axis": -1, "keepdims": 0}, {"select_last_index": 1}])
def test_extreme_index(op: str, options: dict[str, int]):
    check(op, [integers(5, 6, low=0, high=3, dtype="int32")], **options)
