"""What cannot be compiled is refused with a sentence that names the reason."""

from collections.abc import Sequence

import pytest
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerType,
    ModuleOp,
    TensorType,
    bf16,
    f32,
    f80,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.dialects.core import RefCreateOp
from xrelay.dialects.unary import AbsOp, CastOp, CopyOp
from xrelay.lowering.kernel import KernelOptions
from xrelay.lowering.program import entry_function, lower_function
from xrelay.lowering.target import GENERIC, named_target


def module(types: Sequence[Attribute], build: type[Operation], *args: object) -> ModuleOp:
    """A module whose main function applies one operator to its parameters."""
    block = Block(arg_types=types)
    op = build(*block.args, *args)
    block.add_ops([op, func.ReturnOp(op)])
    return ModuleOp([func.FuncOp("main", (types, [op.results[0].type]), Region(block))])


@pytest.mark.parametrize("dtype", (bf16, f80, IntegerType(4)))
def test_element_types_without_kernels(dtype: Attribute):
    program = module([TensorType(dtype, [4])], CopyOp)
    with pytest.raises(
        DiagnosticException, match=f"element type {dtype} has no kernels; supported"
    ):
        xrelay.compile(program)


def test_conversion_to_an_element_type_without_kernels():
    with pytest.raises(DiagnosticException, match="element type bf16 has no kernels"):
        xrelay.compile(module([TensorType(f32, [4])], CastOp, bf16))


def test_unknown_dimensions():
    program = module([TensorType(f32, [DYNAMIC_INDEX, 4])], AbsOp)
    with pytest.raises(DiagnosticException, match="tensor<\\?x4xf32> has an unknown dimension"):
        xrelay.compile(program)


def test_operators_of_other_dialects():
    program = module([], tensor.EmptyOp, [], TensorType(f32, [4]))
    with pytest.raises(DiagnosticException, match="tensor.empty cannot be lowered: only operators"):
        xrelay.compile(program)


def test_values_that_are_no_tensors():
    with pytest.raises(DiagnosticException, match="i64 is not a tensor type"):
        xrelay.compile(module([i64, i64], arith.AddiOp))


def test_references_that_leave_the_program():
    with pytest.raises(DiagnosticException, match="'output0' is a reference"):
        xrelay.compile(module([TensorType(i1, [])], RefCreateOp))


def test_modules_without_an_entry():
    program = module([TensorType(f32, [4])], AbsOp)
    with pytest.raises(
        DiagnosticException, match="no function 'other' to lower; the module has main"
    ):
        entry_function(program, "other")
    with pytest.raises(
        DiagnosticException, match="no function 'main' to lower; the module has none"
    ):
        xrelay.compile(ModuleOp([]))


def test_unknown_targets():
    with pytest.raises(DiagnosticException, match="unknown target 'z80', known targets are native"):
        named_target("z80")


def test_functions_that_are_called_like_a_kernel():
    program = module([TensorType(f32, [4])], AbsOp)
    entry_function(program).sym_name = type(entry_function(program).sym_name)("fused_abs")
    lowered = lower_function(entry_function(program), KernelOptions(GENERIC))
    names = [op.sym_name.data for op in lowered.module.ops if isinstance(op, func.FuncOp)]
    assert names == ["fused_abs_1", "fused_abs"]
