"""
A relay function as a program: kernels, and an entry function that calls them one after the other, in
the branches and loops of the function.

    values ──► storage: an input, an output, a constant, or a buffer of the workspace
    steps  ──► kernel calls and copies; reshapes, tuples and annotations are none
    buffers ──► offsets in the workspace, shared between buffers that never live together
    scf.if, scf.for, scf.while ──► branches and loops of the entry function

Every thread of a team runs the entry function:

    void <name>(const void *const *inputs, void *const *outputs,
                const void *constants, void *workspace,
                int64_t thread, int64_t threads, void *team)

A program whose lengths are not known before it runs has one more input: the table of the numbers that follow from
them, of 64 bits each.

Inputs and outputs are row-major, or lie as the caller says (caller_memory.py). Constants and workspace are aligned to 64 bytes. `team` is what
`xrelay_barrier(team, threads)` is given, and `xrelay_stamp(team, step)` in programs that take the
time of their steps; both are functions of the run time.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64

from xrelay.analysis.facts.memory_plan import Lifetime, plan_memory, plan_slots
from xrelay.analysis.facts.ports import Port, ports
from xrelay.dialects.lengths import hint, is_open, is_open_type
from xrelay.dialects.shapes import HasNoCode
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.program.caller_memory import PLAIN, caller_memory, prepare
from xrelay.lowering.program.control_flow import check_flow
from xrelay.lowering.program.entry import WORDS, declarations, may_last, within, write_entry
from xrelay.lowering.program.lower import Lowering, branch_targets, returned
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.places import ConstantData, Constants, PlacedTensor, Places
from xrelay.lowering.program.planning import plan_storage
from xrelay.lowering.program.selection import select_strategies
from xrelay.lowering.program.steps import Step
from xrelay.lowering.program.storage import Storage, origin
from xrelay.runtime.layouts import ROW_MAJOR, Layouts

__all__ = [
    "ConstantData",
    "Constants",
    "PlacedBuffer",
    "PlacedTensor",
    "Program",
    "Step",
    "lower_function",
]

WORKSPACE_ATTRIBUTE = "xrelay.workspace_bytes"
CONSTANT_BYTES_ATTRIBUTE = "xrelay.constant_bytes"
CONSTANTS_ATTRIBUTE = "xrelay.constants"
"""What a caller has to provide: module attributes of a lowered program. The last one lists where
in the constants which value is expected."""


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
    """The kernel calls and copies that the entry function makes, those of branches and loops where
    these stand."""
    buffers: tuple[PlacedBuffer, ...]
    """What lies in the workspace: the buffers of tensors, then the scratch memory of steps."""
    loops: bool = False
    """Whether it has loops that may last, which end when the first word of the workspace says so."""


def lower_function(
    function: func.FuncOp,
    options: KernelOptions,
    *,
    profile: bool = False,
    layouts: Layouts = ROW_MAJOR,
    constants: Constants | None = None,
) -> Program:
    """
    Lowers a relay function with static shapes, whose operators are computed as it states; what it
    does not state is chosen, and written into it. `profile` makes the program take the time of its
    steps. `layouts` says where inputs and outputs lie that are not row-major in memory of their own. `constants`
    are those of other programs that this one is kept with.

    Raises DiagnosticException for what has no code: functions as values, calls, data types,
    unknown dimensions, operators of other dialects, dtypes without kernels.
    """
    require_lowerable(function)
    inputs, outputs = ports(function)
    memory = PLAIN
    if layouts != ROW_MAJOR:
        prepare(function, layouts, inputs, outputs)
    choices = select_strategies(function, options)  # Operators by themselves become regions.
    if layouts != ROW_MAJOR:
        memory = caller_memory(function, layouts, choices, inputs, outputs)
    wanted: dict[Leaf, Storage] = {}
    for i, leaf in enumerate(returned(function)):
        wanted.setdefault(origin(leaf), Storage("output", i))
    block = function.body.block
    targets = branch_targets(block, wanted)
    plan = plan_storage(block, choices, {**wanted, **targets}, memory)
    kept = Constants() if constants is None else constants
    lowering = Lowering(options, choices, Places(plan, wanted, targets, kept), memory.rests)
    lowering.run(function)
    name = function.sym_name.data
    return _finish(lowering, name, inputs, outputs, layouts, profile=profile)


def require_lowerable(function: func.FuncOp) -> None:
    """Raises HasNoCode for a function that is more than operators on tensors, branches and loops."""
    blocks = function.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0].last_op, func.ReturnOp):
        raise HasNoCode(
            f"function '{function.sym_name.data}' cannot be lowered: it is not one block that "
            "ends in func.return"
        )
    check_flow(function)


def _finish(
    lowering: Lowering,
    name: str,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    layouts: Layouts,
    *,
    profile: bool,
) -> Program:
    """Plans the memory and writes the entry function."""
    places, nodes, threads = lowering.places, lowering.nodes, lowering.options.threads
    lifetimes = places.lifetimes()
    buffers = len(lifetimes)
    for number, call in enumerate(lowering.calls):
        scratch = call.kernel.scratch_bytes if call.kernel else 0
        lifetimes.append(Lifetime(scratch, number, number))
    loops = any(map(may_last, within(nodes)))
    varying = any(is_open(each.size) for each in lifetimes)
    plan = plan_slots(lifetimes) if varying else plan_memory(lifetimes)
    words = WORDS if loops else 0
    offsets = [offset + words for offset in plan.offsets]
    has_open = any(is_open_type(each.type) for each in inputs)
    has_table = has_open or any(map(is_open, layouts.capacities))
    lengths = Storage("input", len(inputs)) if has_table else None
    entry = write_entry(name, nodes, offsets, buffers, threads, profile=profile, lengths=lengths)
    module = ModuleOp(
        [
            *declarations(threads, profile=profile, loops=loops),
            *(kernel.function for kernel in lowering.kernels.values()),
            entry,
        ]
    )
    constants = tuple(places.constants.placed.values())
    module.attributes[WORKSPACE_ATTRIBUTE] = IntegerAttr(hint(plan.size) + words, i64)
    module.attributes[CONSTANT_BYTES_ATTRIBUTE] = IntegerAttr(places.constants.bytes, i64)
    module.attributes[CONSTANTS_ATTRIBUTE] = ArrayAttr(map(_constant_entry, constants))
    tensors = places.tensors()
    return Program(
        name,
        module,
        inputs,
        outputs,
        constants,
        places.constants.bytes,
        plan.size + words,
        tuple(call.step for call in lowering.calls),
        tuple(
            PlacedBuffer(offset, each.size, each.first, each.last, tuple(tensors.get(number, ())))
            for number, (each, offset) in enumerate(zip(lifetimes, offsets, strict=True))
            if each.size or number < buffers
        ),
        loops,
    )


def _constant_entry(each: ConstantData) -> DictionaryAttr:
    """What a caller puts where among the constants."""
    packing = {"packing": StringAttr(str(each.packing))} if each.packing else {}
    return DictionaryAttr(
        {"offset": IntegerAttr(each.offset, i64), "value": each.op.value, **packing}
    )
