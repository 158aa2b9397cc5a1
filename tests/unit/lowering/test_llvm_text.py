"""The text of kernels as LLVM IR: xDSL's own way to it, by objects of llvmlite, gives the same functions."""

import re
from collections import defaultdict
from itertools import count

import pytest
from graphs import Graph
from llvmlite import binding
from texts import parsed
from vector_functions import REGISTER_FILES
from xdsl.backend.llvm.convert import convert_module as to_llvmlite
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    VectorType,
    f16,
    f32,
    f64,
    f80,
    i1,
    i8,
    i64,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import context, kernel_options, run_passes
from xrelay.dialects.nn import dense, norm
from xrelay.dialects.tensor import unary
from xrelay.lowering.llvm.to_llvm import convert_module
from xrelay.lowering.llvm.to_text import INSTRUCTIONS, constant_text, module_text, symbol_text
from xrelay.lowering.program.program import lower_function
from xrelay.options import CompileOptions
from xrelay.transforms.fuse_ops import FuseOpsPass

TRIPLE = "x86_64-unknown-linux-gnu"
INTRINSICS = ("llvm.fma.v4f32", "llvm.fma.f32", "llvm.smax.v4i32")

EVERY_INSTRUCTION = """
llvm.func @other(i32, !llvm.ptr) -> i32
llvm.func @nothing()
llvm.func internal @helper(%x: i32) -> i32 {
  llvm.return %x : i32
}
llvm.func @main(%p: !llvm.ptr, %i: i64, %x: f32, %y: f32, %v: vector<4xf32>, %w: vector<4xi32>) {
  %one = llvm.mlir.constant(1) : i32
  %minus = llvm.mlir.constant(-7) : i64
  %third = llvm.mlir.constant(0.3333333432674408 : f32) : f32
  %half = llvm.mlir.constant(-0.0 : f16) : f16
  %double = llvm.mlir.constant(0.1) : f64
  %infinity = llvm.mlir.constant(0x7F800000 : f32) : f32
  %splat = llvm.mlir.constant(dense<2.5> : vector<4xf32>) : vector<4xf32>
  %lanes = llvm.mlir.constant(dense<[0.0, -0.0, 1.0, 3.0]> : vector<4xf32>) : vector<4xf32>
  %numbers = llvm.mlir.constant(dense<[1, -2, 3, 4]> : vector<4xi32>) : vector<4xi32>
  %undefined = llvm.mlir.undef : vector<4xf32>
  %0 = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %1 = llvm.getelementptr %p[-3] : (!llvm.ptr) -> !llvm.ptr, i64
  %2 = "llvm.load"(%0) <{ordering = 0 : i64, alignment = 4 : i64}> : (!llvm.ptr) -> f32
  %3 = "llvm.load"(%1) <{ordering = 0 : i64}> : (!llvm.ptr) -> i64
  %a0 = llvm.add %3, %minus : i64
  %a1 = llvm.sub %a0, %i : i64
  %a2 = llvm.mul %a1, %a0 : i64
  %a3 = llvm.sdiv %a2, %i : i64
  %a4 = llvm.udiv %a2, %a3 : i64
  %a5 = llvm.srem %a4, %i : i64
  %a6 = llvm.urem %a5, %a1 : i64
  %a7 = llvm.and %a6, %a2 : i64
  %a8 = llvm.or %a7, %a3 : i64
  %a9 = llvm.xor %a8, %a4 : i64
  %b0 = llvm.shl %a9, %a1 : i64
  %b1 = llvm.lshr %b0, %a2 : i64
  %b2 = llvm.ashr %b1, %a3 : i64
  %f0 = llvm.fadd %x, %third : f32
  %f1 = llvm.fsub %f0, %infinity : f32
  %f2 = llvm.fmul %f1, %2 : f32
  %f3 = llvm.fdiv %f2, %y : f32
  %f4 = llvm.frem %f3, %x : f32
  %f5 = "llvm.fneg"(%f4) <{fastmathFlags = #llvm.fastmath<none>}> : (f32) -> f32
  %t0 = llvm.trunc %b2 : i64 to i32
  %t1 = llvm.zext %t0 : i32 to i64
  %t2 = llvm.sext %t0 : i32 to i64
  %t3 = llvm.fpext %f5 : f32 to f64
  %t4 = llvm.fptrunc %t3 : f64 to f16
  %t5 = llvm.sitofp %t2 : i64 to f32
  %t6 = llvm.ptrtoint %p : !llvm.ptr to i64
  %t7 = llvm.inttoptr %t6 : i64 to !llvm.ptr
  %t8 = llvm.bitcast %t5 : f32 to i32
  %c0 = llvm.icmp "ult" %t1, %t2 : i64
  %c1 = llvm.icmp "sge" %t1, %i : i64
  %c2 = llvm.fcmp "une" %t5, %f5 : f32
  %c3 = llvm.fcmp "oge" %x, %y : f32
  %s0 = "llvm.select"(%c0, %c1, %c2) : (i1, i1, i1) -> i1
  %s1 = "llvm.select"(%s0, %t5, %f5) : (i1, f32, f32) -> f32
  %e0 = llvm.insertelement %s1, %undefined[%one : i32] : vector<4xf32>
  %e1 = llvm.shufflevector %e0, %lanes [3, 1, 4, 7] : vector<4xf32>
  %e2 = llvm.intr.fma(%e1, %splat, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %e3 = llvm.intr.fma(%x, %y, %s1) : (f32, f32, f32) -> f32
  %e4 = llvm.call_intrinsic "llvm.smax.v4i32"(%w, %numbers) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %e5 = llvm.call_intrinsic "llvm.smax.v4i32"(%e4, %w) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "llvm.store"(%e2, %p) <{ordering = 0 : i64, alignment = 4 : i64}> : (vector<4xf32>, !llvm.ptr) -> ()
  "llvm.store"(%e5, %t7) <{ordering = 0 : i64}> : (vector<4xi32>, !llvm.ptr) -> ()
  "llvm.store"(%t4, %1) <{ordering = 0 : i64, alignment = 2 : i64}> : (f16, !llvm.ptr) -> ()
  "llvm.store"(%half, %0) <{ordering = 0 : i64, alignment = 2 : i64}> : (f16, !llvm.ptr) -> ()
  "llvm.store"(%double, %p) <{ordering = 0 : i64, alignment = 8 : i64}> : (f64, !llvm.ptr) -> ()
  %d0 = llvm.call @other(%t8, %p) : (i32, !llvm.ptr) -> i32
  %d1 = llvm.call @helper(%d0) : (i32) -> i32
  llvm.call @nothing() : () -> ()
  llvm.br ^loop(%d1, %e3 : i32, f32)
^loop(%n: i32, %sum: f32):
  %next = llvm.add %n, %one : i32
  %more = llvm.icmp "slt" %next, %d0 : i32
  %again = llvm.fadd %sum, %third : f32
  llvm.cond_br %more, ^loop(%next, %again : i32, f32), ^end(%again, %third : f32, f32)
^end(%last: f32, %same: f32):
  %total = llvm.fadd %last, %same : f32
  "llvm.store"(%total, %p) <{ordering = 0 : i64, alignment = 4 : i64}> : (f32, !llvm.ptr) -> ()
  llvm.return
}
"""


LOCAL = re.compile(r'%(?:[\w.]+|"[^"]*")|^(?:[\w.]+|"[^"]*")(?=:)', re.MULTILINE)
"""The name of a value or of a block."""


def numbered(text: str) -> str:
    """A function whose values and blocks are numbers, in the order in which they occur, without comments."""
    numbers = defaultdict[str, int](count().__next__)
    plain = "\n".join(line.partition(" ;")[0].rstrip() for line in text.strip().splitlines())
    return LOCAL.sub(lambda name: f"%{numbers[name[0].lstrip('%')]}", plain)


def functions(text: str) -> dict[str, str]:
    """What LLVM reads: its own text of each function."""
    module = binding.parse_assembly(text)
    for function in module.functions:
        if not function.is_declaration and function.name != "main":
            function.linkage = "internal"
    module.verify()
    return {function.name: numbered(str(function)) for function in module.functions}


def test_every_instruction() -> None:
    module = parsed(EVERY_INSTRUCTION)
    assert INSTRUCTIONS.keys() <= {type(op) for op in module.walk()}
    found = functions(module_text(module, TRIPLE))
    assert found == functions(str(to_llvmlite(module, fallback_target_triple=TRIPLE)))
    assert found.keys() == {"other", "nothing", "helper", "main", *INTRINSICS}


@pytest.mark.parametrize("target", REGISTER_FILES)
def test_kernels(target: str) -> None:
    graph = Graph()
    x, y = (graph.input(graph.small("float32", rows, 33)) for rows in (5, 7))
    product = graph.op(dense.DenseOp(x, y))
    graph.show(unary.TanhOp(product))
    graph.show(norm.SoftmaxOp(product))
    for dtype in ("bfloat16", "float16", "float64"):
        graph.show(unary.CastOp(graph.input(graph.numbers(dtype, 19)), i8))
    options, module = CompileOptions(2, target), graph.module()
    run_passes(module, [FuseOpsPass()])
    program = lower_function(entry_function(module), kernel_options(options)).module
    convert_module(program, TRIPLE)
    other = to_llvmlite(program, fallback_target_triple=TRIPLE)
    assert functions(module_text(program, TRIPLE)) == functions(str(other))


def test_linkage() -> None:
    """Kernels are internal, the entry is not, and what the run time has is declared."""
    text = module_text(parsed(EVERY_INSTRUCTION), TRIPLE)
    assert text.startswith(f'target triple = "{TRIPLE}"\n\ndeclare i32 @"other"(i32, ptr)\n')
    assert 'define internal i32 @"helper"(i32 %a0) {' in text
    assert 'define void @"main"(' in text


def test_names_of_functions() -> None:
    assert symbol_text("fused_nn.dense") == '@"fused_nn.dense"'
    assert symbol_text('a "b\\é\n') == '@"a \\22b\\5C\\C3\\A9\\0A"'


def test_constants_keep_their_bits() -> None:
    assert constant_text(FloatAttr(-0.0, f64), f64) == "0x8000000000000000"
    assert constant_text(FloatAttr(0.1, f32), f32) == "0x3fb99999a0000000"
    assert constant_text(FloatAttr(0.1, f16), f16) == "0x3fb9980000000000"
    assert constant_text(FloatAttr(float("nan"), f32), f32) == "0x7ff8000000000000"
    assert constant_text(IntegerAttr(-1, i1), i1) == "-1"
    assert constant_text(IntegerAttr(False, i1), i1) == "0", "a bool is a number"
    type_ = VectorType(f32, [2])
    zeros = DenseIntOrFPElementsAttr.from_list(type_, [0.0, -0.0])
    assert constant_text(zeros, type_) == "<float 0x0000000000000000, float 0x8000000000000000>"
    type_ = VectorType(i64, [3])
    same = DenseIntOrFPElementsAttr.from_list(type_, [-5] * 3)
    assert constant_text(same, type_) == "<i64 -5, i64 -5, i64 -5>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f()", "func.func is not part of kernels, which are llvm.func"),
        ("llvm.func @f(f80)", "f80 is not a type of kernels"),
        (
            "llvm.func @f() {\n  llvm.unreachable\n}",
            "llvm.unreachable is not part of kernels",
        ),
        (
            "llvm.func @f(%p: !llvm.ptr) {\n  llvm.call %p() : !llvm.ptr, () -> ()\n  llvm.return\n}",
            "a call of a pointer is not part of kernels",
        ),
    ],
)
def test_other_operations_are_refused(text: str, message: str) -> None:
    with pytest.raises(DiagnosticException, match=message):
        module_text(Parser(context(), text).parse_module(), TRIPLE)


def test_other_constants_are_refused() -> None:
    for value, type_ in ((StringAttr("x"), i8), (FloatAttr(1.0, f80), f80)):
        with pytest.raises(DiagnosticException, match="is not part of kernels"):
            constant_text(value, type_)
