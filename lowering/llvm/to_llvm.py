"""
The one conversion from kernel IR to the llvm dialect.

Every function is rebuilt in a single walk: scf loops become blocks with arguments, arith, math
and vector operations their llvm counterparts, and llvm operations move over as they are.

bf16, which llvmlite has no type for and most processors no registers, becomes i16: kernels only move
such elements, and convert them by their bits.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects import arith, func, llvm, math, scf, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    VectorType,
    bf16,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import DiagnosticException

from xrelay.lowering.emit.attributes import (
    BRANCH_WITHOUT_ARGUMENTS,
    intrinsic_call,
    lane_mask,
    predicate_attribute,
)
from xrelay.lowering.emit.builder import mangle
from xrelay.lowering.emit.index import is_vector_type, lanes_of

Operands: TypeAlias = Sequence[SSAValue]
Converter: TypeAlias = Callable[["FunctionConverter", Operation, Operands], SSAValue | None]

PUBLIC_ATTRIBUTE = "xrelay.entry"
"""Marks the function that callers of the compiled program call."""


def convert_module(module: ModuleOp, triple: str | None = None) -> None:
    """
    Replaces the kernel IR of a module by the llvm dialect, in place.

    Raises DiagnosticException for operations that are not part of kernel IR.
    """
    block = module.body.block
    for op in list(block.ops):
        if isinstance(op, func.FuncOp):
            block.insert_op_before(FunctionConverter().convert(op), op)
            op.detach()
            op.erase(safe_erase=False)
        elif not isinstance(op, llvm.FuncOp | llvm.GlobalOp):
            raise DiagnosticException(
                f"{op.name} is not part of kernel IR; run convert-relay-to-kernels before"
            )
    if triple is not None:
        module.attributes["llvm.target_triple"] = StringAttr(triple)


@dataclass(eq=False)
class FunctionConverter:
    """Rebuilds one function."""

    blocks: list[Block] = field(default_factory=list[Block])
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _shared: dict[Hashable, SSAValue] = field(default_factory=dict[Hashable, SSAValue])

    def convert(self, function: func.FuncOp) -> llvm.FuncOp:
        """The function in the llvm dialect."""
        if len(function.body.blocks) != 1:
            raise DiagnosticException(
                f"function '{function.sym_name.data}' is not part of kernel IR: it has "
                f"{len(function.body.blocks)} blocks, expected one"
            )
        old = function.body.block
        self.start_block(old.arg_types)
        self.values.update(zip(old.args, self.blocks[0].args, strict=True))
        self.convert_block(old)
        is_entry = PUBLIC_ATTRIBUTE in function.attributes
        type_ = llvm.LLVMFunctionType(list(old.arg_types), llvm.LLVMVoidType())
        return llvm.FuncOp(
            function.sym_name.data,
            type_,
            linkage=llvm.LinkageAttr("external" if is_entry else "internal"),
            body=Region(self.blocks),
            extra_attrs=dict(function.attributes),
        )

    def insert(self, op: Operation) -> Operation:
        """Appends to the current block."""
        self.blocks[-1].add_op(op)
        return op

    def emit(self, op: Operation) -> SSAValue:
        """Appends an operation with one result."""
        return self.insert(op).results[0]

    def start_block(self, arg_types: Sequence[Attribute] = ()) -> Block:
        """Opens a new block at the end of the function."""
        block = Block(arg_types=[held(type_) for type_ in arg_types])
        self.blocks.append(block)
        return block

    def shared(self, key: Hashable, build: Callable[[], Operation]) -> SSAValue:
        """A value without operands, made once, at the top of the function."""
        known = self._shared.get(key)
        if known is None:
            op = build()
            Rewriter.insert_op(op, InsertPoint.at_start(self.blocks[0]))
            known = self._shared[key] = op.results[0]
        return known

    def mapped(self, operands: Operands) -> list[SSAValue]:
        """The new values of old ones; operations that moved over keep their results."""
        return [self.values.get(operand, operand) for operand in operands]

    def convert_block(self, block: Block) -> Operands:
        """Converts the operations of a block; returns what its terminator passes on."""
        for op in tuple(block.ops):
            kind = type(op)
            operands = self.mapped(op.operands)
            if (converter := CONVERTERS.get(kind)) is not None:
                result = converter(self, op, operands)
                if result is not None:
                    self.values[op.results[0]] = result
            elif kind in ENDS:
                return operands
            elif (control := CONTROL.get(kind)) is not None:
                control(self, op)
            elif op.dialect_name() == "llvm":
                op.detach()
                op.operands = operands
                hold_bfloats(op)
                self.insert(op)
            else:
                raise DiagnosticException(f"{op.name} is not part of kernel IR")
        return ()

    def branch(self, target: Block, *values: SSAValue) -> llvm.BrOp:
        """A jump to a block with arguments."""
        return llvm.BrOp.create(operands=values, successors=[target])

    def branch_if(self, condition: SSAValue, then: Block, otherwise: Block) -> llvm.CondBrOp:
        """A jump to one of two blocks without arguments."""
        return llvm.CondBrOp.create(
            operands=[condition],
            successors=[then, otherwise],
            properties=BRANCH_WITHOUT_ARGUMENTS,
        )

    def convert_for(self, op: Operation) -> None:
        """The test stands at the top: a loop may have no round."""
        assert isinstance(op, scf.ForOp)
        start, stop, step = self.mapped((op.lb, op.ub, op.step))
        carried = self.mapped(op.iter_args)
        before = self.blocks[-1]
        header = self.start_block([value.type for value in (start, *carried)])
        before.add_op(self.branch(header, start, *carried))
        test = self.emit(llvm.ICmpOp(header.args[0], stop, predicate_attribute("slt")))
        body = self.start_block()
        self.values.update(zip(op.body.block.args, header.args, strict=True))
        results = self.convert_block(op.body.block)
        following = self.emit(llvm.AddOp(header.args[0], step))
        self.insert(self.branch(header, following, *results))
        after = self.start_block()
        header.add_op(self.branch_if(test, body, after))
        self.values.update(zip(op.results, header.args[1:], strict=True))

    def convert_while(self, op: Operation) -> None:
        """The block that tests jumps to the body or behind it, with the values that it passes on."""
        assert isinstance(op, scf.WhileOp)
        initial = self.mapped(op.arguments)
        before = self.blocks[-1]
        header = self.start_block([value.type for value in initial])
        before.add_op(self.branch(header, *initial))
        self.values.update(zip(op.before_region.block.args, header.args, strict=True))
        condition, *passed = self.convert_block(op.before_region.block)
        tested = self.blocks[-1]
        body = self.start_block()
        self.values.update(zip(op.after_region.block.args, passed, strict=True))
        self.insert(self.branch(header, *self.convert_block(op.after_region.block)))
        after = self.start_block()
        tested.add_op(self.branch_if(condition, body, after))
        self.values.update(zip(op.results, passed, strict=True))

    def convert_if(self, op: Operation) -> None:
        """Both branches jump to a block whose arguments are the results."""
        assert isinstance(op, scf.IfOp)
        (condition,) = self.mapped((op.cond,))
        before = self.blocks[-1]
        ends: list[tuple[Block, Operands]] = []
        starts: list[Block] = []
        for region in (op.true_region, op.false_region):
            starts.append(self.start_block())
            results: Operands = self.convert_block(region.block) if region.blocks else ()
            ends.append((self.blocks[-1], results))
        before.add_op(self.branch_if(condition, starts[0], starts[1]))
        after = self.start_block([result.type for result in op.results])
        for end, results in ends:
            end.add_op(self.branch(after, *results))
        self.values.update(zip(op.results, after.args, strict=True))


def held(type_: Attribute) -> Attribute:
    """The type of the values that are kept for those of a type: i16 for bf16."""
    if isinstance(type_, BFloat16Type):
        return i16
    if is_vector_type(type_) and isinstance(type_.element_type, BFloat16Type):
        return VectorType(i16, type_.get_shape())
    return type_


def hold_bfloats(op: Operation) -> None:
    """Lets an operation of the llvm dialect have i16 where it has bf16."""
    for result in op.results:
        if (type_ := held(result.type)) is not result.type:
            Rewriter.replace_value_with_new_type(result, type_)
    if isinstance(op, llvm.GEPOp) and isinstance(op.elem_type, BFloat16Type):
        op.elem_type = i16


def _same(op_type: type[Operation]) -> Converter:
    """
    The operation on the same operands, of the type of the first. Constructors are slow, and the
    properties that they set are always the same: only the first operation comes from one.
    """
    defaults: list[dict[str, Attribute]] = []

    def convert(c: FunctionConverter, op: Operation, operands: Operands) -> SSAValue:
        if not defaults:
            first = cast(Callable[..., Operation], op_type)(*operands)
            defaults.append(first.properties)
            first.drop_all_references()
        new = op_type.create(
            operands=operands, result_types=[operands[0].type], properties=defaults[0]
        )
        return c.emit(new)

    return convert


def _intrinsic(name: str) -> Converter:
    def convert(c: FunctionConverter, op: Operation, operands: Operands) -> SSAValue:
        type_ = op.results[0].type
        full_name = f"llvm.{name}.{mangle(type_)}"
        call = llvm.CallIntrinsicOp.create(
            operands=operands,
            result_types=[type_],
            properties=intrinsic_call(full_name, len(operands)),
        )
        return c.emit(call)

    return convert


def _constant(c: FunctionConverter, op: Operation, _: Operands) -> SSAValue:
    assert isinstance(op, arith.ConstantOp)
    type_ = op.result.type
    if (own := held(type_)) is type_:
        properties = {"value": op.value}
        return c.emit(llvm.ConstantOp.create(result_types=[type_], properties=properties))
    match op.value:
        case FloatAttr(value=number):
            (bits,) = i16.unpack(bf16.pack([number.data]), 1)
            return c.emit(llvm.ConstantOp(IntegerAttr(bits, i16), own))
        case DenseIntOrFPElementsAttr(data=numbers):
            vector_type = VectorType(i16, [lanes_of(op.result)])
            return c.emit(llvm.ConstantOp(DenseIntOrFPElementsAttr(vector_type, numbers), own))
        case other:
            raise DiagnosticException(f"a constant {other} is not part of kernel IR")


def _compare_integers(c: FunctionConverter, op: Operation, operands: Operands) -> SSAValue:
    assert isinstance(op, arith.CmpiOp)
    return c.emit(
        llvm.ICmpOp.create(
            operands=operands,
            result_types=[op.result.type],
            properties={"predicate": op.predicate},
        )
    )


def _compare_floats(c: FunctionConverter, op: Operation, operands: Operands) -> SSAValue:
    assert isinstance(op, arith.CmpfOp)
    lhs, rhs = operands
    return c.emit(llvm.FCmpOp(lhs, rhs, IntegerAttr(op.predicate.value.data, i64)))


def _select(c: FunctionConverter, op: Operation, operands: Operands) -> SSAValue:
    return c.emit(llvm.SelectOp(*operands))


def _broadcast(c: FunctionConverter, op: Operation, operands: Operands) -> SSAValue:
    (scalar,), type_ = operands, held(op.results[0].type)
    lanes = lanes_of(op.results[0])
    undefined = c.shared(type_, lambda: llvm.UndefOp(type_))
    zero = c.shared(0, lambda: llvm.ConstantOp(IntegerAttr(0, i32), i32))
    operands = (undefined, scalar, zero)
    first = c.emit(llvm.InsertElementOp.create(operands=operands, result_types=[type_]))
    return c.emit(
        llvm.ShuffleVectorOp.create(
            operands=[first, first],
            result_types=[type_],
            properties={"mask": lane_mask(*[0] * lanes)},
        )
    )


def _call(c: FunctionConverter, op: Operation, operands: Operands) -> None:
    assert isinstance(op, func.CallOp)
    c.insert(llvm.CallOp(op.callee, *operands))


def _return(c: FunctionConverter, op: Operation, _: Operands) -> None:
    c.insert(llvm.ReturnOp())


ENDS = frozenset[type[Operation]]((scf.YieldOp, scf.ConditionOp))
"""What blocks of loops and branches end with."""

CONTROL: dict[type[Operation], Callable[[FunctionConverter, Operation], None]] = {
    scf.ForOp: FunctionConverter.convert_for,
    scf.WhileOp: FunctionConverter.convert_while,
    scf.IfOp: FunctionConverter.convert_if,
}

CONVERTERS: dict[type[Operation], Converter] = {
    arith.ConstantOp: _constant,
    arith.AddiOp: _same(llvm.AddOp),
    arith.SubiOp: _same(llvm.SubOp),
    arith.MuliOp: _same(llvm.MulOp),
    arith.DivSIOp: _same(llvm.SDivOp),
    arith.DivUIOp: _same(llvm.UDivOp),
    arith.RemSIOp: _same(llvm.SRemOp),
    arith.RemUIOp: _same(llvm.URemOp),
    arith.AndIOp: _same(llvm.AndOp),
    arith.OrIOp: _same(llvm.OrOp),
    arith.XOrIOp: _same(llvm.XOrOp),
    arith.ShLIOp: _same(llvm.ShlOp),
    arith.ShRUIOp: _same(llvm.LShrOp),
    arith.ShRSIOp: _same(llvm.AShrOp),
    arith.MaxSIOp: _intrinsic("smax"),
    arith.MaxUIOp: _intrinsic("umax"),
    arith.MinSIOp: _intrinsic("smin"),
    arith.MinUIOp: _intrinsic("umin"),
    arith.AddfOp: _same(llvm.FAddOp),
    arith.SubfOp: _same(llvm.FSubOp),
    arith.MulfOp: _same(llvm.FMulOp),
    arith.DivfOp: _same(llvm.FDivOp),
    arith.NegfOp: _same(llvm.FNegOp),
    arith.MaximumfOp: _intrinsic("maximum"),
    arith.MaxnumfOp: _intrinsic("maxnum"),
    arith.MinimumfOp: _intrinsic("minimum"),
    arith.MinnumfOp: _intrinsic("minnum"),
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    math.AbsFOp: _intrinsic("fabs"),
    math.CeilOp: _intrinsic("ceil"),
    math.FloorOp: _intrinsic("floor"),
    math.FmaOp: _same(llvm.FMAOp),
    math.RoundEvenOp: _intrinsic("roundeven"),
    math.SqrtOp: _intrinsic("sqrt"),
    math.TruncOp: _intrinsic("trunc"),
    vector.BroadcastOp: _broadcast,
    func.CallOp: _call,
    func.ReturnOp: _return,
}
