"""
Programs for fusion, and what plans say of them: built operation by operation, and random ones of all kinds of operators
on square matrices, where a wrong axis does not show in a shape, with shared values.
"""

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType, f32, f64
from xdsl.ir import Block, Operation, Region, SSAValue

from xrelay.analysis.fusion.graph import Refusal
from xrelay.analysis.fusion.plan import FusionOptions, FusionPlan, plan_fusion
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp, SoftmaxOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, SumOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import CastOp, ExpOp, NegativeOp, ReluOp, TanhOp

FUSE = FusionOptions(opt_level=2)

# Programs that are built

MATRIX = TensorType(f32, [4, 8])


class Graph:
    """A function that is built operation by operation."""

    def __init__(self, *types: TensorType):
        self.block = Block(arg_types=types)
        self.inputs = list(self.block.args)

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def scalar(self, value: float = 1.0) -> SSAValue:
        return self.add(ConstantOp(dense(value, [])))

    def module(self, *results: SSAValue) -> ModuleOp:
        self.block.add_op(func.ReturnOp(*results))
        inputs = [value.type for value in self.inputs]
        outputs = [value.type for value in results]
        return ModuleOp([func.FuncOp("main", (inputs, outputs), Region(self.block))])

    def plan(self, *results: SSAValue, options: FusionOptions = FUSE) -> FusionPlan:
        self.module(*results)
        return plan_fusion(self.block, options)


def dense(value: float, shape: list[int]) -> DenseIntOrFPElementsAttr:
    """One number in all places of a tensor."""
    return DenseIntOrFPElementsAttr.from_list(TensorType(f32, shape), [value])


def chain(length: int) -> Graph:
    """So many operators, each on the result of the one before."""
    graph = Graph(MATRIX)
    value = graph.inputs[0]
    for _ in range(length):
        value = graph.add(ExpOp(value))
    graph.block.add_op(func.ReturnOp(value))
    return graph


def refusal(plan: FusionPlan, value: SSAValue) -> Refusal:
    """Why what computes a value does not fuse."""
    assert isinstance(value.owner, Operation)
    result = plan.nodes[value.owner].refusal
    assert result is not None
    return result


def sizes(plan: FusionPlan) -> list[int]:
    """How many operators each function has."""
    return [len(group.members) for group in plan.groups if group.fused]


# Random programs

SIDE = 6
SQUARE = TensorType(f32, [SIDE, SIDE])
STEPS = (
    *("unary", "unary", "unary", "binary", "binary", "binary", "constant", "matrix"),
    *("transpose", "reduce", "reduce", "dense", "softmax", "projection"),
    *("row", "cast", "stop"),
)


def random_program(seed: int, size: int = 24) -> tuple[ModuleOp, list[np.ndarray]]:
    """A function of two matrices that returns two of its last values, and inputs for it."""
    rng = np.random.default_rng(seed)
    block = Block(arg_types=[SQUARE, SQUARE])
    values: list[SSAValue] = list(block.args)

    def add(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    def any_value() -> SSAValue:
        recent = max(0, len(values) - 6) if rng.random() < 0.7 else 0
        return values[rng.integers(recent, len(values))]

    for _ in range(size):
        match rng.choice(STEPS):
            case "unary":
                value = add((NegativeOp, ReluOp, TanhOp)[rng.integers(3)](any_value()))
            case "binary":
                kind = (AddOp, MultiplyOp, SubtractOp)[rng.integers(3)]
                value = add(kind(any_value(), any_value()))
            case "constant":
                number = DenseIntOrFPElementsAttr.from_list(TensorType(f32, []), [0.5])
                value = add(MultiplyOp(any_value(), add(ConstantOp(number))))
            case "matrix":
                numbers = [float(x) for x in rng.standard_normal(SIDE)]
                row = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [SIDE]), numbers)
                value = add(AddOp(any_value(), add(ConstantOp(row))))
            case "transpose":
                value = add(TransposeOp(any_value()))
            case "reduce":
                kind = (SumOp, MeanOp)[rng.integers(2)]
                source = any_value()
                total = add(kind(source, axis=[int(rng.integers(2))], keepdims=True))
                value = add(SubtractOp(source if rng.random() < 0.5 else any_value(), total))
            case "row":
                source, axis = any_value(), int(rng.integers(2))
                total = add(MaxOp(source, axis=[int(rng.integers(2))]))
                if rng.random() < 0.5:
                    value = add(BiasAddOp(source, total, axis=axis))
                else:
                    value = add(SubtractOp(source, add(ExpandDimsOp(total, axis))))
            case "cast":
                value = add(CastOp(add(CastOp(any_value(), f64)), f32))
            case "stop":
                value = add(StopFusionOp(any_value()))
            case "dense":
                value = add(TanhOp(add(DenseOp(any_value(), any_value()))))
            case "softmax":
                value = add(SoftmaxOp(any_value()))
            case _:
                pair = add(TupleOp([any_value(), any_value()]))
                value = add(TupleGetItemOp(pair, int(rng.integers(2))))
        values.append(value)
    results = values[-2:]
    block.add_op(func.ReturnOp(*results))
    module = ModuleOp([func.FuncOp("main", ([SQUARE] * 2, [SQUARE] * 2), Region(block))])
    return module, [rng.standard_normal((SIDE, SIDE), np.float32) for _ in range(2)]
