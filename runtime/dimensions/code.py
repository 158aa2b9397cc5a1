"""Several programs of one model as one file of machine code, whose functions take dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xrelay.runtime.code import SavedCode
from xrelay.runtime.dimensions.functions import exported_names, functions_ir, programs_name
from xrelay.runtime.dimensions.header import c_header
from xrelay.runtime.dimensions.interface import OpenInterface
from xrelay.runtime.machine import Machine
from xrelay.runtime.support import SUPPORT_FUNCTIONS, support_ir

if TYPE_CHECKING:
    from llvmlite import binding


class ManyCode(SavedCode):
    """The LLVM IR of programs for many lengths, and the weights that they have in common."""

    def __init__(
        self,
        interface: OpenInterface,
        irs: Sequence[bytes],
        machine: Machine,
        constants: npt.NDArray[np.uint8],
    ):
        """`irs` are texts, one for each program, which defines its entry function and leaves the run-time support open."""
        self.name = interface.name
        self.interface = interface
        self.irs = irs
        self.machine = machine
        self.constants = constants

    @property
    def module(self) -> binding.ModuleRef:
        """All programs, what chooses among them, and the run-time support as LLVM's module."""
        first, triple = self.interface.programs[0], self.machine.triple
        programs = programs_name(self.name)
        tiles = self.interface.uses_tiles
        support = support_ir(programs, first.threads, triple, profile=first.profiled, tiles=tiles)
        hidden = (f"{programs}_step_all", *SUPPORT_FUNCTIONS)
        from xrelay.runtime.llvm import linked

        texts = [each.decode() for each in self.irs]
        return linked([*texts, functions_ir(self.interface, triple), support], hidden)

    @property
    def description(self) -> str:
        """The interface."""
        return self.interface.to_json()

    @property
    def exported(self) -> Sequence[str]:
        """The functions of a library."""
        return exported_names(self.interface)

    def header(self, digest: str) -> str:
        """The C header."""
        return c_header(self.interface, digest)
