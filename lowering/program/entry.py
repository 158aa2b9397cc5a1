"""The functions of a program as code: the entry function, those that it calls, and those of the run time."""

from collections.abc import Sequence

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import FunctionType, UnitAttr, i64
from xdsl.ir import Attribute, Block, Region

from xrelay.lowering.emit.attributes import POINTER
from xrelay.lowering.emit.context import BARRIER, NEXT_TASK
from xrelay.lowering.llvm.to_llvm import PUBLIC_ATTRIBUTE
from xrelay.lowering.program.steps import Node, may_fail, may_last, within
from xrelay.lowering.program.storage import Storage
from xrelay.lowering.program.writer import POLL, STAMP, STAMP_ALONE, Frame, FunctionWriter

_ARGUMENTS = ("inputs", "outputs", "constants", "workspace", "thread", "threads", "team")


def write_entry(
    name: str,
    nodes: Sequence[Node],
    frame: Frame,
    threads: int,
    *,
    profile: bool,
    lengths: Storage,
    most_calls: int = 0,
) -> func.FuncOp:
    """
    The function that runs the nodes for `threads` threads. `profile` makes it take the time of its steps. `lengths`
    is where callers put the table of lengths, which a program without lengths does not read. `most_calls` calls of functions may be within each other.
    """
    block = _block(_ARGUMENTS)
    writer = FunctionWriter(block, frame, threads, profile, lengths, most_calls=most_calls)
    fails = any(map(may_fail, within(nodes)))
    if fails or any(map(may_last, within(nodes))):
        writer.begin_polling(may_fail=fails)
    if profile:
        writer.stamp(0)
    writer.nodes(nodes)
    function = _function(name, block)
    function.attributes[PUBLIC_ATTRIBUTE] = UnitAttr()
    return function


def write_called(
    name: str, nodes: Sequence[Node], frame: Frame, threads: int, *, profile: bool, first: int
) -> func.FuncOp:
    """
    A function that the entry function or such a function calls: with the arguments of that, where inputs and outputs are the
    operands and the results, the words at the start of the workspace, and how many more calls may be within each
    other. `first` is the number of its first step.
    """
    block = _block((*_ARGUMENTS, "words", "left"))
    FunctionWriter(block, frame, threads, profile, first=first).called(nodes)
    return _function(name, block)


def _block(names: Sequence[str]) -> Block:
    """The block of a function with some arguments."""
    numbers = ("thread", "threads", "left")
    types: list[Attribute] = [i64 if name in numbers else POINTER for name in names]
    block = Block(arg_types=types)
    for arg, hint in zip(block.args, names, strict=True):
        arg.name_hint = hint
    return block


def _function(name: str, block: Block) -> func.FuncOp:
    """The function of a block, which ends with it."""
    block.add_op(func.ReturnOp())
    return func.FuncOp(name, FunctionType.from_lists(block.arg_types, []), Region(block))


def declarations(threads: int, *, profile: bool, loops: bool) -> list[llvm.FuncOp]:
    """The functions of the run time that the program calls."""
    taken: dict[str, llvm.LLVMFunctionType] = {}
    if threads > 1:
        taken[BARRIER] = llvm.LLVMFunctionType([POINTER, i64])
        taken[NEXT_TASK] = llvm.LLVMFunctionType([POINTER, *[i64] * 5], i64)
    if profile:
        taken |= dict.fromkeys((STAMP, STAMP_ALONE), llvm.LLVMFunctionType([POINTER, i64]))
    if loops:
        taken[POLL] = llvm.LLVMFunctionType([POINTER, i64, i64, POINTER], i64)
    external = llvm.LinkageAttr("external")
    return [llvm.FuncOp(name, type_, linkage=external) for name, type_ in taken.items()]
