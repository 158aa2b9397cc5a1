"""Object files in this process: those of models that are not saved, and functions of others."""

import ctypes
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from xrelay.runtime.elf import LoadedObject, UnknownObjectError, is_supported
from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import address_table
from xrelay.runtime.machine import Address, Machine
from xrelay.runtime.memory import addresses

logger = logging.getLogger("xrelay.runtime")

_Pointer = ctypes.c_void_p
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, _Pointer)


def load_code(code: bytes, machine: Machine) -> Address:
    """The addresses of the functions of an object file, brought in by LLVM where it must be."""
    if is_supported():
        try:
            return LoadedObject(code).address
        except UnknownObjectError as what:
            logger.info("LLVM loads the code, because of %s", what)
    from xrelay.runtime.llvm import load_object

    return load_object(code, machine)


@dataclass(frozen=True)
class ObjectFunction:
    """
    A function `int f(const void *const *inputs, void *const *outputs)` of an object file, which
    returns 0, or another number when it fails.
    """

    function: Callable[[int, int], int]
    code: Address
    """Keeps the machine code in memory."""

    def __call__(
        self, inputs: Sequence[npt.NDArray[Any]], outputs: Sequence[npt.NDArray[Any]]
    ) -> None:
        tables = address_table(addresses(inputs)), address_table(addresses(outputs))
        status = self.function(ctypes.addressof(tables[0]), ctypes.addressof(tables[1]))
        if status:
            raise ModelError(f"the function of the object file returns {status}, expected 0")


def object_function(content: bytes, symbol: str) -> ObjectFunction:
    """
    A function of an object file for this processor, which runs with your rights.

    Raises ModelError when the file is damaged, needs functions that this process does not have, or
    does not have this one; and on systems other than Linux on 64-bit x86.
    """
    if not is_supported():
        raise ModelError("object files are loaded on Linux with 64-bit x86 only")
    try:
        address = LoadedObject(content).address
    except UnknownObjectError as what:
        raise ModelError(f"the object file cannot be loaded, because of {what}") from what
    try:
        place = address(symbol)
    except KeyError:
        raise ModelError(f"the object file has no function '{symbol}'") from None
    return ObjectFunction(_FUNCTION(place), address)
