"""
Textual LLVM IR of kernels in the llvm dialect.

`-t llvm` of xDSL prints the same, by way of an object of llvmlite for each instruction, which takes several times as
long as the text itself; `tests/unit/lowering/test_llvm_text.py` compares the two. Flags that allow LLVM
more than an instruction says (wrapping, fast arithmetic, tail calls) are left out: kernels have none.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import copysign, inf
from typing import TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.shapes import is_integer_type
from xrelay.lowering.emit.builder import mangle
from xrelay.lowering.emit.index import is_vector_type

Instruction: TypeAlias = Callable[["FunctionText", Operation, Sequence[str]], str]
"""What an operation is as an instruction, from the texts of its operands; what it defines is in front of that."""

SCALARS: dict[type[Attribute], str] = {
    Float16Type: "half",
    Float32Type: "float",
    Float64Type: "double",
    llvm.LLVMPointerType: "ptr",
    llvm.LLVMVoidType: "void",
}
FORMATS: dict[type[Attribute], str] = {Float16Type: "<e", Float32Type: "<f", Float64Type: "<d"}
"""Of numbers in memory, as `struct` calls them."""


def module_text(module: ModuleOp, triple: str) -> str:
    """
    The LLVM IR of a module for a target triple.

    Raises DiagnosticException for what kernels do not have.
    """
    declared: dict[str, str] = {}
    defined: list[str] = []
    for op in module.body.block.ops:
        if not isinstance(op, llvm.FuncOp):
            raise DiagnosticException(f"{op.name} is not part of kernels, which are llvm.func")
        name = op.sym_name.data
        if op.body.blocks:
            defined.append(FunctionText(declared).text(op))
        else:
            types = op.function_type
            declared[name] = declaration(name, types.inputs.data, types.output)
    return "\n\n".join((f'target triple = "{triple}"', *declared.values(), *defined)) + "\n"


def type_text(type_: Attribute) -> str:
    """A type of LLVM."""
    if is_integer_type(type_):
        return f"i{type_.width.data}"
    if is_vector_type(type_):
        return f"<{type_.get_shape()[0]} x {type_text(type_.element_type)}>"
    found = SCALARS.get(type(type_))
    if found is None:
        raise DiagnosticException(f"{type_} is not a type of kernels")
    return found


def symbol_text(name: str) -> str:
    """The name of a function; between quotes, all characters may be part of it."""
    plain = (
        c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\{byte:02X}"
        for c in name
        for byte in c.encode()
    )
    return f'@"{"".join(plain)}"'


def declaration(name: str, inputs: Sequence[Attribute], output: Attribute) -> str:
    """The line that declares a function."""
    return f"declare {type_text(output)} {symbol_text(name)}({', '.join(map(type_text, inputs))})"


def constant_text(value: Attribute, type_: Attribute) -> str:
    """A constant without its type."""
    if isinstance(value, IntegerAttr):
        return f"{value.value.data:d}"
    if isinstance(value, FloatAttr):
        return float_text(value.value.data, type_)
    if isinstance(value, DenseIntOrFPElementsAttr) and is_vector_type(type_):
        dense = cast("DenseIntOrFPElementsAttr[AnyDenseElement]", value)
        data, count, element = dense.data.data, len(dense), type_.element_type
        is_splat = data == data[: len(data) // count] * count
        numbers: Sequence[object] = dense.get_values()
        name = type_text(element)
        lanes = [
            f"{name} {f'{number:d}' if isinstance(number, int) else float_text(number, element)}"
            for number in (numbers[:1] if is_splat else numbers)
        ]
        return f"<{', '.join(lanes * count if is_splat else lanes)}>"
    raise DiagnosticException(f"a constant {value} is not part of kernels")


def float_text(value: object, type_: Attribute) -> str:
    """A number, rounded to its type, by the bits of the f64 that it is."""
    format_ = FORMATS.get(type(type_))
    if format_ is None or not isinstance(value, float):
        raise DiagnosticException(f"a constant {value} : {type_} is not part of kernels")
    try:
        (rounded,) = struct.unpack(format_, struct.pack(format_, value))
    except OverflowError:
        rounded = copysign(inf, value)
    return f"0x{struct.pack('>d', rounded).hex()}"


@dataclass(eq=False)
class FunctionText:
    """Writes one function. `declared` gets the functions of LLVM that it calls."""

    declared: dict[str, str]
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """Values as operands: names, and constants as they are."""
    labels: dict[Block, str] = field(default_factory=dict[Block, str])
    incoming: dict[Block, list[tuple[str, Sequence[str]]]] = field(
        default_factory=dict[Block, list[tuple[str, Sequence[str]]]]
    )
    """The labels from where one gets to a block, and its arguments there."""

    def text(self, op: llvm.FuncOp) -> str:
        """The definition of a function."""
        blocks = op.body.blocks
        bodies: list[list[Operation]] = []
        for number, block in enumerate(blocks):
            self.labels[block] = f"b{number}"
            for arg in block.args:
                self.names[arg] = f"%a{len(self.names)}"
            bodies.append([each for each in block.ops if not self._is_constant(each)])
        # Only behind all of them it is known how one gets to a block.
        written = ["".join(map(self._line, body)) for body in bodies]
        lines = [
            "".join((f"{self.labels[block]}:", *self._phis(block), body))
            for block, body in zip(blocks, written, strict=True)
        ]
        linkage = op.linkage.linkage.data
        arguments = ", ".join(f"{type_text(a.type)} {self.names[a]}" for a in blocks[0].args)
        head = "define" if linkage == "external" else f"define {linkage}"
        output = type_text(op.function_type.output)
        name = symbol_text(op.sym_name.data)
        return "\n".join((f"{head} {output} {name}({arguments}) {{", *lines, "}"))

    def _is_constant(self, op: Operation) -> bool:
        """Names what an operation defines, and tells whether that is all there is to do."""
        if isinstance(op, llvm.ConstantOp):
            self.names[op.result] = constant_text(op.value, op.result.type)
            return True
        if isinstance(op, llvm.UndefOp):
            self.names[op.res] = "undef"
            return True
        for result in op.results:
            self.names[result] = f"%v{len(self.names)}"
        return False

    def _line(self, op: Operation) -> str:
        write = INSTRUCTIONS.get(type(op))
        if write is None:
            raise DiagnosticException(f"{op.name} is not part of kernels")
        names = self.names
        text = write(self, op, [names[operand] for operand in op.operands])
        return f"\n  {names[op.results[0]]} = {text}" if op.results else f"\n  {text}"

    def _phis(self, block: Block) -> list[str]:
        """The arguments of a block, each with its value for each way to get there."""
        ways = self.incoming.get(block)
        if ways is None:
            return []  # The arguments of the first block are those of the function.
        return [
            f"\n  {self.names[arg]} = phi {type_text(arg.type)} "
            + ", ".join(f"[{values[i]}, %{label}]" for label, values in ways)
            for i, arg in enumerate(block.args)
        ]

    def jump(self, op: Operation, target: Block, values: Sequence[str]) -> str:
        """The label of a block that an operation goes to with some values."""
        block = op.parent
        assert block is not None, "operations of functions stand in blocks"
        self.incoming.setdefault(target, []).append((self.labels[block], values))
        return f"label %{self.labels[target]}"

    def call(self, name: str, op: Operation, refs: Sequence[str]) -> str:
        """A call with all operands of an operation, of a function that is defined or declared."""
        operands = zip(op.operands, refs, strict=True)
        arguments = ", ".join(f"{type_text(value.type)} {ref}" for value, ref in operands)
        return f"call {self.result_type(op)} {symbol_text(name)}({arguments})"

    def intrinsic(self, name: str, op: Operation, refs: Sequence[str]) -> str:
        """A call of a function of LLVM."""
        if name not in self.declared:
            inputs = [operand.type for operand in op.operands]
            output = op.results[0].type if op.results else llvm.LLVMVoidType()
            self.declared[name] = declaration(name, inputs, output)
        return self.call(name, op, refs)

    @staticmethod
    def result_type(op: Operation) -> str:
        """The type of an operation's result."""
        return type_text(op.results[0].type) if op.results else "void"


def _same(name: str) -> Instruction:
    """An instruction on operands of the type of its result."""

    def write(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
        return f"{name} {type_text(op.results[0].type)} {', '.join(refs)}"

    return write


def _typed(name: str) -> Instruction:
    """An instruction on operands each of which has its type in front."""

    def write(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
        types = (type_text(operand.type) for operand in op.operands)
        return f"{name} " + ", ".join(f"{t} {ref}" for t, ref in zip(types, refs, strict=True))

    return write


def _cast(name: str) -> Instruction:
    def write(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
        types = type_text(op.operands[0].type), type_text(op.results[0].type)
        return f"{name} {types[0]} {refs[0]} to {types[1]}"

    return write


def _compare(
    name: str, flags: type[llvm.ICmpPredicateFlag] | type[llvm.FCmpPredicateFlag]
) -> Instruction:
    def write(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
        assert isinstance(op, llvm.ICmpOp | llvm.FCmpOp)
        predicate = flags.from_int(op.predicate.value.data).value
        return f"{name} {predicate} {type_text(op.lhs.type)} {refs[0]}, {refs[1]}"

    return write


def _address(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.GEPOp)
    pointer, *computed = refs
    following = iter(zip(op.ssa_indices, computed, strict=True))
    indices: list[str] = []
    for number in op.rawConstantIndices.iter_values():
        if number == llvm.GEP_USE_SSA_VAL:
            value, ref = next(following)
            indices.append(f"{type_text(value.type)} {ref}")
        else:
            indices.append(f"i32 {number}")
    return f"getelementptr {type_text(op.elem_type)}, ptr {pointer}, {', '.join(indices)}"


def _load(f: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.LoadOp)
    return f"load {f.result_type(op)}, ptr {refs[0]}{_alignment(op.alignment)}"


def _store(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.StoreOp)
    return f"store {type_text(op.value.type)} {refs[0]}, ptr {refs[1]}{_alignment(op.alignment)}"


def _alignment(alignment: IntegerAttr[IntegerType] | None) -> str:
    return "" if alignment is None else f", align {alignment.value.data}"


def _shuffle(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.ShuffleVectorOp)
    type_, lanes = type_text(op.v1.type), op.mask.get_values()
    mask = ", ".join([f"i32 {lane}" for lane in lanes])
    return f"shufflevector {type_} {refs[0]}, {type_} {refs[1]}, <{len(lanes)} x i32> <{mask}>"


def _multiply_add(f: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    return f.intrinsic(f"llvm.fma.{mangle(op.results[0].type)}", op, refs)


def _call_intrinsic(f: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.CallIntrinsicOp)
    return f.intrinsic(op.intrin.data, op, refs)


def _call(f: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.CallOp)
    if op.callee is None:
        raise DiagnosticException("a call of a pointer is not part of kernels")
    return f.call(op.callee.string_value(), op, refs)


def _jump(f: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.BrOp)
    return f"br {f.jump(op, op.successor, refs)}"


def _branch(f: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    assert isinstance(op, llvm.CondBrOp)
    count = 1 + len(op.then_arguments)
    then = f.jump(op, op.then_block, refs[1:count])
    return f"br i1 {refs[0]}, {then}, {f.jump(op, op.else_block, refs[count:])}"


def _return(_: FunctionText, op: Operation, refs: Sequence[str]) -> str:
    return f"ret {type_text(op.operands[0].type)} {refs[0]}" if refs else "ret void"


INSTRUCTIONS: dict[type[Operation], Instruction] = {
    llvm.AddOp: _same("add"),
    llvm.SubOp: _same("sub"),
    llvm.MulOp: _same("mul"),
    llvm.SDivOp: _same("sdiv"),
    llvm.UDivOp: _same("udiv"),
    llvm.SRemOp: _same("srem"),
    llvm.URemOp: _same("urem"),
    llvm.AndOp: _same("and"),
    llvm.OrOp: _same("or"),
    llvm.XOrOp: _same("xor"),
    llvm.ShlOp: _same("shl"),
    llvm.LShrOp: _same("lshr"),
    llvm.AShrOp: _same("ashr"),
    llvm.FAddOp: _same("fadd"),
    llvm.FSubOp: _same("fsub"),
    llvm.FMulOp: _same("fmul"),
    llvm.FDivOp: _same("fdiv"),
    llvm.FRemOp: _same("frem"),
    llvm.FNegOp: _same("fneg"),
    llvm.FMAOp: _multiply_add,
    llvm.TruncOp: _cast("trunc"),
    llvm.ZExtOp: _cast("zext"),
    llvm.SExtOp: _cast("sext"),
    llvm.FPExtOp: _cast("fpext"),
    llvm.FPTruncOp: _cast("fptrunc"),
    llvm.SIToFPOp: _cast("sitofp"),
    llvm.PtrToIntOp: _cast("ptrtoint"),
    llvm.IntToPtrOp: _cast("inttoptr"),
    llvm.BitcastOp: _cast("bitcast"),
    llvm.ICmpOp: _compare("icmp", llvm.ICmpPredicateFlag),
    llvm.FCmpOp: _compare("fcmp", llvm.FCmpPredicateFlag),
    llvm.SelectOp: _typed("select"),
    llvm.GEPOp: _address,
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.InsertElementOp: _typed("insertelement"),
    llvm.ShuffleVectorOp: _shuffle,
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.CallOp: _call,
    llvm.BrOp: _jump,
    llvm.CondBrOp: _branch,
    llvm.ReturnOp: _return,
}
"""The operations of kernels; constants stand in their users."""
