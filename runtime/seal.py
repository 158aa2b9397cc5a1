"""
The checksum at the end of saved libraries, which is looked at before the loader sees them:

    the file that the linker made │ "\\nxrelay SHA-256 " │ 64 hexadecimal digits │ "\\n"

The system's linker and loader read an ELF file by its headers, and do not look at what follows. The
checksum finds damage, not forgery: who can change the file can change the checksum. A file that is shorter than its
headers say is refused in any case.
"""

import hashlib
from typing import BinaryIO

from xrelay.runtime.elf import required_size
from xrelay.runtime.errors import ModelError
from xrelay.runtime.reading import digest_of, size_of

_MARK = b"\nxrelay SHA-256 "
SEAL_BYTES = len(_MARK) + 64 + 1


def sealed(data: bytes) -> bytes:
    """The data, with their checksum after them."""
    return data + _seal(hashlib.sha256(data).hexdigest())


def check_seal(file: BinaryIO, name: str) -> str:
    """
    The checksum of a file. Raises ModelError that names the file unless its checksum is that of what is before it, and this has all that
    the loader looks for.
    """
    size = size_of(file) - SEAL_BYTES
    found = digest_of(file, size)
    seal = file.read(SEAL_BYTES)
    if size < 0 or not seal.startswith(_MARK):
        raise ModelError(
            f"'{name}' does not end with a checksum of xrelay's: it was not saved by this version, "
            "it is cut off, or it was changed afterwards, by strip for example; save the model again"
        )
    if seal != _seal(found):
        raise ModelError(f"'{name}' is damaged: its checksum is not that of its contents")
    required = required_size(file, size)
    if size < required:
        raise ModelError(
            f"'{name}' is cut off: its headers are those of a library of at least {required} bytes, it has {size}"
        )
    return found


def _seal(digest: str) -> bytes:
    return _MARK + digest.encode() + b"\n"
