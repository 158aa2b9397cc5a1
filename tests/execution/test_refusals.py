"""What cannot be compiled is refused with a sentence that names the reason."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerType,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    f32,
    f80,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import lower
from xrelay.dialects.core.references import RefCreateOp
from xrelay.dialects.tensor.unary import AbsOp, CastOp, CopyOp
from xrelay.frontends.relay_text import read_relay_text
from xrelay.lowering.emit.target import GENERIC, named_target
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.program import lower_function
from xrelay.options import CompileOptions


def module(types: Sequence[Attribute], build: type[Operation], *args: object) -> ModuleOp:
    """A module whose main function applies one operator to its parameters."""
    block = Block(arg_types=types)
    op = build(*block.args, *args)
    block.add_ops([op, func.ReturnOp(op)])
    return ModuleOp([func.FuncOp("main", (types, [op.results[0].type]), Region(block))])


@pytest.mark.parametrize("dtype", (f80, IntegerType(4)))
def test_element_types_without_kernels(dtype: Attribute):
    program = module([TensorType(dtype, [4])], CopyOp)
    with pytest.raises(
        DiagnosticException, match=f"element type {dtype} has no kernels; supported"
    ):
        xrelay.compile(program)


def test_conversion_to_an_element_type_without_kernels():
    with pytest.raises(DiagnosticException, match="element type f80 has no kernels"):
        xrelay.compile(module([TensorType(f32, [4])], CastOp, f80))


def test_unknown_dimensions():
    program = module([TensorType(f32, [DYNAMIC_INDEX, 4])], AbsOp)
    with pytest.raises(DiagnosticException, match="tensor<\\?x4xf32> has an unknown dimension"):
        lower(program, CompileOptions())


def test_operators_of_other_dialects():
    row = TensorType(f32, [4])
    program = module([row], tensor.CastOp, row)
    with pytest.raises(DiagnosticException, match="tensor.cast cannot be lowered: only operators"):
        xrelay.compile(program)


def test_values_that_are_no_tensors():
    with pytest.raises(DiagnosticException, match="'input0' is i64, which is no tensor"):
        xrelay.compile(module([i64, i64], arith.AddiOp))


def test_references_that_leave_the_program():
    with pytest.raises(DiagnosticException, match="'output0' is a reference"):
        xrelay.compile(module([TensorType(i1, [])], RefCreateOp))


def test_modules_without_an_entry():
    program = module([TensorType(f32, [4])], AbsOp)
    with pytest.raises(DiagnosticException, match="no function 'other'; the module has main"):
        entry_function(program, "other")
    with pytest.raises(DiagnosticException, match="no function 'main'; the module has none"):
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


OPTION = "function 'main': entry @main takes or gives !relay.adt<@Opt, [tensor<4xf32>]>, expected tensors"
RAGGED = "function 'main': !relay.adt<@Seq, []>: More has tensor<?xf32>, expected known dimensions: the values lie in rows"
MATCH = "match (%o) { Some(%y) => exp(%y), None => %x }"


@pytest.mark.parametrize(
    ("parameters", "body", "message"),
    [
        ("%c: bool, %x: Tensor[(4), float32]",
         "let %s = if (%c) { More(%x, End) } else { End }; match (%s) { More(%y, _) => sum(%y), End => sum(%x) }",
         RAGGED),
        ("%o: Opt[Tensor[(4), float32]], %x: Tensor[(4), float32]", MATCH,
         OPTION),
        ("%f: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %x: Tensor[(4), float32]", "%f(%x)",
         "function 'main': parameter %f is of type !relay.fn<(tensor<4xf32>) -> tensor<4xf32>>"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".relay", ".mlir"])
def test_control_flow_and_data_types(
    tmp_path: Path, parameters: str, body: str, message: str, suffix: str
):
    types = "type Opt[A] { Some(A), None }\ntype Seq { More(Tensor[(?), float32], Seq), End }"
    text = f"{types}\ndef @main({parameters}) {{ {body} }}"
    path = tmp_path / f"model{suffix}"
    path.write_text(text if suffix == ".relay" else str(read_relay_text(text)))
    with pytest.raises(DiagnosticException) as refused:
        xrelay.compile(path)
    assert str(refused.value).startswith(message)


def test_calls_are_named_with_their_place():
    program = read_relay_text(
        'def @g(%x: Tensor[(4), float32], Compiler="theirs") -> Tensor[(4), float32] { exp(%x) }\n'
        "def @main(%x: Tensor[(4), float32]) { @g(%x) }"
    )
    *_, call = [op for op in program.walk() if isinstance(op, func.CallOp)]
    call.location = NameLoc(StringAttr("layer7"), call.location)
    with pytest.raises(DiagnosticException, match="call of node 'layer7' has no code.*--interpret"):
        xrelay.compile(program)
