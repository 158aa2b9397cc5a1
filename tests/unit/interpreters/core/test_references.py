"""References: programs with cells mean the same without them, and run on backends."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

import xrelay
from xrelay.backends.base import No, Support, Yes
from xrelay.backends.numpy import NumpyBackend
from xrelay.compiler import context
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefType, RefWriteOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.errors import CompileError
from xrelay.interpreters.core.references import Cell
from xrelay.interpreters.relay import interpret
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.transforms.promote_references import promote_references, references

VECTOR = TensorType(f32, [4])
X = np.array([-1.5, 0.5, 2, -3], np.float32)
Step = tuple[str, int, int]
T = "tensor<4xf32>"
CELL = f"!relay.ref<{T}>"


def built(steps: Sequence[Step]) -> ModuleOp:
    """A program of some steps on cells, cells of cells and tuples of both."""
    block = Block(arg_types=[VECTOR])
    values: list[SSAValue] = [block.args[0]]
    cells: list[SSAValue] = []
    outer: list[SSAValue] = []

    def emit(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    cells.append(emit(RefCreateOp(values[0])))
    outer.append(emit(RefCreateOp(cells[0])))
    for kind, i, j in steps:
        value, cell, of_cell = values[i % len(values)], cells[j % len(cells)], outer[j % len(outer)]
        match kind:
            case "add":
                values.append(emit(AddOp(value, values[j % len(values)])))
            case "create":
                cells.append(emit(RefCreateOp(value)))
            case "create outer":
                outer.append(emit(RefCreateOp(cell)))
            case "read":
                values.append(emit(RefReadOp(cell)))
            case "read outer":
                cells.append(emit(RefReadOp(of_cell)))
            case "write":
                emit(RefWriteOp(cell, value))
            case "write outer":
                emit(RefWriteOp(of_cell, cells[i % len(cells)]))
            case _:
                packed = emit(TupleOp([of_cell, value, cell]))
                outer.append(emit(TupleGetItemOp(packed, 0)))
                values.append(emit(TupleGetItemOp(packed, 1)))
                cells.append(emit(TupleGetItemOp(packed, 2)))
    results = [emit(RefReadOp(cell)) for cell in cells] + values
    block.add_op(func.ReturnOp(*results))
    type_ = FunctionType.from_lists([VECTOR], [value.type for value in results])
    return ModuleOp([func.FuncOp("main", type_, Region(block))])


KINDS = (
    *("add", "create", "create outer", "read", "read outer", "write", "write outer"),
    "tuple",
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 9)), max_size=25)
)
def test_values_in_the_place_of_cells(steps: list[Step]) -> None:
    module = built(steps)
    module.verify()
    expected = interpret(module, [X])
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    promote_references(function)
    module.verify()
    assert not list(references(module))
    assert not any(isinstance(r.type, RefType) for op in module.walk() for r in op.results)
    for found, right in zip(interpret(module, [X]), expected, strict=True):
        np.testing.assert_array_equal(found, right)


def parsed(lines: str, params: str = f"%x: {T}", result: str = "%y") -> ModuleOp:
    text = f"func.func @main({params}) -> {T} {{ {lines} func.return {result} : {T} }}"
    return Parser(context(), text).parse_module()


class OnlyRelu(NumpyBackend):
    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if isinstance(op, ReluOp) else No("it is no relu")


def test_backends_run_programs_with_references() -> None:
    lines = f"""
      %r = relay.ref_create %x : ({T}) -> {CELL}
      %0 = relay.ref_read %r : ({CELL}) -> {T}
      %1 = relay.nn.relu %0 : ({T}) -> {T}
      %v = relay.let %r : ({CELL}) -> {CELL}
      %u = relay.ref_write %v, %1 : ({CELL}, {T}) -> tuple<>
      %2 = relay.ref_read %r : ({CELL}) -> {T}
      %y = relay.subtract %0, %2 : ({T}, {T}) -> {T}
    """
    model = xrelay.compile(parsed(lines), backends=[OnlyRelu()], cache=False)
    assert isinstance(model, PartitionedModel)
    assert [step.backend for step in model.steps] == ["numpy", "default"]
    (found,) = model.run({"x": X}).values()
    np.testing.assert_array_equal(found, X - np.maximum(X, 0))


@pytest.mark.parametrize(
    ("lines", "params", "message"),
    [
        (
            f"""
            %r = relay.ref_create %x : ({T}) -> {CELL}
            scf.if %c {{
              %u = relay.ref_write %r, %x : ({CELL}, {T}) -> tuple<>
            }}
            %y = relay.ref_read %r : ({CELL}) -> {T}""",
            f"%x: {T}, %c: i1",
            r"'main': the reference of relay.ref_create %r is seen by several blocks or functions",
        ),
        (
            f"%y = relay.ref_read %x : ({CELL}) -> {T}",
            f"%x: {CELL}",
            r"'main': the reference of relay.ref_read %y is seen by several blocks or functions",
        ),
    ],
)
def test_references_that_backends_cannot_share(lines: str, params: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        xrelay.compile(parsed(lines, params), backends=["numpy"], cache=False)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Cell(X[:3]), r"the value in input 0 of @main is tensor<3xf32>"),
        (Cell(X.astype(np.float64)), r"the value in input 0 of @main is tensor<4xf64>"),
        (X, "input 0 of @main is"),
    ],
)
def test_inputs_that_are_cells_hold_what_their_type_says(value: object, message: str):
    block = Block(arg_types=[RefType(VECTOR)])
    read = RefReadOp(block.args[0])
    block.add_ops([read, func.ReturnOp(read.result)])
    function_type = FunctionType.from_lists([RefType(VECTOR)], [VECTOR])
    module = ModuleOp([func.FuncOp("main", function_type, Region(block))])
    assert np.array_equal(interpret(module, [Cell(X)])[0], X)
    with pytest.raises(InterpretationError, match=message):
        interpret(module, [value])
