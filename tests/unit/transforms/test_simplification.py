"""Simplification passes keep the meaning of a program: the interpreter is the oracle."""

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.nn.norm import BatchNormOp, DropoutOp, LayerNormOp
from xrelay.dialects.tensor.binary import AddOp, BroadcastBinaryOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp
from xrelay.dialects.tensor.unary import ExpOp
from xrelay.interpreters.arrays import BFLOAT16, type_of
from xrelay.interpreters.constants import constant_op
from xrelay.interpreters.numerics import highest, is_float, lowest
from xrelay.interpreters.relay import interpret
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.simplify_expr import SimplifyExprPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass, SkipDropout

Array = npt.NDArray[Any]


def module_of(block: Block, result: SSAValue) -> ModuleOp:
    block.add_op(func.ReturnOp(result))
    type_ = FunctionType.from_lists(block.arg_types, [result.type])
    return ModuleOp([func.FuncOp("main", type_, Region(block))])


def test_inference_is_simplified_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule takes what another makes: what is new is not looked at, and nothing twice."""
    seen: list[str] = []

    def look(_: SkipDropout, op: Operation, rewriter: PatternRewriter) -> None:
        seen.append(op.name)

    monkeypatch.setattr(SkipDropout, "match_and_rewrite", look)
    data = np.zeros((2, 3), np.float32)
    block = Block(arg_types=[type_of(data), type_of(data[0]), type_of(data[0])])
    norm = LayerNormOp(*block.args)
    block.add_op(norm)
    module = module_of(block, norm.result)
    SimplifyInferencePass().apply(Context(), module)
    assert "relay.variance" in [op.name for op in module.walk()]
    assert seen == ["func.func", "relay.nn.layer_norm", "func.return"]


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_norm(axis: int, scale: bool, center: bool, dtype: npt.DTypeLike):
    generator = np.random.default_rng(0)
    data = generator.standard_normal((2, 3, 5, 4)).astype(dtype)
    channels = data.shape[axis]
    gamma, beta, mean = (generator.standard_normal(channels).astype(dtype) for _ in range(3))
    variance = generator.uniform(0.1, 2.0, channels).astype(dtype)
    arrays = [data, gamma, beta, mean, variance]
    block = Block(arg_types=[type_of(array) for array in arrays])
    norm = BatchNormOp(*block.args, axis=axis, scale=scale, center=center)
    first = TupleGetItemOp(norm, 0)
    block.add_ops([norm, first])
    module = module_of(block, first.result)
    (expected,) = interpret(module, arrays)
    SimplifyInferencePass().apply(Context(), module)
    module.verify()
    assert not any(isinstance(op, BatchNormOp) for op in module.walk())
    (found,) = interpret(module, arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_dropout_in_a_chain_disappears():
    data = np.ones((2, 2), np.float32)
    block = Block(arg_types=[type_of(data)])
    first = DropoutOp(block.args[0])
    kept = TupleGetItemOp(first, 0)
    second = DropoutOp(kept)
    again = TupleGetItemOp(second, 0)
    block.add_ops([first, kept, second, again])
    module = module_of(block, again.result)
    SimplifyInferencePass().apply(Context(), module)
    assert [op.name for op in block.ops] == ["func.return"]


def random_program(seed: int) -> tuple[ModuleOp, list[Array]]:
    """Operators on constants and one input, in a random order of use."""
    generator = np.random.default_rng(seed)
    data = generator.standard_normal((2, 4)).astype(np.float32)
    block = Block(arg_types=[type_of(data)])
    values: list[SSAValue] = [block.args[0]]
    for _ in range(3):
        constant = constant_op(generator.standard_normal((2, 4)).astype(np.float32))
        block.add_op(constant)
        values.append(constant.result)
    for _ in range(12):
        left, right = (values[i] for i in generator.integers(0, len(values), 2))
        match generator.integers(0, 4):
            case 0:
                op = AddOp(left, right)
            case 1:
                op = MultiplyOp(left, right)
            case 2:
                op = ExpOp(left)
                block.add_op(op)
                op = MultiplyOp(op, right)
            case _:
                split = SplitOp(left, 2, axis=1)
                parts = [TupleGetItemOp(split, 1), TupleGetItemOp(split, 0)]
                joined = TupleOp(parts)
                block.add_ops([split, *parts, joined])
                op = ConcatenateOp(joined, axis=1)
        block.add_op(op)
        values.append(op.result)
    return module_of(block, values[-1]), [data]


@pytest.mark.parametrize("seed", range(30))
def test_fold_constant_keeps_results(seed: int):
    module, inputs = random_program(seed)
    (expected,) = interpret(module, inputs)
    FoldConstantPass().apply(Context(), module)
    module.verify()
    (found,) = interpret(module, inputs)
    np.testing.assert_array_equal(found, expected)
    for op in module.walk():
        operands = [operand for operand in op.operands if isinstance(operand.owner, ConstantOp)]
        if op.name.startswith("relay.") and op.operands and not isinstance(op, TupleOp):
            assert len(operands) < len(op.operands), f"{op.name} is left with constants only"


def test_large_results_of_large_constants_are_folded():
    array = np.random.default_rng(0).standard_normal((600, 600)).astype(np.float32)
    block = Block()
    constant = constant_op(array)
    exp = ExpOp(constant)
    block.add_ops([constant, exp])
    module = module_of(block, exp.result)
    FoldConstantPass(max_bytes=16).apply(Context(), module)
    assert [op.name for op in block.ops] == ["relay.constant", "func.return"]
    np.testing.assert_array_equal(interpret(module, [])[0], np.exp(array))


NUMBERS = (np.bool_, np.uint8, np.int8, np.uint64, np.int64, np.float16, BFLOAT16, np.float32)


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("last", [AddOp, SubtractOp, MultiplyOp, DivideOp])
def test_algebra_of_all_dtypes(dtype: npt.DTypeLike, last: type[BroadcastBinaryOp]):
    """Two operators with a constant each, on either side: the extremes of the type too."""
    numbers = special_values(dtype)
    for first in (SubtractOp, MultiplyOp):
        for one, two, left in product(numbers[-2:], numbers[1:], (False, True)):
            block = Block(arg_types=[type_of(numbers)])
            inner, outer = constant_op(np.asarray(one)), constant_op(np.asarray(two))
            made = first(block.args[0], inner)
            result = last(outer, made) if left else last(made, outer)
            block.add_ops([inner, outer, made, result])
            module = module_of(block, result.result)
            with np.errstate(all="ignore"):
                (expected,) = interpret(module, [numbers])
                SimplifyExprPass(rules="cpu").apply(Context(), module)
                module.verify()
                (found,) = interpret(module, [numbers])
            assert found.dtype == expected.dtype
            exact = np.float64 if is_float(found.dtype) else found.dtype
            np.testing.assert_array_equal(found.astype(exact), expected.astype(exact))


def special_values(dtype: npt.DTypeLike) -> Array:
    """0, 1, a small number and the extremes of a type."""
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return np.array([False, True])
    return np.array([0, 1, 3, highest(kind), lowest(kind)], kind)
