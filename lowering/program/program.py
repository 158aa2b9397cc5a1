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
`xrelay_barrier(team, threads)` is given, and `xrelay_stamp(team, step)` (or `xrelay_stamp_alone`) in programs that take the
time of their steps; both are functions of the run time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64

from xrelay.analysis.facts.memory_plan import ALIGNMENT, Lifetime, plan_memory, plan_slots
from xrelay.analysis.facts.ports import Port, ports
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.blob import stored_bytes
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import certainly, hint, holds_lengths, is_open, is_open_type, larger
from xrelay.dialects.shapes import HasNoCode
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.emit.likely import has_lengths
from xrelay.lowering.program.caller_memory import PLAIN, CallerMemory, caller_memory, prepare
from xrelay.lowering.program.control_flow import called_functions, check_flow
from xrelay.lowering.program.entry import declarations, write_called, write_entry
from xrelay.lowering.program.lower import Lowering, branch_targets, returned
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.places import ConstantData, Constants, PlacedTensor, Places
from xrelay.lowering.program.planning import plan_storage
from xrelay.lowering.program.selection import Choices, select_strategies
from xrelay.lowering.program.steps import Step, may_last, within
from xrelay.lowering.program.storage import Storage, origin
from xrelay.lowering.program.writer import WORDS, Frame
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

ADDRESS_BYTES = 8
MOST_CALLS = 1000
"""How many calls of functions that call themselves may be within each other, if their frames are small."""
MOST_FRAME_BYTES = 2**30
"""How large all of the frames are together, if there are two or more."""


@dataclass(frozen=True)
class PlacedBuffer:
    """A piece of the workspace."""

    offset: int
    size: int
    first: int
    last: int
    """The steps during which it is in use, both included."""
    tensors: tuple[PlacedTensor, ...]
    """In the order in which they are written. None for the scratch memory of a step, or the frames of the calls that begin
    with it."""


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
    most_calls: int = 0
    """How many calls of functions may be within each other, where there are any; another word of the workspace says
    that they were more."""
    is_shared: bool = True
    """Whether there is a step that several threads share; else the first one does all, in a program for several, too."""
    failures: tuple[str, ...] = ()
    """The messages that it may end with, without results; a word of the workspace says which one it is."""


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
    kept = Constants() if constants is None else constants
    called = _called(function, inputs, layouts)
    weights = sum(map(_constant_bytes, (function, *called)))
    options = replace(options, weights_are_kept=weights <= options.target.kept_bytes)
    first = _lowering(function, options, choices, memory, kept)
    first.names = {function.sym_name.data: 0, **dict.fromkeys(called.values(), 0)}
    first.functions = {each.sym_name.data: name for each, name in called.items()}
    first.run(function)
    functions: dict[str, Lowering] = {}
    for each, name in called.items():
        require_lowerable(each)
        own = _lowering(each, options, select_strategies(each, options), PLAIN, kept)
        own.kernels, own.names, own.functions = first.kernels, first.names, first.functions
        own.failures = first.failures
        own.run(each)
        functions[name] = own
    name = function.sym_name.data
    return _finish(first, functions, name, inputs, outputs, layouts, profile=profile)


def _constant_bytes(function: func.FuncOp) -> int:
    """What the constants of a function keep."""
    return sum(stored_bytes(op.value) for op in walk(function) if isinstance(op, ConstantOp))


def _called(
    function: func.FuncOp, inputs: Sequence[Port], layouts: Layouts
) -> dict[func.FuncOp, str]:
    """
    The functions that a function calls, and what they are called in the code. Raises HasNoCode for such in a program for many
    lengths, or on memory of the caller.
    """
    called = called_functions(function)
    if not called:
        return {}
    varies = any(is_open_type(each.type) for each in inputs) or any(
        holds_lengths(op) or has_lengths(op) for each in (function, *called) for op in walk(each)
    )
    if varies or layouts != ROW_MAJOR:
        raise HasNoCode(
            f"function '{called[0].sym_name.data}' is called, which has no code in programs for many lengths, and "
            "on memory of the caller"
        )
    return {each: f"called_{number}" for number, each in enumerate(called)}


def _lowering(
    function: func.FuncOp,
    options: KernelOptions,
    choices: Choices,
    memory: CallerMemory,
    constants: Constants,
) -> Lowering:
    """What lowers a function whose operators are computed as chosen."""
    wanted: dict[Leaf, Storage] = {}
    for i, leaf in enumerate(returned(function)):
        wanted.setdefault(origin(leaf), Storage("output", i))
    block = function.body.block
    targets = branch_targets(block, wanted)
    plan = plan_storage(block, choices, {**wanted, **targets}, memory)
    return Lowering(options, choices, Places(plan, wanted, targets, constants), memory.rests)


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
    functions: Mapping[str, Lowering],
    name: str,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    layouts: Layouts,
    *,
    profile: bool,
) -> Program:
    """Plans the memory and writes the entry function, and those that it calls."""
    places, nodes, threads = lowering.places, lowering.nodes, lowering.options.threads
    steps = [call for each in (lowering, *functions.values()) for call in each.calls]
    is_shared = not all(call.is_alone or call.function is not None for call in steps)
    loops = any(map(may_last, within(nodes)))
    failures = tuple(lowering.failures)
    frame, lifetimes = _frame(lowering, WORDS if loops or failures else 0)
    # Where callers put the table of lengths, in a program that reads one.
    lengths = Storage("input", len(inputs))
    frames = {called: _frame(each, 0)[0] for called, each in functions.items()}
    frame_bytes = max((each.size for each in frames.values()), default=0)
    fitting = max(MOST_FRAME_BYTES // max(frame_bytes, 1), 2)
    most = min(MOST_CALLS, fitting) if functions else 0
    entry = write_entry(
        name, nodes, frame, threads, profile=profile, lengths=lengths, most_calls=most
    )
    written, calls = [entry], list(lowering.calls)
    for called, each in functions.items():
        own, first = frames[called], len(calls)
        written.append(write_called(called, each.nodes, own, threads, profile=profile, first=first))
        calls += each.calls
    module = ModuleOp(
        [
            *declarations(threads, profile=profile, loops=loops),
            *(kernel.function for kernel in lowering.kernels.values()),
            *written,
        ]
    )
    constants = tuple(places.constants.placed.values())
    workspace = frame.size + most * frame_bytes
    module.attributes[WORKSPACE_ATTRIBUTE] = IntegerAttr(hint(workspace), i64)
    module.attributes[CONSTANT_BYTES_ATTRIBUTE] = IntegerAttr(places.constants.bytes, i64)
    module.attributes[CONSTANTS_ATTRIBUTE] = ArrayAttr(map(_constant_entry, constants))
    tensors = places.tensors()
    buffers = [
        PlacedBuffer(offset, each.size, each.first, each.last, tuple(tensors.get(number, ())))
        for number, (each, offset) in enumerate(zip(lifetimes, frame.offsets, strict=True))
        if not certainly(each.size, 0) or number < frame.buffers
    ]
    if frame_bytes:
        size, last = workspace - frame.size, len(lowering.calls) - 1
        first = next(i for i, each in enumerate(lowering.calls) if each.function is not None)
        buffers.append(PlacedBuffer(frame.size, size, first, last, ()))
    return Program(
        name,
        module,
        inputs,
        outputs,
        constants,
        places.constants.bytes,
        workspace,
        tuple(call.step for call in calls),
        tuple(buffers),
        loops,
        most,
        is_shared,
        failures,
    )


def _frame(lowering: Lowering, before: int) -> tuple[Frame, list[Lifetime]]:
    """
    The memory of a function, behind so many bytes at the start, and when its buffers and the scratch memory of its steps
    are in use.
    """
    lifetimes = lowering.places.lifetimes()
    buffers = len(lifetimes)
    for number, call in enumerate(lowering.calls):
        scratch = call.kernel.scratch_bytes if call.kernel else 0
        # That of a kernel which does not run may come to less than nothing.
        lifetimes.append(Lifetime(larger(scratch, 0, of_empty=True), number, number))
    varying = any(is_open(each.size) for each in lifetimes)
    plan = plan_slots(lifetimes) if varying else plan_memory(lifetimes)
    offsets = [offset + before for offset in plan.offsets]
    size = plan.size + before
    passed = [
        len(each.reads) + len(each.writes) for each in lowering.calls if each.function is not None
    ]
    if not passed:
        return Frame(offsets, buffers, size, 0, size), lifetimes
    tables, table = _aligned(size), _aligned(max(passed) * ADDRESS_BYTES)
    return Frame(
        offsets, buffers, tables, table, tables + table * lowering.options.threads
    ), lifetimes


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _constant_entry(each: ConstantData) -> DictionaryAttr:
    """What a caller puts where among the constants."""
    packing = {"packing": StringAttr(str(each.packing))} if each.packing else {}
    return DictionaryAttr(
        {"offset": IntegerAttr(each.offset, i64), "value": each.op.value, **packing}
    )
