"""
Object files of models brought into this process without LLVM, which takes 40 MB of memory and a
while to load: for 64-bit x86 on Linux, and for what LLVM's code generator writes there.

A block of memory holds, each from a page boundary on,

    code, read-only data, addresses of other code (read, execute) │ data that change (read, write)

Code may call functions of the C library, which is further away than a 32-bit displacement reaches:
such calls go through a jump in the block.

Saved libraries are left to the system's loader; `required_size` says how long they have to be.

Reference: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 4.4.
"""

import ctypes
import mmap
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<8xQ16xQ16x")
"""The header of a segment, by which a library is loaded: of it, the place in the file and the bytes there."""
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_IDENTITY = b"\x7fELF\x02\x01\x01"
"""A 64-bit little-endian file."""
_RELOCATABLE, _X86_64 = 1, 62
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8
"""Types of sections."""
_WRITE, _ALLOCATE = 1, 2
"""Flags of sections."""
_UNDEFINED, _FIRST_RESERVED = 0, 0xFF00
"""Numbers of sections that symbols lie in."""
_ABSOLUTE_64, _PC_32, _CALL_32 = 1, 2, 4
_ADDRESS_SLOTS = frozenset({9, 41, 42})
"""Relocations that want the distance to a place with the symbol's address: GOTPCREL, GOTPCRELX and
REX_GOTPCRELX."""
_JUMP = b"\xff\x25\x02\x00\x00\x00\x90\x90"
"""jmp *2(%rip), up to the eight bytes of the address."""
_SLOT = len(_JUMP) + 8
_NEVER_USED = (".eh_frame", ".init_array", ".fini_array")
"""Sections for unwinding, and for what a library does when it is loaded and unloaded."""


class UnknownObjectError(Exception):
    """An object file has something that this loader does not know."""


def is_supported() -> bool:
    """Whether this system's machine code is what the loader knows."""
    return platform.system() == "Linux" and platform.machine() == "x86_64"


@dataclass(frozen=True)
class _Section:
    name: str
    type: int
    flags: int
    content: memoryview
    size: int
    info: int
    alignment: int


@dataclass(eq=False)
class _Memory:
    """The block, and where sections and addresses of functions lie in it."""

    block: mmap.mmap
    base: int
    places: dict[int, int]
    """The offsets of sections, by number."""
    sizes: dict[int, int]
    slots: dict[int, int]
    """The offsets of jumps to symbols, by the number of the symbol."""


class LoadedObject:
    """
    The code of an object file in this process. It stays valid as long as this object lives.

    Raises UnknownObjectError for what it does not know.
    """

    def __init__(self, code: bytes):
        try:
            self._load(code)
        except (struct.error, LookupError, ArithmeticError, ValueError, OSError) as error:
            raise UnknownObjectError(f"damage: {error}") from error

    def _load(self, code: bytes) -> None:
        sections = _sections(code)
        symbols = _symbols(sections)
        relocations = _relocations(sections)
        # Every symbol may need a slot: few have relocations, and slots are small.
        wanted = sorted({number for _, _, number, _, _ in relocations})
        self._memory, writable = _lay_out(sections, wanted)
        memory = self._memory
        self._addresses: dict[str, int] = {}
        values: list[int | None] = []
        for name, section, value in symbols:
            place = memory.places.get(section)
            values.append(None if place is None else memory.base + place + value)
            if name and place is not None:
                self._addresses[name] = memory.base + place + value
        library = ctypes.CDLL(None)
        for number in wanted:
            if values[number] is None:
                name, section, _ = symbols[number]
                if section != _UNDEFINED:
                    raise UnknownObjectError(f"the place of symbol '{name}'")
                values[number] = _function(library, name)
        _relocate(memory, relocations, values)
        protect = library.mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        if protect(memory.base, writable, mmap.PROT_READ | mmap.PROT_EXEC):
            raise UnknownObjectError("a system that refuses to make code executable")

    def address(self, name: str) -> int:
        """The address of a function that the code defines."""
        return self._addresses[name]


def required_size(file: BinaryIO, size: int) -> int:
    """
    How many bytes a library has at least, as the headers in an open file of `size` bytes say. The system's loader
    believes them: of a file that ends before, it maps memory that cannot be read. None where the format is another one.
    """
    file.seek(0)
    header = file.read(min(size, _HEADER.size))
    if not header.startswith(_IDENTITY):
        return 0
    if len(header) < _HEADER.size:
        return _HEADER.size
    _, _, _, _, segments, sections, *_, each, count, section, number, _ = _HEADER.unpack(header)
    ends = [segments + each * count, sections + section * number]
    # Of headers of another size the loader takes none.
    if ends[0] <= size and each == _SEGMENT.size:
        file.seek(segments)
        table = _SEGMENT.iter_unpack(file.read(each * count))
        ends += [start + length for start, length in table]
    return max(ends)


def _headers(code: bytes) -> tuple[list[tuple[int, ...]], int]:
    """The headers of the sections, and the number of the section with their names."""
    try:
        kind, machine, _, _, _, start, _, _, _, _, size, count, names = _HEADER.unpack_from(code)
        if not code.startswith(_IDENTITY) or (kind, machine) != (_RELOCATABLE, _X86_64):
            raise UnknownObjectError("the kind of the file")
        if size != _SECTION.size or names >= count:
            raise UnknownObjectError("the section headers")
        return [_SECTION.unpack_from(code, start + i * size) for i in range(count)], names
    except struct.error as error:
        raise UnknownObjectError("the end of the file") from error


def _sections(code: bytes) -> list[_Section]:
    """The sections of an object file, by number."""
    headers, names = _headers(code)
    view = memoryview(code)
    texts = bytes(_bytes_of(view, headers[names]))
    sections: list[_Section] = []
    for each in headers:
        name, type_, flags, _, _, size, _, info, alignment, _ = each
        content = view[:0] if type_ == _NO_BITS else _bytes_of(view, each)
        sections.append(
            _Section(_text(texts, name), type_, flags, content, size, info, max(1, alignment))
        )
    return sections


def _bytes_of(code: memoryview, header: Sequence[int]) -> memoryview:
    start, size = header[4], header[5]
    if header[1] != _NO_BITS and start + size > len(code):
        raise UnknownObjectError("the end of the file")
    return code[start : start + size]


def _text(texts: bytes, start: int) -> str:
    try:
        return texts[start : texts.index(0, start)].decode()
    except ValueError as error:
        raise UnknownObjectError("a name without an end") from error


def _symbols(sections: Sequence[_Section]) -> list[tuple[str, int, int]]:
    """Name, number of the section, and offset in it, of every symbol."""
    tables = [section for section in sections if section.type == _SYMBOLS]
    names = [section for section in sections if section.name == ".strtab"]
    if len(tables) != 1 or len(names) != 1:
        raise UnknownObjectError("the tables of symbols")
    texts = bytes(names[0].content)
    return [
        (_text(texts, name), section, value)
        for name, _, _, section, value, _ in _SYMBOL.iter_unpack(tables[0].content)
    ]


def _is_used(section: _Section) -> bool:
    return bool(section.flags & _ALLOCATE) and not section.name.startswith(_NEVER_USED)


def _relocations(sections: Sequence[_Section]) -> list[tuple[int, int, int, int, int]]:
    """Section, offset in it, symbol, type and addend, for the sections that are used."""
    return [
        (section.info, offset, what >> 32, what & 0xFFFFFFFF, addend)
        for section in sections
        if section.type == _RELOCATIONS and _is_used(sections[section.info])
        for offset, what, addend in _RELOCATION.iter_unpack(section.content)
    ]


def _lay_out(sections: Sequence[_Section], wanted: Sequence[int]) -> tuple[_Memory, int]:
    """The block with the contents of the sections, and where in it what may change begins."""
    used = [(i, section) for i, section in enumerate(sections) if _is_used(section)]
    places: dict[int, int] = {}
    offset = 0

    def place(parts: Sequence[tuple[int, _Section]]) -> None:
        nonlocal offset
        for i, section in parts:
            offset = -(-offset // section.alignment) * section.alignment
            places[i] = offset
            offset += section.size

    place([(i, section) for i, section in used if not section.flags & _WRITE])
    offset = -(-offset // _SLOT) * _SLOT
    slots = {number: offset + i * _SLOT for i, number in enumerate(wanted)}
    offset += len(wanted) * _SLOT
    writable = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
    offset = writable
    place([(i, section) for i, section in used if section.flags & _WRITE])
    block = mmap.mmap(-1, max(offset, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i, section in used:
        block[places[i] : places[i] + len(section.content)] = bytes(section.content)
    base = ctypes.addressof(ctypes.c_char.from_buffer(block))
    sizes = {i: section.size for i, section in used}
    return _Memory(block, base, places, sizes, slots), writable


def _function(library: ctypes.CDLL, name: str) -> int:
    try:
        address = ctypes.cast(library[name], ctypes.c_void_p).value
    except AttributeError as error:
        raise UnknownObjectError(f"function '{name}'") from error
    assert address is not None
    return address


def _relocate(
    memory: _Memory,
    relocations: Sequence[tuple[int, int, int, int, int]],
    values: Sequence[int | None],
) -> None:
    """Writes what depends on addresses."""
    for number, slot in memory.slots.items():
        memory.block[slot : slot + _SLOT] = _JUMP + struct.pack("<Q", values[number] or 0)
    for section, offset, number, type_, addend in relocations:
        if offset + (8 if type_ == _ABSOLUTE_64 else 4) > memory.sizes[section]:
            raise UnknownObjectError("a relocation outside of its section")
        place = memory.places[section] + offset
        value = values[number]
        assert value is not None
        if type_ == _ABSOLUTE_64:
            struct.pack_into("<Q", memory.block, place, value + addend)
            continue
        if type_ in _ADDRESS_SLOTS:
            value = memory.base + memory.slots[number] + len(_JUMP)
        elif type_ not in (_PC_32, _CALL_32):
            raise UnknownObjectError(f"relocation type {type_}")
        distance = value + addend - (memory.base + place)
        if type_ == _CALL_32 and not -(2**31) <= distance < 2**31:
            distance = memory.base + memory.slots[number] + addend - (memory.base + place)
        try:
            struct.pack_into("<i", memory.block, place, distance)
        except struct.error as error:
            raise UnknownObjectError("a symbol that is too far away") from error
