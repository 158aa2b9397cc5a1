"""
The textual LLVM IR of every kernel is accepted by LLVM: by the one that llvmlite ships, and by the
`opt` of an installed one.

The kernels are those of every operator example in tests/filecheck/dialects whose shapes are known,
and of a few fused groups, one for each way to generate code. Convolutions of images in blocks have
kernels when their weights are constants and the blocks of the result are vectors; others are refused.
"""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from cases import dyn as dyn_cases
from cases import image as image_cases
from cases import nn as nn_cases
from cases import qnn as qnn_cases
from cases import random as random_cases
from cases import vision as vision_cases
from graphs import LEGALIZATION
from llvmlite import binding
from texts import parsed
from vector_functions import REGISTER_FILES
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import build, context, kernel_options, run_passes
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.dyn.base import DynamicOp
from xrelay.dialects.relay import Relay
from xrelay.interpreters.constants import constant_op
from xrelay.lowering.emit.evaluate import shape_of
from xrelay.lowering.program.program import lower_function
from xrelay.lowering.program.registry import INTERPRETER_ONLY, STAGED
from xrelay.options import CompileOptions
from xrelay.runtime.llvm import portable_text
from xrelay.transforms.fuse_ops import FuseOpsPass

EXAMPLES = Path(__file__).parents[2] / "filecheck" / "dialects"
OPT = shutil.which("opt-19")

MORE = """
func.func @more(%x: tensor<2x5xf32>, %image: tensor<1x3x4x5xf32>, %c: tensor<5xi1>,
    %t: tuple<tensor<2x5xf32>, tensor<2x5xf32>>) {
  %0 = relay.zeros_like %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %1 = relay.ones_like %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %2 = relay.nn.global_max_pool2d %image : (tensor<1x3x4x5xf32>) -> tensor<1x3x1x1xf32>
  %3 = relay.where %c, %x, %x : (tensor<5xi1>, tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  %4 = relay.concatenate %t {axis = 1 : i64}
      : (tuple<tensor<2x5xf32>, tensor<2x5xf32>>) -> tensor<2x10xf32>
  %5 = relay.stack %t {axis = 1 : i64}
      : (tuple<tensor<2x5xf32>, tensor<2x5xf32>>) -> tensor<2x2x5xf32>
  func.return
}"""
"""Operators whose examples there have unknown dimensions."""

REFERENCES = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.ref_create %x : (tensor<4xf32>) -> !relay.ref<tensor<4xf32>>
  %done = relay.ref_write %0, %y : (!relay.ref<tensor<4xf32>>, tensor<4xf32>) -> tuple<>
  %1 = relay.ref_read %0 : (!relay.ref<tensor<4xf32>>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}"""

GROUPS = {
    "convolution with epilogue": """
func.func @main(%x: tensor<1x8x9x9xf32>, %w: tensor<16x8x3x3xf32>, %b: tensor<16xf32>)
    -> tensor<1x16x9x9xf32> {
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x9x9xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<1x16x9x9xf32>, tensor<16xf32>) -> tensor<1x16x9x9xf32>
  %2 = relay.nn.relu %1 : (tensor<1x16x9x9xf32>) -> tensor<1x16x9x9xf32>
  func.return %2 : tensor<1x16x9x9xf32>
}""",
    "product with epilogue": """
func.func @main(%x: tensor<5x33xf32>, %w: tensor<17x33xf32>, %b: tensor<17xf32>)
    -> tensor<5x17xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<5x33xf32>, tensor<17x33xf32>) -> tensor<5x17xf32>
  %1 = relay.add %0, %b : (tensor<5x17xf32>, tensor<17xf32>) -> tensor<5x17xf32>
  %2 = relay.tanh %1 : (tensor<5x17xf32>) -> tensor<5x17xf32>
  func.return %2 : tensor<5x17xf32>
}""",
    "chain of elements": """
func.func @main(%x: tensor<3x37xf32>, %y: tensor<37xf32>) -> tensor<3x37xf32> {
  %0 = relay.multiply %x, %y : (tensor<3x37xf32>, tensor<37xf32>) -> tensor<3x37xf32>
  %1 = relay.exp %0 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %2 = relay.sigmoid %1 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  %3 = relay.erf %2 : (tensor<3x37xf32>) -> tensor<3x37xf32>
  func.return %3 : tensor<3x37xf32>
}""",
    "movement": """
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<4x6xf32> {
  %0 = relay.transpose %x {axes = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = relay.negative %0 : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 4, 6>} : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}""",
    "reduction of a chain": """
func.func @main(%x: tensor<4x50xf32>) -> tensor<4xf32> {
  %0 = relay.abs %x : (tensor<4x50xf32>) -> tensor<4x50xf32>
  %1 = relay.sum %0 {axis = array<i64: 1>} : (tensor<4x50xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}""",
}


def is_static(type_: Attribute) -> bool:
    """Whether code can be generated for a value of this type."""
    if isinstance(type_, TupleType):
        return all(map(is_static, type_.types.data))
    return isinstance(type_, TensorType) and type_.has_static_shape()


def is_valid(path: Path) -> bool:
    """Whether a test of the dialect is one of programs that verify."""
    return "invalid" not in path.stem


@cache
def examples() -> tuple[Operation, ...]:
    """The relay operations of the dialect's tests whose types are known."""

    texts = [path.read_text() for path in sorted(EXAMPLES.glob("*.mlir")) if is_valid(path)]
    return tuple(
        op
        for text in (*texts, MORE)
        for op in parsed(text).walk()
        if isinstance(op, RelayOp)
        and not isinstance(op, ConstantOp)
        and len(op.results) == 1
        and all(is_static(value.type) for value in (*op.operands, *op.results))
        and type(op) not in INTERPRETER_ONLY
        and not isinstance(op, DynamicOp)  # Their shape operands are no constants here.
    )


def lanes_of(op: Conv2DOp) -> tuple[int | None, int | None]:
    """The channels in a block of the images, and of the result."""
    images, _, results = op.layouts
    return images.blocks.get("C"), results.blocks.get("C")


def is_blocked(op: Operation) -> bool:
    """Whether an operator is a convolution whose images have blocks of channels."""
    return isinstance(op, Conv2DOp) and lanes_of(op) != (None, None)


def has_kernels(op: Operation, lanes: int) -> bool:
    """Whether there is code for an operator on a target whose vectors have `lanes` elements."""
    if not isinstance(op, Conv2DOp) or not is_blocked(op) or not op.is_plain:
        return True  # Images in other orders of axes are laid out anew.
    data, out = lanes_of(op)
    return out == lanes and data in (None, lanes)


def alone(op: Operation) -> ModuleOp:
    """A program of one operation, on parameters; the weights of blocked images are a constant."""
    block = Block(arg_types=[operand.type for operand in op.operands])
    copy = op.clone()
    for i, arg in enumerate(block.args):
        copy.operands[i] = arg
    if is_blocked(op):
        weight = constant_op(np.ones(shape_of(op.operands[1]), np.float32))
        block.add_op(weight)
        copy.operands[1] = weight.result
    block.add_ops([copy, func.ReturnOp(*copy.results)])
    type_ = FunctionType.from_lists(block.arg_types, [result.type for result in copy.results])
    return ModuleOp([func.FuncOp("main", type_, Region(block))])


def llvm_ir(module: ModuleOp, target: str) -> str:
    """The textual LLVM IR of a program."""
    options = CompileOptions(target=target)
    run_passes(module, LEGALIZATION)
    code = build(lower_function(entry_function(module), kernel_options(options)), "kernel", options)
    return code.llvm_ir


ATTRIBUTES = """
declare float @llvm.sqrt.f32(float)
declare <4 x i32> @llvm.smax.v4i32(<4 x i32>, <4 x i32>)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @other(ptr noalias readonly) nounwind
define void @main(ptr %p) noinline {
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %p, ptr %p, i64 4, i1 false)
  call void @other(ptr %p) cold
  ret void
}
"""


def test_text_is_for_other_versions_of_llvm() -> None:
    """It has no attributes of LLVM's functions, of which each version knows its own, and means the same."""
    module = binding.parse_assembly(ATTRIBUTES)
    text = portable_text(module)
    declarations = [line for line in text.splitlines() if line.startswith("declare ")]
    given = [line for line in ATTRIBUTES.splitlines() if line.startswith("declare ")]
    assert declarations[:3] == given[:3]
    assert declarations[3].startswith("declare void @other(ptr noalias readonly) #")
    lists = [line for line in text.splitlines() if line.startswith("attributes ")]
    assert {line.partition(" = ")[2] for line in lists} == {
        "{ nounwind }",
        "{ noinline }",
        "{ cold }",
    }
    assert str(binding.parse_assembly(text)) == str(module)


def accept(text: str, *, installed: bool = True) -> None:
    """Checks that LLVM accepts a module: llvmlite's, and an `installed` one if asked for, and there."""
    binding.parse_assembly(text).verify()
    if installed and OPT is not None:
        command = [OPT, "-passes=verify", "-disable-output", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_every_operator_has_an_example() -> None:
    """Or a case of tests/execution/test_kernels.py, for which LLVM makes code that runs."""
    names = {op.name for op in (*examples(), *INTERPRETER_ONLY, *STAGED)}
    for table in (
        dyn_cases.TABLE,
        image_cases.TABLE,
        nn_cases.TABLE,
        qnn_cases.TABLE,
        random_cases.TABLE,
        vision_cases.TABLE,
    ):
        names |= {op.name for op in table.covered}
    names |= {op.name for op in (RefCreateOp, RefReadOp, RefWriteOp)}  # See REFERENCES.
    names.add("relay.fail")  # See tests/unit/api/test_program_data_types.py.
    without = {op.name for op in Relay.operations if issubclass(op, RelayOp)} - names
    assert without == {"relay.constant", "relay.let"}


OPERATORS = sorted({op.name for op in examples()})


@pytest.mark.parametrize("name", OPERATORS)
def test_kernels_of_an_operator(name: str) -> None:
    """The targets take turns: tests/execution runs code for all of them."""
    check(name, installed=False)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.extensive if i % 6 else ())
        for i, name in enumerate(OPERATORS)
    ],
)
def test_kernels_of_an_operator_in_an_installed_llvm(name: str) -> None:
    """What differs between versions of LLVM is about few functions, which many operators have."""
    check(name, installed=True)


def check(name: str, *, installed: bool) -> None:
    """LLVM accepts the kernels of the examples of an operator, or we refuse them."""
    targets = list(REGISTER_FILES.items())
    own = [op for op in examples() if op.name == name]
    for number, op in enumerate(own, crc32(name.encode())):
        module = alone(op)
        module.verify()
        target, cpu = targets[number % len(targets)]
        if has_kernels(op, cpu.lanes(4)):
            accept(llvm_ir(module, target), installed=installed)
            continue
        # Images in other blocks than the target's are refused, or laid out anew.
        try:
            text = llvm_ir(module, target)
        except DiagnosticException as error:
            assert "no implementation of relay.nn" in str(error)
        else:
            accept(text, installed=installed)


def test_kernels_of_references() -> None:
    """They make no sense alone."""
    for target in REGISTER_FILES:
        accept(llvm_ir(parsed(REFERENCES), target))


@pytest.mark.parametrize("target", REGISTER_FILES)
@pytest.mark.parametrize("name", GROUPS)
def test_kernels_of_fused_groups(name: str, target: str) -> None:
    module = parsed(GROUPS[name])
    FuseOpsPass().apply(context(), module)
    fused = [op for op in module.walk() if op.name == "relay.fused"]
    assert len(fused) == 1
    accept(llvm_ir(module, target))
