"""
Random programs for fusion: all kinds of operators on square matrices, where a wrong axis does not
show in a shape, with shared values.
"""

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType, f32, f64
from xdsl.ir import Block, Operation, Region, SSAValue

from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp, SoftmaxOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, SumOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import CastOp, NegativeOp, ReluOp, TanhOp

SIDE = 6
MATRIX = TensorType(f32, [SIDE, SIDE])
STEPS = (
    *("unary", "unary", "unary", "binary", "binary", "binary", "constant", "matrix"),
    *("transpose", "reduce", "reduce", "dense", "softmax", "projection"),
    *("row", "cast", "stop"),
)


def random_program(seed: int, size: int = 24) -> tuple[ModuleOp, list[np.ndarray]]:
    """A function of two matrices that returns two of its last values, and inputs for it."""
    rng = np.random.default_rng(seed)
    block = Block(arg_types=[MATRIX, MATRIX])
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
    module = ModuleOp([func.FuncOp("main", ([MATRIX] * 2, [MATRIX] * 2), Region(block))])
    return module, [rng.standard_normal((SIDE, SIDE), np.float32) for _ in range(2)]
