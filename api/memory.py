"""How much memory a program takes: checked where it is known, before any is allocated."""

from xrelay.dialects.shapes import MOST_ELEMENTS
from xrelay.lowering.control_flow import described
from xrelay.lowering.program import Program
from xrelay.options import CompileError


def require_memory(program: Program, most: int = MOST_ELEMENTS) -> None:
    """
    Raises CompileError when the constants and the workspace of a program take more than `most`
    bytes, by default more than processors address; it names the step with the largest share.
    """
    needed = program.constant_bytes + program.workspace_bytes
    if needed <= most:
        return
    raise CompileError(
        f"the program takes {needed} bytes of memory, {program.constant_bytes} of them for "
        f"constants, the limit is {most}{largest_share(program)}"
    )


def largest_share(program: Program) -> str:
    """The end of a message that names what takes most of the workspace; "" without workspace."""
    largest = max(program.buffers, key=lambda each: each.size, default=None)
    if largest is None or not largest.size:
        return ""
    op = program.steps[largest.first].op
    name = program.steps[largest.first].name if op is None else described(op)
    return f"; the largest part of it, {largest.size} bytes, is made for {name}"
