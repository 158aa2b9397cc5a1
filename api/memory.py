"""The memory of a program: how much it takes, checked where it is known, before any is allocated; and its constants."""

import numpy as np
import numpy.typing as npt

from xrelay.analysis.facts.names import operation_text
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.errors import CompileError
from xrelay.interpreters.constants import constant_array
from xrelay.lowering.program.program import Program
from xrelay.runtime.executor import ALIGNMENT, aligned_bytes


def require_memory(program: Program, limits: Limits = DEFAULT_LIMITS) -> None:
    """
    Raises CompileError when the constants and the workspace of a program take more bytes than
    `limits` allows; it names the step with the largest share.
    """
    excess = limits.bytes_excess(program.constant_bytes + program.workspace_bytes)
    if excess is not None:
        raise CompileError(
            f"constants and workspace of the program take {excess}; {program.constant_bytes} are "
            f"for constants{largest_share(program)}"
        )


def largest_share(program: Program) -> str:
    """The end of a message that names what takes most of the workspace; "" without workspace."""
    largest = max(program.buffers, key=lambda each: each.size, default=None)
    if largest is None or not largest.size:
        return ""
    op = program.steps[largest.first].op
    name = program.steps[largest.first].name if op is None else operation_text(op)
    return f"; the largest part of it, {largest.size} bytes, is made for {name}"


def packed_constants(program: Program) -> npt.NDArray[np.uint8]:
    """The constants of a program, each in the order of elements that the kernels expect."""
    constants = aligned_bytes(program.constant_bytes, "the constants of the program")
    for constant in program.constants:
        elements = constant_array(constant.op)
        if constant.packing is not None:
            elements = constant.packing.pack(elements)
        place = constants[constant.offset : constant.offset + constant.size]
        place.view(elements.dtype).reshape(elements.shape)[...] = elements
        end = constant.offset + constant.size
        constants[end : -(-end // ALIGNMENT) * ALIGNMENT] = 0  # What was in memory is not saved.
    return constants
