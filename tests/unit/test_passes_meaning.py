"""Graph preparation keeps the meaning of programs: the interpreter is the oracle."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from xrelay.dialects.binary import AddOp, DivideOp, MultiplyOp, PowerOp, SubtractOp
from xrelay.dialects.conv import Conv2DOp
from xrelay.dialects.core import TupleGetItemOp
from xrelay.dialects.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.norm import (
    BatchNormOp,
    BiasAddOp,
    GroupNormOp,
    InstanceNormOp,
    LayerNormOp,
    SoftmaxOp,
)
from xrelay.dialects.pool import AvgPool2DOp, MaxPool2DOp
from xrelay.dialects.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.transform import PadOp, SplitOp, StridedSliceOp, TransposeOp
from xrelay.dialects.unary import ClipOp, LeakyReluOp, ReluOp, TanhOp
from xrelay.interpreters.arrays import constant_op, type_of
from xrelay.interpreters.relay import interpret
from xrelay.transforms.canonicalize_matmul import CanonicalizeMatmulPass
from xrelay.transforms.combine_parallel_batch_matmul import CombineParallelBatchMatmulPass
from xrelay.transforms.combine_parallel_conv2d import CombineParallelConv2DPass
from xrelay.transforms.combine_parallel_dense import CombineParallelDensePass
from xrelay.transforms.cpu_pipeline import CpuPipelinePass
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from xrelay.transforms.fold_explicit_padding import FoldExplicitPaddingPass
from xrelay.transforms.fold_scale_axis import FoldScaleAxisPass
from xrelay.transforms.recognize_operators import RecognizeOperatorsPass
from xrelay.transforms.simplify_expr import SimplifyExprPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass
from xrelay.transforms.sink_reshape import SinkReshapePass

Array = npt.NDArray[Any]
PASSES: list[ModulePass] = [
    CanonicalizeMatmulPass(),
    CombineParallelBatchMatmulPass(min_num_branches=2),
    CombineParallelConv2DPass(min_num_branches=2),
    CombineParallelDensePass(min_num_branches=2),
    CpuPipelinePass(),
    DeadCodeEliminationPass(),
    EliminateCommonSubexprPass(),
    FoldExplicitPaddingPass(),
    FoldScaleAxisPass(),
    RecognizeOperatorsPass(composites=True, attention=True),
    SimplifyExprPass(),
    SimplifyExprPass(reassociate=True, ignore_signed_zeros=True),
    SimplifyInferencePass(),
    SinkReshapePass(),
]

UNCHANGED = {
    "image": {
        "canonicalize-matmul",
        "combine-parallel-batch-matmul",
        "combine-parallel-dense",
        "recognize-operators",
        "simplify-expr",
        "sink-reshape",
    },
    "sequence": {"combine-parallel-conv2d", "fold-explicit-padding"},
}
"""The passes that find nothing to do in the programs of a kind."""


class Program:
    """A function under construction, with a stock of values to go on from."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.block = Block()
        self.inputs: list[Array] = []

    def floats(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(np.float32)

    def input(self, *shape: int) -> SSAValue:
        array = self.floats(*shape)
        self.inputs.append(array)
        return self.block.insert_arg(type_of(array), len(self.block.args))

    def constant(self, *shape: int) -> SSAValue:
        return self.op(constant_op(self.floats(*shape)))

    def number(self, value: float) -> SSAValue:
        return self.op(constant_op(np.asarray(value, np.float32)))

    def op(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def pick(self, values: list[Any]) -> Any:
        return values[self.rng.integers(len(values))]

    def module(self, results: list[SSAValue]) -> ModuleOp:
        self.block.add_op(func.ReturnOp(*results))
        type_ = FunctionType.from_lists(self.block.arg_types, [value.type for value in results])
        module = ModuleOp([func.FuncOp("main", type_, Region(self.block))])
        module.verify()
        return module


def elementwise(p: Program, x: SSAValue, vector: tuple[int, ...]) -> SSAValue:
    """One operator on x, with constants of the shape `vector` or scalars."""
    operand = p.constant(*vector) if p.rng.integers(2) else p.number(p.pick([0.5, 2, -1, 1, 0]))
    match p.rng.integers(10):
        case 0:
            return p.op(ReluOp(x))
        case 1:
            return p.op(LeakyReluOp(x, 0.1))
        case 2 | 3:
            return p.op(AddOp(x, operand))
        case 4 | 5 | 6:
            return p.op(MultiplyOp(*p.pick([(x, operand), (operand, x)])))
        case 7:
            return p.op(SubtractOp(*p.pick([(x, operand), (operand, x)])))
        case 8:
            return p.op(DivideOp(x, p.number(p.pick([4, 3, 1]))))
        case _:
            return p.op(TanhOp(x))


def image_program(seed: int) -> tuple[ModuleOp, list[Array]]:
    """Convolutions, pooling, pads, normalisation and elementwise operators on images."""
    p = Program(seed)
    channels = 4
    values = [p.input(1, channels, 6, 6)]
    for _ in range(10):
        x = p.pick(values[-3:])
        match p.rng.integers(9):
            case 0 | 1:
                groups = p.pick([1, 1, 2, channels])
                weight = p.constant(channels, channels // groups, 3, 3)
                data = x
                x = p.op(Conv2DOp(data, weight, padding=[1, 1], groups=groups))
                if groups == 1:
                    second = p.constant(channels, channels, 3, 3)
                    x = p.op(AddOp(x, p.op(Conv2DOp(data, second, padding=[1, 1]))))
                if p.rng.integers(2):
                    x = p.op(BiasAddOp(x, p.constant(channels)))
            case 2:
                wide = p.op(PadOp(x, p.number(0), [(0, 0), (0, 0), (1, 1), (1, 1)]))
                x = p.op(Conv2DOp(wide, p.constant(channels, channels, 3, 3)))
            case 3:
                value = p.pick([0, -np.inf])
                wide = p.op(PadOp(x, p.number(value), [(0, 0), (0, 0), (1, 1), (1, 1)]))
                x = p.op(MaxPool2DOp(wide, [3, 3]))
            case 4:
                wide = p.op(PadOp(x, p.number(0), [(0, 0), (0, 0), (1, 1), (1, 1)]))
                x = p.op(AvgPool2DOp(wide, [3, 3]))
            case 5:
                vectors = [p.constant(channels) for _ in range(3)]
                positive = p.op(constant_op(np.abs(p.floats(channels)) + 0.5))
                norm = p.op(BatchNormOp(x, *vectors, positive))
                x = p.op(TupleGetItemOp(norm, 0))
            case 6:
                kind = p.pick([InstanceNormOp, GroupNormOp])
                options = {"num_groups": 2} if kind is GroupNormOp else {}
                x = p.op(kind(x, p.constant(channels), p.constant(channels), **options))
            case 7:
                x = p.op(AddOp(elementwise(p, x, ()), p.pick(values)))
            case _:
                for _ in range(4):
                    x = elementwise(p, x, (channels, 1, 1))
        values.append(x)
    return p.module([values[-1], p.pick(values)]), p.inputs


def sequence_program(seed: int) -> tuple[ModuleOp, list[Array]]:
    """Matrix products, reshapes, transposes, normalisation and softmax on sequences."""
    p = Program(seed)
    batch, rows, width = p.pick([1, 2]), 3, 4
    values = [p.input(batch, rows, width)]
    for _ in range(10):
        x = p.pick(values[-3:])
        match p.rng.integers(9):
            case 0 | 1:
                flat = p.op(ReshapeOp(x, [batch * rows, width]))
                product = p.op(MatmulOp(flat, p.constant(width, width)))
                x = p.op(ReshapeOp(product, [batch, rows, width]))
                x = p.op(AddOp(p.constant(width), x))
            case 2:
                x = p.op(BatchMatmulOp(x, p.constant(1, width, width)))
            case 3:
                branches = [p.op(DenseOp(x, p.constant(width, width))) for _ in range(3)]
                if p.rng.integers(2):
                    branches = [p.op(BiasAddOp(b, p.constant(width), axis=-1)) for b in branches]
                x = p.op(AddOp(p.op(MultiplyOp(branches[0], branches[1])), branches[2]))
            case 4:
                keys = p.pick(values), p.pick(values)
                first, second = (p.op(BatchMatmulOp(x, key, transpose_b=True)) for key in keys)
                scores = p.op(SubtractOp(first, second)) if p.rng.integers(2) else first
                weights = p.op(SoftmaxOp(p.op(DivideOp(scores, p.number(2)))))
                x = p.op(BatchMatmulOp(weights, x))
            case 5:
                x = p.op(LayerNormOp(x, p.constant(width), p.constant(width)))
            case 6:
                heads = p.op(ReshapeOp(x, [batch, rows, 2, width // 2]))
                moved = p.op(TransposeOp(heads, [0, 2, 1, 3]))
                back = p.op(TransposeOp(p.op(TanhOp(moved)), [0, 2, 1, 3]))
                x = p.op(ReshapeOp(back, [batch, rows, width]))
            case 7:
                expanded = p.op(ExpandDimsOp(x, 1))
                split = p.op(SplitOp(expanded, 2, axis=3))
                parts = [p.op(TupleGetItemOp(split, i)) for i in (1, 0)]
                small = p.op(SqueezeOp(p.op(MultiplyOp(*parts)), [1]))
                x = p.op(AddOp(x, p.op(StridedSliceOp(small, [0], [1], axes=[2]))))
            case _:
                for _ in range(3):
                    x = elementwise(p, x, (width,))
        values.append(p.op(ClipOp(x, -10, 10)) if p.rng.integers(3) == 0 else x)
    return p.module([values[-1], p.pick(values)]), p.inputs


def require_same(found: tuple[Array, ...], expected: tuple[Array, ...]) -> None:
    """Equal up to rounding, relative to the largest element."""
    for result, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.isnan(result), np.isnan(wanted))
        finite = wanted[np.isfinite(wanted)]
        scale = float(np.max(np.abs(finite))) if finite.size else 1.0
        np.testing.assert_allclose(result, wanted, 2e-3, 2e-3 * scale + 1e-6)


@pytest.mark.parametrize("program", [image_program, sequence_program], ids=lambda f: f.__name__)
@pytest.mark.parametrize("each", PASSES, ids=str)
def test_results_stay(each: ModulePass, program: Callable[[int], tuple[ModuleOp, list[Array]]]):
    changes = 0
    for seed in range(10):
        module, inputs = program(seed)
        before = str(module)
        expected = interpret(module, inputs)
        each.apply(Context(), module)
        module.verify()
        require_same(interpret(module, inputs), expected)
        once = str(module)
        changes += once != before
        each.apply(Context(), module)
        module.verify()
        if not isinstance(each, CpuPipelinePass):
            assert str(module) == once, f"{each.name} is not idempotent (seed {seed})"
    kind = "image" if program is image_program else "sequence"
    assert changes or each.name in UNCHANGED[kind]


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("axis", [(4, 1, 1), ()], ids=["channels", "number"])
def test_scale_before_grouped_convolution_disappears(groups: int, axis: tuple[int, ...]):
    p = Program(groups)
    positive = p.op(constant_op(np.abs(p.floats(*axis)) + 0.5))
    scaled = p.op(MultiplyOp(p.input(1, 4, 5, 5), positive))
    result = p.op(Conv2DOp(p.op(ReluOp(scaled)), p.constant(8, 4 // groups, 3, 3), groups=groups))
    module = p.module([result])
    expected = interpret(module, p.inputs)
    FoldScaleAxisPass(directions=("forward",)).apply(Context(), module)
    module.verify()
    require_same(interpret(module, p.inputs), expected)
    images = [
        op for op in module.walk() if isinstance(op, MultiplyOp) and op.lhs is p.block.args[0]
    ]
    assert not images


def test_exact_rules_keep_special_values():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38, -3e38, 1.5], np.float32)
    for seed in range(40):
        p = Program(seed)
        x: SSAValue = p.block.insert_arg(type_of(special), 0)
        for _ in range(4):
            number = p.number(p.pick([0, -0.0, 1, 2, 4, 0.5, np.inf, np.nan, -2]))
            match p.rng.integers(5):
                case 0:
                    x = p.op(AddOp(*p.pick([(x, number), (number, x)])))
                case 1:
                    x = p.op(MultiplyOp(*p.pick([(x, number), (number, x)])))
                case 2:
                    x = p.op(DivideOp(x, number))
                case 3:
                    x = p.op(SubtractOp(x, number))
                case _:
                    x = p.op(PowerOp(x, p.number(p.pick([1, 2]))))
        module = p.module([x])
        (expected,) = interpret(module, [special])
        SimplifyExprPass().apply(Context(), module)
        (found,) = interpret(module, [special])
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(
            found[numbers].view(np.int32), expected[numbers].view(np.int32)
        )
