"""Functions of object files that are no models of xrelay's."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import address_table
from xrelay.runtime.host import host
from xrelay.runtime.machine import Address, Machine
from xrelay.runtime.machine_code import load_code

_Pointer = ctypes.c_void_p
_FUNCTION = ctypes.CFUNCTYPE(None, _Pointer, _Pointer)


@dataclass(frozen=True)
class ObjectFunction:
    """A function `void f(const void *const *inputs, void *const *outputs)` of an object file."""

    function: Callable[[int, int], None]
    code: Address
    """Keeps the machine code in memory."""

    def __call__(
        self, inputs: Sequence[npt.NDArray[Any]], outputs: Sequence[npt.NDArray[Any]]
    ) -> None:
        tables = address_table(inputs), address_table(outputs)
        self.function(ctypes.addressof(tables[0]), ctypes.addressof(tables[1]))


def object_function(content: bytes, symbol: str) -> ObjectFunction:
    """
    A function of an object file for this processor, which runs with your rights.

    Raises ModelError when the file does not have it.
    """
    here = host()
    address = load_code(content, Machine(here.triple, here.cpu, ""))
    try:
        place = address(symbol)
    except KeyError:
        place = 0
    if not place:
        raise ModelError(f"the object file has no function '{symbol}'")
    return ObjectFunction(_FUNCTION(place), address)
