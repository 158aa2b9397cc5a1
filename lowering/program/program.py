"""
A relay function as a program: kernels, and an entry function that calls them one after the other.

    values ──► storage: an input, an output, a constant, or a buffer of the workspace
    steps  ──► kernel calls and copies; reshapes, tuples and annotations are none
    buffers ──► offsets in the workspace, shared between buffers that never live together

Every thread of a team runs the entry function:

    void <name>(const void *const *inputs, void *const *outputs,
                const void *constants, void *workspace,
                int64_t thread, int64_t threads, void *team)

Inputs and outputs are row-major. Constants and workspace are aligned to 64 bytes. `team` is what
`xrelay_barrier(team, threads)` is given, and `xrelay_stamp(team, step)` in programs that take the
time of their steps; both are functions of the run time.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xrelay.analysis.facts.memory_plan import ALIGNMENT, Lifetime, plan_memory
from xrelay.analysis.facts.operation_count import operation_count
from xrelay.analysis.facts.ports import Port, ports
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.annotation import AnnotationOp
from xrelay.dialects.core.values import (
    CompositeOp,
    ConstantOp,
    FusedOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
    TupleGetItemOp,
    TupleOp,
    YieldOp,
)
from xrelay.dialects.shapes import HasNoCode, leaf_types
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.emit.format import Format
from xrelay.lowering.emit.group import Group, group_of
from xrelay.lowering.emit.packing import Packing
from xrelay.lowering.program.control_flow import check_straight
from xrelay.lowering.program.entry import COPY, Call, Step, declarations, write_entry
from xrelay.lowering.program.kernel import Kernel, build_kernel, group_inputs
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.selection import Choice, Choices, select_strategies
from xrelay.lowering.program.storage import (
    Storage,
    StoragePlan,
    byte_size,
    leaf_bytes,
    origin,
    plan_storage,
    tensor_type_of,
    value_types,
)

WORKSPACE_ATTRIBUTE = "xrelay.workspace_bytes"
CONSTANT_BYTES_ATTRIBUTE = "xrelay.constant_bytes"
CONSTANTS_ATTRIBUTE = "xrelay.constants"
"""What a caller has to provide: module attributes of a lowered program. The last one lists where
in the constants which value is expected."""


@dataclass(frozen=True)
class ConstantData:
    """A constant, and where its elements lie among the constants of a program."""

    offset: int
    op: ConstantOp
    size: int
    packing: Packing | None = None
    """The order of elements that the kernels expect; row-major by default."""


@dataclass(frozen=True)
class PlacedTensor:
    """A tensor in a buffer."""

    type: TensorType[Attribute]
    format: Format
    offset: int
    """Bytes from the start of the buffer to the element at the origin."""
    step: int
    """The first step that writes it."""
    relation: str
    """`own` for one that the buffer was made for, `part` of a concatenation, `in place` of another
    tensor."""


@dataclass(frozen=True)
class PlacedBuffer:
    """A piece of the workspace."""

    offset: int
    size: int
    first: int
    last: int
    """The steps during which it is in use, both included."""
    tensors: tuple[PlacedTensor, ...]
    """In the order in which they are written. None for the scratch memory of a step."""


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
    steps: tuple[Step, ...]
    """The kernel calls and copies that the entry function makes."""
    buffers: tuple[PlacedBuffer, ...]
    """What lies in the workspace: the buffers of tensors, then the scratch memory of steps."""


def lower_function(
    function: func.FuncOp, options: KernelOptions, *, profile: bool = False
) -> Program:
    """
    Lowers a relay function with static shapes, whose operators are computed as it states; what it
    does not state is chosen, and written into it. `profile` makes the program take the time of its
    steps.

    Raises DiagnosticException for what has no code: control flow, functions as values, data types,
    unknown dimensions, operators of other dialects, dtypes without kernels.
    """
    require_lowerable(function)
    inputs, outputs = ports(function)
    choices = select_strategies(function, options)  # Operators by themselves become regions.
    wanted: dict[Leaf, Storage] = {}
    for i, leaf in enumerate(_returned(function)):
        wanted.setdefault(origin(leaf), Storage("output", i))
    plan = plan_storage(function.body.block, choices, wanted)
    return _Lowering(function, options, profile, choices, plan, wanted).run(inputs, outputs)


def require_lowerable(function: func.FuncOp) -> None:
    """
    Raises HasNoCode for a function that is more than operators on tensors one after the
    other.
    """
    blocks = function.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0].last_op, func.ReturnOp):
        raise HasNoCode(
            f"function '{function.sym_name.data}' cannot be lowered: it is not one block that "
            "ends in func.return"
        )
    check_straight(function)


@dataclass(eq=False)
class _Lowering:
    function: func.FuncOp
    options: KernelOptions
    profile: bool
    choices: Choices
    plan: StoragePlan
    wanted: dict[Leaf, Storage]
    """Results that kernels write straight to an output."""
    storage: dict[Leaf, Storage] = field(default_factory=dict[Leaf, Storage])
    placed: list[tuple[Leaf, int]] = field(default_factory=list[tuple[Leaf, int]])
    """The tensors that steps write, in order, each with the number of the first step."""
    calls: list[Call] = field(default_factory=list[Call])
    buffer_sizes: list[int] = field(default_factory=list[int])
    constants: dict[Hashable, ConstantData] = field(default_factory=dict[Hashable, ConstantData])
    constant_bytes: int = 0
    kernels: dict[Hashable, Kernel] = field(default_factory=dict[Hashable, Kernel])
    names: dict[str, int] = field(default_factory=dict[str, int])
    """How many functions have each name, up to a number at its end, less one."""

    def run(self, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> Program:
        self.names[self.function.sym_name.data] = 0
        block = self.function.body.block
        number = 0
        for arg in block.args:
            for i in range(len(leaf_types(arg.type))):
                self.storage[arg, i] = Storage("input", number)
                number += 1
        for op in block.ops:
            self.lower(op)
        for i, leaf in enumerate(_returned(self.function)):
            source, place = self.locate(leaf), Storage("output", i)
            if source != place:
                self.copy(source, place, byte_size(outputs[i].type))
        return self.finish(inputs, outputs)

    # -- where tensors lie --------------------------------------------------------------------

    def locate(self, leaf: Leaf) -> Storage:
        """Where a tensor lies."""
        leaf = origin(leaf)
        if leaf not in self.storage:
            op = leaf[0].owner
            assert isinstance(op, ConstantOp)
            self.storage[leaf] = self.constant(op)
        return self.storage[leaf]

    def constant(self, op: ConstantOp, packing: Packing | None = None) -> Storage:
        """A place among the constants; equal ones share it."""
        key = (op.value, op.result.type, packing)
        known = self.constants.get(key)
        if known is None:
            type_ = op.result.type
            size = byte_size(type_)
            if packing is not None:
                own = element(type_.element_type).bytes
                size = packing.elements(type_.get_shape()) * packing.element_bytes(own)
            known = self.constants[key] = ConstantData(self.constant_bytes, op, size, packing)
            self.constant_bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return Storage("constant", known.offset)

    def new_buffer(self, size: int, before: int) -> Storage:
        """A buffer of the workspace."""
        self.buffer_sizes.append(size)
        return Storage("buffer", len(self.buffer_sizes) - 1, before)

    def place(self, leaf: Leaf) -> Storage:
        """A place for a tensor that the next step computes, or that it computes a part of."""
        if leaf in self.storage:
            return self.storage[leaf]
        part = self.plan.parts.get(leaf)
        kind = element(tensor_type_of(leaf).element_type)
        if leaf in self.wanted:
            place = self.wanted[leaf]
        elif part is not None:
            whole = self.place(part.whole)
            place = Storage(whole.place, whole.number, whole.before + part.offset)
        elif leaf in self.plan.in_place:
            place = self.storage[self.plan.in_place[leaf]]
        else:
            format = self.plan.format(leaf)
            place = self.new_buffer(format.size * kind.bytes, format.before * kind.bytes)
        self.storage[leaf] = place
        self.placed.append((leaf, len(self.calls)))
        return place

    def result_storage(self, op: Operation) -> tuple[Storage, ...]:
        """Places for the tensors that an operation computes."""
        value = op.results[0]
        return tuple(self.place((value, i)) for i in range(len(value_types(value.type))))

    # -- operations ---------------------------------------------------------------------------

    def lower(self, op: Operation) -> None:
        """Adds the steps of one operation."""
        match op:
            case func.ReturnOp() | YieldOp() | ConstantOp() | AnnotationOp():
                pass
            case TupleOp() | TupleGetItemOp():
                pass
            case RefCreateOp():
                self.copy_leaves(op.value, op.result, self.result_storage(op))
            case RefReadOp():
                self.copy_leaves(op.ref, op.result, self.result_storage(op))
            case RefWriteOp():
                count = len(value_types(op.value.type))
                cell = tuple(self.locate((op.ref, i)) for i in range(count))
                self.copy_leaves(op.value, op.value, cell)
            case CompositeOp():
                for inner in op.block.ops:
                    self.lower(inner)
            case FusedOp() | RelayOp() if op in self.plan.joined:
                self.copy_rest(op)
            case FusedOp() | RelayOp():
                if origin((op.results[0], 0)) == (op.results[0], 0):
                    self.call(op)
            case _:
                raise HasNoCode(
                    f"{op.name} cannot be lowered: only operators of the relay dialect are"
                )

    def copy_leaves(self, source: SSAValue, like: SSAValue, places: Sequence[Storage]) -> None:
        """Copies every tensor of a value, or of the cell of a reference."""
        for i, type_ in enumerate(value_types(like.type)):
            self.copy(self.locate((source, i)), places[i], byte_size(type_))

    def copy_rest(self, op: Operation) -> None:
        """Copies the fields of a concatenation that were not computed where they belong."""
        (whole,) = self.result_storage(op)
        for leaf, offset in self.plan.joined[op]:
            place = Storage(whole.place, whole.number, whole.before + offset)
            self.copy(self.locate(leaf), place, leaf_bytes(leaf))

    def copy(self, source: Storage, place: Storage, size: int) -> None:
        """Adds a copy."""
        step = Step(COPY, (), 0, 2 * size)
        self.calls.append(Call(None, (source,), (place,), step, size))

    def call(self, op: Operation) -> None:
        """Adds the call of a kernel."""
        group = group_of(op)
        sources = [
            *((arg, i) for arg in group.args for i in range(len(leaf_types(arg.type)))),
            *((constant.result, 0) for constant in group.constants),
        ]
        results = [(op.results[0], i) for i in range(len(leaf_types(op.results[0].type)))]
        choices = self.choices.get(op, ())
        kernel = self.kernel(
            group,
            choices,
            tuple(map(self.plan.format, sources)),
            tuple(map(self.plan.format, results)),
        )
        reads: list[Storage] = []
        for i, (leaf, seen) in enumerate(zip(sources, group_inputs(group), strict=True)):
            if i in kernel.packings:
                reads.append(self.constant(group.known[seen[0]], kernel.packings[i]))
            else:
                reads.append(self.locate(leaf))
        step = Step(
            kernel.function.sym_name.data,
            choices,
            sum(map(operation_count, group.ops)),
            sum(map(leaf_bytes, (*sources, *results))),
            op,
        )
        self.calls.append(Call(kernel, tuple(reads), self.result_storage(op), step))

    def kernel(
        self,
        group: Group,
        choices: tuple[Choice, ...],
        inputs: tuple[Format, ...],
        outputs: tuple[Format, ...],
    ) -> Kernel:
        """
        The kernel of a group; groups of the same structure on the same formats share one, where they are
        computed alike.
        """
        key = group.key(), tuple(choice.key for choice in choices), inputs, outputs
        known = self.kernels.get(key)
        if known is None:
            base = group.name()
            number = self.names[base] = self.names.get(base, -1) + 1
            name = base if number == 0 else f"{base}_{number}"
            known = build_kernel(group, name, self.options, choices, inputs, outputs)
            self.kernels[key] = known
        return known

    # -- the entry function ---------------------------------------------------------------------

    def finish(self, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> Program:
        """Plans the memory and writes the entry function."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        lifetimes: list[Lifetime] = []
        for number, call in enumerate(self.calls):
            for place in (*call.reads, *call.writes):
                if place.place == "buffer":
                    first.setdefault(place.number, number)
                    last[place.number] = number
        for buffer, size in enumerate(self.buffer_sizes):
            lifetimes.append(Lifetime(size, first[buffer], last[buffer]))
        for number, call in enumerate(self.calls):
            scratch = call.kernel.scratch_bytes if call.kernel else 0
            lifetimes.append(Lifetime(scratch, number, number))
        plan = plan_memory(lifetimes)
        tensors = self.tensors()
        name, threads = self.function.sym_name.data, self.options.threads
        entry = write_entry(name, self.calls, plan.offsets, threads, profile=self.profile)
        module = ModuleOp(
            [
                *declarations(threads, profile=self.profile),
                *(kernel.function for kernel in self.kernels.values()),
                entry,
            ]
        )
        module.attributes[WORKSPACE_ATTRIBUTE] = IntegerAttr(plan.size, i64)
        module.attributes[CONSTANT_BYTES_ATTRIBUTE] = IntegerAttr(self.constant_bytes, i64)
        module.attributes[CONSTANTS_ATTRIBUTE] = ArrayAttr(
            [
                DictionaryAttr(
                    {
                        "offset": IntegerAttr(each.offset, i64),
                        "value": each.op.value,
                        **({"packing": StringAttr(str(each.packing))} if each.packing else {}),
                    }
                )
                for each in self.constants.values()
            ]
        )
        return Program(
            name,
            module,
            inputs,
            outputs,
            tuple(self.constants.values()),
            self.constant_bytes,
            plan.size,
            tuple(call.step for call in self.calls),
            tuple(
                PlacedBuffer(
                    offset, each.size, each.first, each.last, tuple(tensors.get(number, ()))
                )
                for number, (each, offset) in enumerate(zip(lifetimes, plan.offsets, strict=True))
                if each.size or number < len(self.buffer_sizes)
            ),
        )

    def tensors(self) -> dict[int, list[PlacedTensor]]:
        """What lies in the numbered buffers."""
        result: dict[int, list[PlacedTensor]] = {}
        for leaf, step in self.placed:
            place = self.storage[leaf]
            if place.place != "buffer":
                continue
            relation = "part" if leaf in self.plan.parts else "own"
            if leaf in self.plan.in_place:
                relation = "in place"
            type_ = tensor_type_of(leaf)
            placed = PlacedTensor(type_, self.plan.format(leaf), place.before, step, relation)
            result.setdefault(place.number, []).append(placed)
        return result


def _returned(function: func.FuncOp) -> list[Leaf]:
    """The tensors that a function returns."""
    return [
        (value, i)
        for value in _terminator(function.body.block).operands
        for i in range(len(leaf_types(value.type)))
    ]


def _terminator(block: Block) -> Operation:
    terminator = block.last_op
    assert terminator is not None
    return terminator
