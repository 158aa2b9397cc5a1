"""The loader of object files, beside LLVM's."""

import ctypes
import hashlib
import io
import json
import logging
import math
import platform
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

from xrelay.runtime import object_file
from xrelay.runtime.cache import object_cache
from xrelay.runtime.elf import LoadedObject, UnknownObjectError, is_supported, required_size
from xrelay.runtime.host import host
from xrelay.runtime.llvm import emit_object, load_object
from xrelay.runtime.machine import Address, Machine
from xrelay.runtime.object_file import load_code

pytestmark = pytest.mark.skipif(not is_supported(), reason="for 64-bit x86 on Linux")

IR = """
@counter = internal global i32 40
@zeros = internal global [9 x i64] zeroinitializer, align 64
@table = internal constant [4 x double] [double 0.5, double 1.5, double 2.5, double 3.5]
@functions = internal constant [2 x ptr] [ptr @square, ptr @cosine]
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [
  { i32, ptr, ptr } { i32 65535, ptr @at_end, ptr null }
]

declare double @cos(double)
declare ptr @memcpy(ptr, ptr, i64)

define internal void @at_end() {
  store i32 0, ptr @counter
  ret void
}

define double @square(double %x) {
  %y = fmul double %x, %x
  ret double %y
}

define double @cosine(double %x) {
  %y = call double @cos(double %x)
  ret double %y
}

define i32 @count() {
  %old = load i32, ptr @counter
  %new = add i32 %old, 1
  store i32 %new, ptr @counter
  ret i32 %new
}

define double @entry(i64 %i) {
  %place = getelementptr double, ptr @table, i64 %i
  %x = load double, ptr %place
  ret double %x
}

define double @apply(i64 %i, double %x) {
  %place = getelementptr ptr, ptr @functions, i64 %i
  %function = load ptr, ptr %place
  %y = call double %function(double %x)
  ret double %y
}

define i64 @first_zero() {
  %copied = call ptr @memcpy(ptr getelementptr (i64, ptr @zeros, i64 1), ptr @zeros, i64 8)
  %address = ptrtoint ptr @zeros to i64
  %low = and i64 %address, 63
  %x = load i64, ptr %copied
  %sum = add i64 %x, %low
  ret i64 %sum
}

define i32 @case(i32 %x) {
  switch i32 %x, label %other [ i32 0, label %a  i32 1, label %b  i32 2, label %c  i32 3, label %d
                                i32 4, label %e  i32 5, label %f ]
a:
  ret i32 7
b:
  ret i32 -3
c:
  ret i32 11
d:
  ret i32 5
e:
  ret i32 13
f:
  ret i32 2
other:
  ret i32 0
}
"""


def compiled(text: str) -> bytes:
    machine = this_machine()
    return emit_object(binding.parse_assembly(text), machine)


def this_machine() -> Machine:
    return Machine(binding.get_default_triple(), binding.get_host_cpu_name(), "")


def results(address: Address) -> list[float]:
    """What the functions of `IR` return."""
    double, i32, i64 = ctypes.c_double, ctypes.c_int32, ctypes.c_int64
    count = ctypes.CFUNCTYPE(i32)(address("count"))
    entry = ctypes.CFUNCTYPE(double, i64)(address("entry"))
    apply = ctypes.CFUNCTYPE(double, i64, double)(address("apply"))
    case = ctypes.CFUNCTYPE(i32, i32)(address("case"))
    first = ctypes.CFUNCTYPE(i64)(address("first_zero"))
    return [
        *(count(), count(), first()),
        *(entry(i) for i in range(4)),
        *(apply(i, 3.0) for i in range(2)),
        *(case(i) for i in range(-1, 7)),
    ]


EXPECTED = [41, 42, 0, 0.5, 1.5, 2.5, 3.5, 9.0, math.cos(3.0), 0, 7, -3, 11, 5, 13, 2, 0]


def test_code_data_and_calls_as_llvm_loads_them() -> None:
    code = compiled(IR)
    assert results(LoadedObject(code).address) == EXPECTED
    assert results(load_object(code, this_machine())) == EXPECTED


def test_two_of_one_kind_share_nothing() -> None:
    first, second = (LoadedObject(compiled(IR)) for _ in range(2))
    assert results(first.address) == results(second.address) == EXPECTED


def test_code_cannot_be_written_and_data_not_executed() -> None:
    loaded = LoadedObject(compiled(IR))
    places = [loaded.address("count"), loaded.address("counter")]
    for place, rights in zip(places, ("r-xp", "rw-p"), strict=True):
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            span, found = line.split()[:2]
            start, end = (int(part, 16) for part in span.split("-"))
            if start <= place < end:
                assert found == rights


def damaged(kind: str) -> bytes:
    code = bytearray(compiled(IR))
    match kind:
        case "short":
            return bytes(code[:40])
        case "cut":
            return bytes(code[: len(code) // 2])
        case "other machine":
            code[18] = 183
        case "32 bits":
            code[4] = 1
        case "program":
            code[16] = 2
        case _:
            raise AssertionError(kind)
    return bytes(code)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("short", "the end of the file"),
        ("cut", "the end of the file"),
        ("other machine", "the kind of the file"),
        ("32 bits", "the kind of the file"),
        ("program", "the kind of the file"),
    ],
)
def test_what_is_not_known_is_said(kind: str, message: str) -> None:
    with pytest.raises(UnknownObjectError, match=message):
        LoadedObject(damaged(kind))


def test_damage_is_either_said_or_stays_within_the_code() -> None:
    """No other exception, whatever byte changes, so that LLVM can have a try."""
    code = compiled(IR)
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(0, len(code), 400):
        changed = bytearray(code)
        changed[place] ^= 1 << int(rng.integers(8))
        try:
            LoadedObject(bytes(changed))
        except UnknownObjectError:
            refused += 1
    assert refused


def test_unknown_functions_are_named() -> None:
    text = "declare void @no_such_function()\ndefine void @f() {\n call void @no_such_function()\n ret void\n}"
    with pytest.raises(UnknownObjectError, match="function 'no_such_function'"):
        LoadedObject(compiled(text))


def test_llvm_loads_what_the_loader_does_not_know(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(code: bytes) -> None:
        raise UnknownObjectError("relocation type 99")

    monkeypatch.setattr(object_file, "LoadedObject", refuse)
    with caplog.at_level(logging.INFO):
        assert results(load_code(compiled(IR), this_machine())) == EXPECTED
    assert "LLVM loads the code, because of relocation type 99" in caplog.text


# -- the description of the processor --------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1M")
    return tmp_path


ASK = """\
import sys
from xrelay.runtime.host import host
found = host()
print("llvmlite" in sys.modules, found.triple, found.cpu, sorted(found.features.items()))
"""


def ask() -> list[str]:
    command = [sys.executable, "-c", ASK]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(None, 1)


@pytest.mark.slow
def test_llvm_is_asked_for_the_processor_once(folder: Path) -> None:
    (first, expected), (second, found) = ask(), ask()
    assert (first, second) == ("True", "False")
    assert found == expected
    assert platform.machine() in expected
    assert str(sorted(host().features.items())) in expected
    (kept,) = folder.glob("host-*.json")
    text = kept.read_text()
    kept.write_text(text.replace("x86_64", "x86_65"))
    assert ask() == ["True", expected]
    assert kept.read_text() == text
    other = json.dumps({"triple": "x86_64", "registers": 16})
    kept.write_text(f"{hashlib.sha256(other.encode()).hexdigest()}\n{other}")
    assert ask() == ["True", expected]
    kept.chmod(0o666)
    assert ask() == ["True", expected]
    assert kept.stat().st_mode & 0o777 == 0o600
    cache = object_cache()
    assert cache is not None
    assert cache.clear() == len(text)
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_load_needs_no_llvm(folder: Path) -> None:
    model = folder / "m.mlir"
    model.write_text(
        "func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {\n"
        "  %0 = relay.exp %x : (tensor<5xf32>) -> tensor<5xf32>\n"
        "  func.return %0 : tensor<5xf32>\n}\n"
    )
    code = (
        "import sys, numpy, xrelay\n"
        f"model = xrelay.compile({str(model)!r}, threads=2)\n"
        "(y,) = model.run({name: numpy.ones(5, 'f4') for name in ['x']}).values()\n"
        "print('llvmlite' in sys.modules, y.tolist())\n"
    )
    command = [sys.executable, "-c", code]
    texts = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in "12"
    ]
    values = np.exp(np.ones(5, np.float32))
    assert [text.split(None, 1)[0] for text in texts] == ["True", "False"]
    for text in texts:
        np.testing.assert_allclose(json.loads(text.split(None, 1)[1]), values, rtol=1e-6)


# -- how long libraries are -------------------------------------------------------------------------

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
IDENTITY = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")


def library(
    *segments: tuple[int, int], place: int = 64, sections: int = 0, size: int = SEGMENT.size
) -> bytes:
    """The headers of a library: of segments, stated as (offset, bytes in the file), at a place; of 2 sections."""
    header = HEADER.pack(
        *(IDENTITY, 3, 62, 1, 0, place, sections, 0, HEADER.size),
        *(size, len(segments), 64, 2 if sections else 0, 0),
    )
    table = b"".join(SEGMENT.pack(1, 5, *each[:1], 0, 0, each[1], 9**9, 4096) for each in segments)
    return header.ljust(place, b"\xff") + table


@pytest.mark.parametrize(
    ("code", "required"),
    [
        (library((0, 64)), 64 + 56),
        (library((0, 64), (4096, 100), (128, 9)), 4196),
        (library((0, 64), (4096, 100), place=200), 4196),
        (library((0, 64), sections=5000), 5128),
        (library((4096, 100), size=64) + bytes(8), 64 + 64),
        (library((0, 64), (4096, 100))[:150], 64 + 2 * 56),
        (library()[:30], 64),
        (b"MZ" + library()[2:], 0),
        (b"", 0),
    ],
)
def test_how_long_a_library_is(code: bytes, required: int) -> None:
    assert required_size(io.BytesIO(code), len(code)) == required
