"""
Compiled code between pages that fault on access.

Inputs, outputs, constants and workspace lie between such pages: once flush with the page after
them (as far as the alignment allows that the code may count on), once flush with the page before.
What remains between buffer and page holds sentinels that must stay as they are. A fault ends the
process; pytest's faulthandler, or xdist, then says which test it was.
"""

import ctypes
import mmap
from collections.abc import Sequence

import numpy as np
from raw_calls import RawCode

from xrelay.interpreters.arrays import Array
from xrelay.runtime.executor import ALIGNMENT

LIBC = ctypes.CDLL(None, use_errno=True)
PAGE = mmap.PAGESIZE
SENTINEL = 0xA5


class Guarded:
    """Memory for `size` bytes between pages that may not be touched."""

    def __init__(self, size: int, alignment: int, *, at_end: bool):
        inside = max(1, -(-size // PAGE)) * PAGE
        self.map = mmap.mmap(-1, inside + 2 * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.inside = np.frombuffer(self.map, np.uint8)[PAGE : PAGE + inside]
        for page in (base, base + PAGE + inside):
            assert not LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0)
        self.start = (inside - size) // alignment * alignment if at_end else 0
        self.end = self.start + size
        self.bytes = self.inside[self.start : self.end]
        self.address = base + PAGE + self.start
        self.outside = self.inside[: self.start], self.inside[self.end :]
        for part in self.outside:
            part[:] = SENTINEL

    @staticmethod
    def copy(array: Array, alignment: int, *, at_end: bool) -> "Guarded":
        """Memory with the elements of an array."""
        memory = Guarded(array.nbytes, alignment, at_end=at_end)
        memory.bytes[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return memory

    def check(self) -> None:
        """What lies around the buffer is as it was."""
        before, after = self.outside
        assert (before == SENTINEL).all(), "written before the buffer"
        assert (after == SENTINEL).all(), "written after the buffer"


def guarded_run(code: RawCode, arrays: Sequence[Array], team: int, *, at_end: bool) -> list[Array]:
    """
    The results of one run by a team of some size. Workspace and outputs are NaN before.

    Raises AssertionError when the code wrote to an input, a constant, or beside a buffer.
    """
    signature = code.signature
    inputs = [Guarded.copy(array, array.itemsize, at_end=at_end) for array in arrays]
    outputs = [Guarded(s.size, s.dtype.itemsize, at_end=at_end) for s in signature.outputs]
    constants = Guarded.copy(code.code.constants, ALIGNMENT, at_end=at_end)
    workspace = Guarded(signature.workspace_bytes, ALIGNMENT, at_end=at_end)
    for memory in (workspace, *outputs):
        memory.bytes[:] = 0xFF
    code.call(
        [memory.address for memory in inputs],
        [memory.address for memory in outputs],
        constants.address,
        workspace.address,
        team,
    )
    for memory in (*inputs, *outputs, constants, workspace):
        memory.check()
    for memory, array in zip(inputs, arrays, strict=True):
        assert memory.bytes.tobytes() == array.tobytes(), "an input was written to"
    assert np.array_equal(constants.bytes, code.code.constants), "a constant was written to"
    return [
        memory.bytes.view(spec.dtype).reshape(spec.shape)
        for memory, spec in zip(outputs, signature.outputs, strict=True)
    ]
