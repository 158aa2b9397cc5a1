"""
A relay function as a program: kernels, and an entry function that calls them one after the other.

    values ──► storage: an input, an output, a constant, or a buffer of the workspace
    steps  ──► kernel calls and copies; reshapes, tuples and annotations are none
    buffers ──► offsets in the workspace, shared between buffers that never live together

The entry function has a plain C signature:

    void <name>(const void *const *inputs, void *const *outputs,
                const void *constants, void *workspace)

All tensors are row-major. Constants and workspace are aligned to 64 bytes.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i8,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.annotation import AnnotationOp
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core import (
    ONNX_NAME,
    BlobAttr,
    CompositeOp,
    ConstantOp,
    FusedOp,
    RefCreateOp,
    RefReadOp,
    RefType,
    RefWriteOp,
    TupleGetItemOp,
    TupleOp,
    YieldOp,
)
from xrelay.dialects.traits import ReshapeOnly
from xrelay.lowering.core import source_leaf
from xrelay.lowering.elements import element, leaf_types
from xrelay.lowering.evaluate import Leaf
from xrelay.lowering.group import Group, group_of
from xrelay.lowering.kernel import Kernel, build_kernel
from xrelay.lowering.memory_plan import ALIGNMENT, Lifetime, plan_memory
from xrelay.lowering.target import Target
from xrelay.lowering.to_llvm import PUBLIC_ATTRIBUTE

WORKSPACE_ATTRIBUTE = "xrelay.workspace_bytes"
CONSTANT_BYTES_ATTRIBUTE = "xrelay.constant_bytes"
CONSTANTS_ATTRIBUTE = "xrelay.constants"
"""What a caller has to provide: module attributes of a lowered program. The last one lists where
in the constants which value is expected."""


@dataclass(frozen=True)
class Port:
    """An input or output of a program."""

    name: str
    type: TensorType[Attribute]


@dataclass(frozen=True)
class ConstantData:
    """The bytes of a constant, and where they lie among the constants of a program."""

    offset: int
    op: ConstantOp
    size: int

    @property
    def data(self) -> bytes | memoryview:
        """
        The elements, little-endian and row-major.

        Raises DiagnosticException when the program was read from text without them.
        """
        value = self.op.value
        if isinstance(value, DenseIntOrFPElementsAttr):
            return value.data.data
        assert isinstance(value, BlobAttr)
        if value.data.data is None:
            raise DiagnosticException(
                f"the bytes of constant {value.data.key} are missing: the program was read from "
                "text without the side file that holds its weights"
            )
        return value.data.data


@dataclass(frozen=True)
class Program:
    """A lowered function."""

    name: str
    module: ModuleOp
    """Kernel IR: the kernels and the entry function."""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: tuple[ConstantData, ...]
    constant_bytes: int
    workspace_bytes: int
    steps: int
    """How many kernel calls and copies the entry function makes."""


@dataclass(frozen=True)
class _Storage:
    """Where a tensor lies: in a numbered input or output, at an offset in the constants, or in a
    numbered buffer of the workspace."""

    place: str
    number: int


@dataclass(frozen=True)
class _Step:
    """One call of a kernel (`kernel` None: a copy of `size` bytes) on tensors."""

    kernel: Kernel | None
    reads: tuple[_Storage, ...]
    writes: tuple[_Storage, ...]
    size: int = 0


def lower_function(function: func.FuncOp, target: Target) -> Program:
    """
    Lowers a relay function with static shapes.

    Raises DiagnosticException for what has no code: unknown dimensions, operators of other
    dialects, dtypes without kernels.
    """
    blocks = function.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0].last_op, func.ReturnOp):
        raise DiagnosticException(
            f"function '{function.sym_name.data}' cannot be lowered: it is not one block that "
            "ends in func.return"
        )
    return _Lowering(function, target).run()


def entry_function(module: ModuleOp, name: str | None = None) -> func.FuncOp:
    """The function called `name`; by default `main`, or the only one with a body."""
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    named = [op for op in functions if op.sym_name.data == (name or "main")]
    if named:
        return named[0]
    if name is None and len(functions) == 1:
        return functions[0]
    known = ", ".join(op.sym_name.data for op in functions) or "none"
    raise DiagnosticException(f"no function '{name or 'main'}' to lower; the module has {known}")


def ports(function: func.FuncOp) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Names and types of what a function takes and returns, tuples flattened."""
    attrs = function.arg_attrs.data if function.arg_attrs else ()
    inputs: list[Port] = []
    for i, arg in enumerate(function.args):
        name = _port_name(attrs, i) or arg.name_hint or f"input{i}"
        inputs.extend(_leaf_ports(name, arg.type))
    attrs = function.res_attrs.data if function.res_attrs else ()
    terminator = function.body.block.last_op
    assert isinstance(terminator, func.ReturnOp)
    outputs: list[Port] = []
    for i, value in enumerate(terminator.operands):
        outputs.extend(_leaf_ports(_port_name(attrs, i) or f"output{i}", value.type))
    for what, listed in (("inputs", inputs), ("outputs", outputs)):
        names = [port.name for port in listed]
        if len(set(names)) != len(names):
            raise DiagnosticException(f"two {what} have the same name: {', '.join(names)}")
    return tuple(inputs), tuple(outputs)


def _port_name(attrs: Sequence[DictionaryAttr], i: int) -> str | None:
    name = attrs[i].data.get(ONNX_NAME) if i < len(attrs) else None
    return name.data if isinstance(name, StringAttr) else None


def _leaf_ports(name: str, type_: Attribute) -> Iterator[Port]:
    if isinstance(type_, RefType):
        raise DiagnosticException(f"'{name}' is a reference, which cannot leave the program")
    leaves = leaf_types(type_)
    for i, leaf in enumerate(leaves):
        yield Port(name if isinstance(type_, TensorType) else f"{name}.{i}", leaf)


def _value_types(type_: Attribute) -> tuple[TensorType[Attribute], ...]:
    """The tensors of a value; those in its cell for a reference."""
    return leaf_types(type_.value if isinstance(type_, RefType) else type_)


def _byte_size(type_: TensorType[Attribute]) -> int:
    return prod(type_.get_shape()) * element(type_.element_type).bytes


@dataclass(eq=False)
class _Lowering:
    function: func.FuncOp
    target: Target
    storage: dict[Leaf, _Storage] = field(default_factory=dict[Leaf, _Storage])
    wanted: dict[Leaf, _Storage] = field(default_factory=dict[Leaf, _Storage])
    """Results that kernels write straight to an output."""
    steps: list[_Step] = field(default_factory=list[_Step])
    buffer_sizes: list[int] = field(default_factory=list[int])
    constants: dict[Hashable, ConstantData] = field(default_factory=dict[Hashable, ConstantData])
    constant_bytes: int = 0
    kernels: dict[Hashable, Kernel] = field(default_factory=dict[Hashable, Kernel])
    names: dict[str, int] = field(default_factory=dict[str, int])
    """How many functions have each name, up to a number at its end, less one."""

    def run(self) -> Program:
        self.names[self.function.sym_name.data] = 0
        block = self.function.body.block
        inputs, outputs = ports(self.function)
        number = 0
        for arg in block.args:
            for i in range(len(leaf_types(arg.type))):
                self.storage[arg, i] = _Storage("input", number)
                number += 1
        returned = [
            (value, i)
            for value in _terminator(block).operands
            for i in range(len(leaf_types(value.type)))
        ]
        for i, leaf in enumerate(returned):
            self.wanted.setdefault(self.origin(leaf), _Storage("output", i))
        for op in block.ops:
            self.lower(op)
        for i, leaf in enumerate(returned):
            source, place = self.locate(leaf), _Storage("output", i)
            if source != place:
                self.copy(source, place, _byte_size(outputs[i].type))
        return self.finish(inputs, outputs)

    # -- where tensors lie --------------------------------------------------------------------

    def origin(self, leaf: Leaf) -> Leaf:
        """
        The tensor whose memory this one shares, through tuples, annotations, reshapes and the
        borders of composites.
        """
        while True:
            leaf = source_leaf(leaf)
            source = _origin_step(*leaf)
            if source is None:
                return leaf
            if _leaf_bytes(source) != _leaf_bytes(leaf):
                raise DiagnosticException(
                    f"{leaf[0].type} and {source[0].type} are one tensor in memory, but differ "
                    "in size"
                )
            leaf = source

    def locate(self, leaf: Leaf) -> _Storage:
        """Where a tensor lies."""
        leaf = self.origin(leaf)
        if leaf not in self.storage:
            op = leaf[0].owner
            assert isinstance(op, ConstantOp)
            self.storage[leaf] = self.constant(op)
        return self.storage[leaf]

    def constant(self, op: ConstantOp) -> _Storage:
        """A place among the constants; equal ones share it."""
        key = (op.value, op.result.type)
        known = self.constants.get(key)
        if known is None:
            size = _byte_size(op.result.type)
            known = self.constants[key] = ConstantData(self.constant_bytes, op, size)
            self.constant_bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return _Storage("constant", known.offset)

    def new_buffer(self, size: int) -> _Storage:
        """A buffer of the workspace."""
        self.buffer_sizes.append(size)
        return _Storage("buffer", len(self.buffer_sizes) - 1)

    def result_storage(self, op: Operation) -> tuple[_Storage, ...]:
        """Places for the tensors that an operation computes."""
        value = op.results[0]
        for i, type_ in enumerate(_value_types(value.type)):
            place = self.wanted.get((value, i)) or self.new_buffer(_byte_size(type_))
            self.storage[value, i] = place
        return tuple(self.storage[value, i] for i in range(len(_value_types(value.type))))

    # -- operations ---------------------------------------------------------------------------

    def lower(self, op: Operation) -> None:
        """Adds the steps of one operation."""
        match op:
            case func.ReturnOp() | YieldOp() | ConstantOp() | AnnotationOp():
                return
            case TupleOp() | TupleGetItemOp():
                return
            case RefCreateOp():
                self.copy_leaves(op.value, op.result, self.result_storage(op))
            case RefReadOp():
                self.copy_leaves(op.ref, op.result, self.result_storage(op))
            case RefWriteOp():
                count = len(_value_types(op.value.type))
                cell = tuple(self.locate((op.ref, i)) for i in range(count))
                self.copy_leaves(op.value, op.value, cell)
            case CompositeOp():
                for inner in op.block.ops:
                    self.lower(inner)
            case FusedOp() | RelayOp():
                if self.origin((op.results[0], 0)) == (op.results[0], 0):
                    self.call(op)
            case _:
                raise DiagnosticException(
                    f"{op.name} cannot be lowered: only operators of the relay dialect are"
                )

    def copy_leaves(self, source: SSAValue, like: SSAValue, places: Sequence[_Storage]) -> None:
        """Copies every tensor of a value, or of the cell of a reference."""
        for i, type_ in enumerate(_value_types(like.type)):
            self.copy(self.locate((source, i)), places[i], _byte_size(type_))

    def copy(self, source: _Storage, place: _Storage, size: int) -> None:
        """Adds a copy."""
        self.steps.append(_Step(None, (source,), (place,), size))

    def call(self, op: Operation) -> None:
        """Adds the call of a kernel."""
        group = group_of(op)
        kernel = self.kernel(group)
        reads = [
            self.locate((arg, i)) for arg in group.args for i in range(len(leaf_types(arg.type)))
        ]
        reads.extend(self.constant(constant) for constant in group.constants)
        self.steps.append(_Step(kernel, tuple(reads), self.result_storage(op)))

    def kernel(self, group: Group) -> Kernel:
        """The kernel of a group; groups of the same structure share one."""
        key = group.key()
        known = self.kernels.get(key)
        if known is None:
            base = group.name()
            number = self.names[base] = self.names.get(base, -1) + 1
            name = base if number == 0 else f"{base}_{number}"
            known = self.kernels[key] = build_kernel(group, name, self.target)
        return known

    # -- the entry function ---------------------------------------------------------------------

    def finish(self, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> Program:
        """Plans the memory and writes the entry function."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        lifetimes: list[Lifetime] = []
        for number, step in enumerate(self.steps):
            for place in (*step.reads, *step.writes):
                if place.place == "buffer":
                    first.setdefault(place.number, number)
                    last[place.number] = number
        for buffer, size in enumerate(self.buffer_sizes):
            lifetimes.append(Lifetime(size, first[buffer], last[buffer]))
        for number, step in enumerate(self.steps):
            scratch = step.kernel.scratch_bytes if step.kernel else 0
            lifetimes.append(Lifetime(scratch, number, number))
        plan = plan_memory(lifetimes)
        entry = self.entry(plan.offsets)
        module = ModuleOp([*(kernel.function for kernel in self.kernels.values()), entry])
        module.attributes[WORKSPACE_ATTRIBUTE] = IntegerAttr(plan.size, i64)
        module.attributes[CONSTANT_BYTES_ATTRIBUTE] = IntegerAttr(self.constant_bytes, i64)
        module.attributes[CONSTANTS_ATTRIBUTE] = ArrayAttr(
            [
                DictionaryAttr({"offset": IntegerAttr(each.offset, i64), "value": each.op.value})
                for each in self.constants.values()
            ]
        )
        return Program(
            entry.sym_name.data,
            module,
            inputs,
            outputs,
            tuple(self.constants.values()),
            self.constant_bytes,
            plan.size,
            len(self.steps),
        )

    def entry(self, offsets: Sequence[int]) -> func.FuncOp:
        """The function that runs the steps."""
        pointer = LLVMPointerType()
        block = Block(arg_types=[pointer] * 4)
        for arg, name in zip(
            block.args, ("inputs", "outputs", "constants", "workspace"), strict=True
        ):
            arg.name_hint = name
        writer = _EntryWriter(block, offsets)
        buffers = len(self.buffer_sizes)
        for number, step in enumerate(self.steps):
            if step.kernel is None:
                writer.copy(step.reads[0], step.writes[0], step.size)
                continue
            places = [*step.reads, *step.writes, _Storage("buffer", buffers + number)]
            block.add_op(
                func.CallOp(step.kernel.function.sym_name.data, [*map(writer.address, places)], [])
            )
        block.add_op(func.ReturnOp())
        function = func.FuncOp(
            self.function.sym_name.data, FunctionType.from_lists(block.arg_types, []), Region(block)
        )
        function.attributes[PUBLIC_ATTRIBUTE] = UnitAttr()
        return function


@dataclass(eq=False)
class _EntryWriter:
    """Writes the addresses of tensors into the entry function, each once."""

    block: Block
    offsets: Sequence[int]
    addresses: dict[_Storage, SSAValue] = field(default_factory=dict[_Storage, SSAValue])

    def emit(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def number(self, value: int) -> SSAValue:
        return self.emit(llvm.ConstantOp(IntegerAttr(value, i64), i64))

    def address(self, place: _Storage) -> SSAValue:
        """The address of a tensor."""
        known = self.addresses.get(place)
        if known is not None:
            return known
        inputs, outputs, constants, workspace = self.block.args
        match place.place:
            case "input" | "output":
                table = inputs if place.place == "input" else outputs
                pointer = LLVMPointerType()
                slot = self.emit(llvm.GEPOp(table, [place.number], pointer))
                known = self.emit(llvm.LoadOp(slot, pointer, alignment=8))
            case "constant":
                known = self.offset(constants, place.number)
            case _:
                known = self.offset(workspace, self.offsets[place.number])
        self.addresses[place] = known
        return known

    def offset(self, base: SSAValue, offset: int) -> SSAValue:
        # GEP takes 32-bit literals only, and weights can be larger.
        index = self.number(offset)
        return self.emit(llvm.GEPOp(base, [llvm.GEP_USE_SSA_VAL], i8, [index]))

    def copy(self, source: _Storage, place: _Storage, size: int) -> None:
        """A copy of bytes."""
        args = [self.address(place), self.address(source), self.number(size)]
        volatile = self.emit(
            llvm.ConstantOp(BoolAttr.from_bool(False), BoolAttr.from_bool(False).type)
        )
        self.block.add_op(llvm.CallIntrinsicOp("llvm.memcpy.p0.p0.i64", [*args, volatile], []))


def _leaf_bytes(leaf: Leaf) -> int:
    return _byte_size(_value_types(leaf[0].type)[leaf[1]])


def _terminator(block: Block) -> Operation:
    terminator = block.last_op
    assert terminator is not None
    return terminator


def _origin_step(value: SSAValue, number: int) -> Leaf | None:
    """The tensor that this one is under another name or in another shape, if it is."""
    match value.owner:
        case Block() as block:
            op = block.parent_op()
            assert isinstance(value, BlockArgument)
            return (op.args[value.index], number) if isinstance(op, CompositeOp) else None
        case CompositeOp() as op:
            return op.yielded, number
        case FusedOp() as op if op.reshape_only is not None:
            return _reshape_source(op)
        case RelayOp() as op if op.has_trait(ReshapeOnly):
            return op.operands[0], 0
        case _:
            return None


def _reshape_source(op: FusedOp) -> Leaf | None:
    """What a fused operator that only reshapes gets its elements from."""
    value: SSAValue = op.yielded
    while not isinstance(value, BlockArgument):
        owner = value.owner
        if not (isinstance(owner, RelayOp) and owner.has_trait(ReshapeOnly)):
            return None
        value = owner.operands[0]
    return op.args[value.index], 0
