"""Machine code called with memory that the caller chooses, by a team of any size."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from xrelay.interpreters.arrays import Array
from xrelay.runtime.code import ModelCode
from xrelay.runtime.executor import RUN, aligned_bytes
from xrelay.runtime.llvm import code_generator
from xrelay.runtime.object_file import load_code

RUN_ON = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
TEAM_CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
TEAM_DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class RawCode:
    """A compiled model in this process, by the functions that C programs call."""

    def __init__(self, code: ModelCode, *, optimized: bool = True):
        """
        Without `optimized` LLVM makes its instructions one by one: the same results from the same
        kernels, in a third of the time that it takes to make them fast.
        """
        self.code, self.signature = code, code.signature
        if optimized:
            self._address = load_code(code.object, code.machine)
        else:
            generator = code_generator(code.machine, optimization=0)
            self._address = load_code(generator.emit_object(code.module), code.machine)

    def call(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        constants: int,
        workspace: int,
        team: int,
    ) -> None:
        """
        One run with the buffers at some addresses, by a team of `team` threads, at most as many as
        the model is compiled for. The team's workers have ended when this returns.
        """

        def table(addresses: Sequence[int]) -> Any:
            return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)

        name, address = self.signature.name, self._address
        tables = table(inputs), table(outputs)
        places = *map(ctypes.addressof, tables), constants, workspace
        if self.signature.threads == 1:
            assert team == 1
            RUN(address(f"{name}_run"))(*places)
            return
        handle = TEAM_CREATE(address(f"{name}_team_create"))(team)
        assert handle, "the system refuses to start threads"
        RUN_ON(address(f"{name}_run_on"))(handle, *places)
        TEAM_DESTROY(address(f"{name}_team_destroy"))(handle)

    def run(self, inputs: Sequence[Array], team: int) -> list[Array]:
        """
        The outputs for some inputs. Workspace and outputs are NaN before: an element that is
        never written, or read before it is, shows.
        """
        outputs = [np.empty(spec.shape, spec.dtype) for spec in self.signature.outputs]
        workspace = aligned_bytes(self.signature.workspace_bytes, "the workspace")
        for memory in (workspace, *outputs):
            memory.reshape(-1).view(np.uint8)[:] = 0xFF
        arrays = [np.require(array, requirements=["C", "A"]) for array in inputs]
        self.call(
            [array.ctypes.data for array in arrays],
            [array.ctypes.data for array in outputs],
            self.code.constants.ctypes.data,
            workspace.ctypes.data,
            team,
        )
        return outputs
