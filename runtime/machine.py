"""
What machine code is made for, where it lies, and what of the processor Linux lets a process use only after it asked.

These are the tile registers of AMX, whose contents take 8 KiB of each thread's state. The answer holds for all threads, and for
children of fork; from then on the stacks that threads set up for signals (`sigaltstack`) have to hold these contents, too. Python
asks when it compiles for this machine, and before it runs a model that uses tiles; saved models ask for themselves when they run.

Source: Documentation/arch/x86/xstate.rst of Linux.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

ARCH_PRCTL = 158
"""The number of the system call on x86-64."""
ARCH_REQ_XCOMP_PERM = 0x1023
"""What it is asked for: permission for a part of the state of threads."""
XFEATURE_XTILEDATA = 18
"""The part: the contents of tile registers."""
TILES = "amx-tile"
"""LLVM's name of the feature of processors that have them."""


@cache
def may_use_tiles() -> bool:
    """
    Asks for tile registers, on a processor that has them, and tells whether this process may use them. An older Linux does
    not, nor does one where a thread has too small a stack for signals.
    """
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        return False
    numbers = map(ctypes.c_long, (ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA))
    return ctypes.CDLL(None).syscall(*numbers) == 0


Address: TypeAlias = Callable[[str], int]
"""The address of a symbol of machine code, which stays valid as long as this function lives."""


@dataclass(frozen=True)
class Machine:
    """The processor that code is generated for, in LLVM's words."""

    triple: str
    cpu: str
    features: str
