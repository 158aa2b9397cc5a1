"""Machine code in this process."""

import logging

from xrelay.runtime.elf import LoadedObject, UnknownObjectError, is_supported
from xrelay.runtime.machine import Address, Machine

logger = logging.getLogger("xrelay.runtime")


def load_code(code: bytes, machine: Machine) -> Address:
    """The addresses of the functions of an object file, brought in by LLVM where it must be."""
    if is_supported():
        try:
            return LoadedObject(code).address
        except UnknownObjectError as what:
            logger.info("LLVM loads the code, because of %s", what)
    from xrelay.runtime.llvm import load_object

    return load_object(code, machine)
