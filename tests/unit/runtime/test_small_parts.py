"""Parts of the run time on their own: files, linkers, workspaces, interfaces for many lengths, and dynamic models."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xrelay.runtime import executor, library, object_file, reading
from xrelay.runtime.arguments import byte_count
from xrelay.runtime.dimensions.interface import OpenInterface, not_served, shortened_condition
from xrelay.runtime.dynamic import DynamicModel, DynamicSignature
from xrelay.runtime.errors import ModelError
from xrelay.runtime.files import whole_file
from xrelay.runtime.layouts import Layouts
from xrelay.runtime.lengths import OpenLengths
from xrelay.runtime.library import link_shared_library
from xrelay.runtime.machine import may_use_tiles
from xrelay.runtime.memory import arrays_by_name
from xrelay.runtime.object_file import object_function
from xrelay.runtime.profile import Profile
from xrelay.runtime.signature import (
    Known,
    OpenTensor,
    Signature,
    StepSpec,
    TensorSpec,
    UnknownDimensions,
)
from xrelay.runtime.weights import read_weights, write_weights

F32 = np.dtype(np.float32)
I64 = np.dtype(np.int64)

# -- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("umask", "mode"), [(0o027, 0o640), (0o077, 0o600), (0o002, 0o664)])
def test_modes_of_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: bool, umask: int, mode: int
) -> None:
    """They follow the mask of the process, which stays as it is, whether or not the system tells it."""
    if not told:

        def refuse(self: Path, *args: object, **options: object) -> str:
            raise OSError("no /proc")

        monkeypatch.setattr(Path, "read_text", refuse)
    old = os.umask(umask)
    try:
        with whole_file(tmp_path / "a") as place:
            place.write_bytes(b"text")
        after = os.umask(umask)
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode and after == umask
    assert (tmp_path / "a").read_bytes() == b"text"
    with whole_file(tmp_path / "b", private=True) as place:
        place.write_bytes(b"secret")
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600


def test_files_that_changed_while_they_were_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was a file and is a folder is closed again, and refused."""
    path = tmp_path / "a"
    path.write_bytes(b"text")
    opened: list[int] = []
    folder = os.stat(tmp_path)

    def fstat(handle: int) -> os.stat_result:
        opened.append(handle)
        return folder

    monkeypatch.setattr(reading.os, "fstat", fstat)
    with pytest.raises(OSError, match="directory"):
        reading.open_regular(path)
    monkeypatch.undo()
    assert opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[-1])


def test_weights_that_are_damaged(tmp_path: Path) -> None:
    """Each way in which a file is not the one that was written."""
    path, data = tmp_path / "w.npz", b"0123456789abcdef"
    key = "d6fbd4ba2d1e8ed4d0f9a6ac1d8fba4c"
    write_weights(path, {key: data})
    with pytest.raises(ModelError) as caught:
        read_weights(path)
    assert str(caught.value) == f"the weights in '{path}' are damaged: {key} has another digest"
    path.write_bytes(b"no archive")
    with pytest.raises(ModelError) as caught:
        read_weights(path)
    assert str(caught.value) == f"cannot read the weights in '{path}': it is no .npz file"
    with pytest.raises(ModelError) as caught:
        read_weights(tmp_path / "none.npz")
    missing = tmp_path / "none.npz"
    assert str(caught.value) == f"cannot read the weights in '{missing}': No such file or directory"


@pytest.mark.parametrize(
    ("text", "count"),
    [("7K", 7 * 2**10), ("3m", 3 * 2**20), ("2G", 2**31), ("5t", 5 * 2**40), ("0K", 0), ("12", 12), ("K", None), ("", None), ("2 M", None), ("-1K", None), ("1.5G", None), ("3KB", None), ("3B", None), ("²", None)],
)  # fmt: skip
def test_numbers_of_bytes(text: str, count: int | None) -> None:
    """A whole number, and a letter for a power of 1024."""
    assert byte_count(text) == count


# -- machine code -----------------------------------------------------------------------------------


def test_systems_without_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the usual names was looked for."""
    asked: list[str] = []

    def which(name: str) -> None:
        asked.append(name)

    monkeypatch.setattr(library.shutil, "which", which)
    with pytest.raises(ModelError) as caught:
        link_shared_library(b"", ["run"])
    assert (
        str(caught.value) == "saving a shared library needs a C compiler driver (cc) to link with"
    )
    assert asked == ["cc", "gcc", "clang"]


def test_linkers_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they get, and what they say."""

    def run(command: Sequence[str], *, cwd: str, check: bool, capture_output: bool) -> Any:
        assert not check and capture_output
        listed = " ".join(command)
        assert listed == (
            "/bin/ld -shared -o model.so model.o -Wl,--version-script=exports.map -lm -lpthread"
        )
        assert Path(cwd, "model.o").read_bytes() == b"code"
        assert Path(cwd, "exports.map").read_text() == "{ global: run; size; local: *; };\n"
        return SimpleNamespace(returncode=1, stderr=b" no room \xff\n")

    monkeypatch.setattr(library.shutil, "which", lambda name: "/bin/ld")
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelError) as caught:
        link_shared_library(b"code", ["run", "size"])
    assert str(caught.value) == "/bin/ld failed to link the library: no room \ufffd"


@pytest.mark.parametrize(
    ("system", "machine", "answer", "expected"),
    [
        ("linux", "x86_64", 0, True),
        ("linux", "x86_64", -1, False),
        ("linux", "aarch64", 0, False),
        ("darwin", "x86_64", 0, False),
    ],
)
def test_tile_registers(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, answer: int, expected: bool
) -> None:
    """Linux on 64-bit x86 is asked for their contents by number; elsewhere there are none."""
    asked: list[tuple[int, ...]] = []

    def syscall(*numbers: Any) -> int:
        asked.append(tuple(number.value for number in numbers))
        return answer

    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(syscall=syscall))
    assert may_use_tiles.__wrapped__() is expected
    asks = (system, machine) == ("linux", "x86_64")
    assert asked == ([(158, 0x1023, 18)] if asks else [])


def test_systems_that_load_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the object file is."""
    monkeypatch.setattr(object_file, "is_supported", lambda: False)
    with pytest.raises(ModelError) as caught:
        object_function(b"", "run")
    assert str(caught.value) == "object files are loaded on Linux with 64-bit x86 only"


def test_workspaces_that_do_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place whose workspace is too small is there for the next run when there is no memory for a larger one."""
    pool_type = vars(executor)["_Pool"]
    pool = pool_type.__new__(pool_type)
    pool.name, pool._team_create = "m", abs  # Places belong to a process.
    sizes: list[int] = []

    def workspace(size: int, what: str) -> npt.NDArray[np.uint8]:
        assert what == "the workspace of model 'm'"
        sizes.append(size)
        if size > 1000:
            raise MemoryError
        return np.zeros(size, np.uint8)

    monkeypatch.setattr(executor, "aligned_bytes", workspace)
    place_type = vars(executor)["_Place"]
    array = np.zeros(900, np.uint8)
    own = place_type(os.getpid(), workspace=array, address=array.ctypes.data, team=None)
    other = replace(own, process=os.getpid() + 1)
    pool.places = [own, other]
    assert pool.take(900) is own and pool.places == [] and sizes == []
    pool.places = [own]
    with pytest.raises(MemoryError):
        pool.take(901)
    assert pool.places == [own] and sizes == [1125]
    small = replace(own, workspace=np.zeros(100, np.uint8))
    for wanted, size in ((101, 125), (125, 125), (126, 126), (700, 700)):
        pool.places = [small]
        found = pool.take(wanted)
        assert found.workspace.size == size and pool.places == []
        assert found.address == found.workspace.ctypes.data


def test_arrays_by_name() -> None:
    """A mapping or a list of all of them; anything else is refused."""
    specs = (TensorSpec("x", (2,), F32), TensorSpec("y", (3,), F32))
    x, y = np.zeros(2, np.float32), np.zeros(3, np.float32)
    for given in ({"y": y, "x": x}, [x, y], (x, y)):
        assert list(arrays_by_name("input", specs, given)) == ["x", "y"]
    for given, message in (
        (3, r"^the inputs are an int, expected "),
        (x, r"^the inputs are "),
        ([x], r", expected 'x' float32\[2\], 'y' float32\[3\]$"),
        (
            {"x": x, "z": y},
            r"^unknown input 'z', missing input 'y'; the model has 'x' float32\[2\], 'y' ",
        ),
    ):
        with pytest.raises(ModelError, match=message):
            arrays_by_name("input", specs, given)


# -- interfaces for many lengths --------------------------------------------------------------------


def program(**changes: Any) -> Signature:
    n = (((0,), 1),)
    lengths = OpenLengths(
        ("n",), ((0, 0),), ((1, 9),), (), (), (n,), ((n,),), ((n,),), n, ("n >= 1",)
    )
    given = (TensorSpec("x", (4,), F32),)
    made = (TensorSpec("y", (4,), F32),)
    steps = (StepSpec("fused_exp", 4, 32),)
    found = Signature("m", given, made, 0, 0, "here", (), steps=steps, lengths=lengths)
    return replace(found, **changes)


def interface(*programs: Signature, **changes: Any) -> OpenInterface:
    given, made = (OpenTensor("x", ("n",), F32),), (OpenTensor("y", ("n",), F32),)
    return replace(OpenInterface("m", given, made, {"n": (1, 9)}, programs), **changes)


def test_interfaces_for_many_lengths() -> None:
    """They are read as written; the first program says how many threads there are."""
    found = interface(program(threads=3), program(threads=5))
    assert found.threads == 3 and not found.uses_tiles
    assert interface(program(), program(features=("amx-tile",))).uses_tiles
    assert found.conditions() == ("n >= 1", "n >= 1")
    same = interface(program(), program())
    assert OpenInterface.from_json(same.to_json()) == same
    assert OpenInterface.from_json("[") is None and OpenInterface.from_json("[]") is None
    assert OpenInterface.from_json(program().to_json()) is None
    failing = program(failures=("it may end",))
    assert OpenInterface.from_json(failing.to_json()) is None
    assert Signature.from_json(failing.to_json()) == failing


X, Y = OpenTensor("x", ("n",), F32), OpenTensor("y", ("n",), F32)


@pytest.mark.parametrize(
    ("damaged", "what"),
    [
        (interface(), "it has no programs"),
        (interface(program(), inputs=(X, X)), "two inputs have the same name"),
        (interface(program(), program(lengths=None)), "a program has no lengths"),
        (interface(program(), values=("z",)), "elements are lengths of what is no input"),
        (interface(program(), values=("x",)), "the elements of 'x' are no lengths"),
        (
            interface(program(), inputs=(X, OpenTensor("k", (17,), I64)), values=("k",)),
            "the elements of 'k' are no lengths",
        ),
        (
            interface(program(), inputs=(X, OpenTensor("k", (2,), I64)), values=("k",)),
            "the lengths of a program are those of other tensors",
        ),
        (interface(program(), inputs=(Y,)), "a program has other inputs or outputs than the model"),
        (
            interface(program(), outputs=(X,)),
            "a program has other inputs or outputs than the model",
        ),
        (
            interface(program(), inputs=(replace(X, dtype=I64),)),
            "a program has other inputs or outputs than the model",
        ),
        (
            interface(program(), program(outputs=(TensorSpec("y", (4,), I64),))),
            "a program has other inputs or outputs than the model",
        ),
    ],
)
def test_interfaces_that_are_damaged(damaged: OpenInterface, what: str) -> None:
    """What does not go together."""
    with pytest.raises(ModelError) as caught:
        OpenInterface.from_json(damaged.to_json())
    assert str(caught.value) == f"the model's description is damaged: {what}"


def test_lengths_that_are_not_served() -> None:
    """The lengths of the call, and those that the programs serve."""
    found = not_served(interface(program(), program()), [(12,)])
    assert str(found) == (
        "'n' is 12, for which the file of model 'm' has no program; expected lengths with (n >= 1) or (n >= 1). Save "
        "the model again with shapes= that has these, or run it from its source"
    )


@pytest.mark.parametrize("count", [10, 200])
def test_long_conditions(count: int) -> None:
    """The middle of a long one is left out."""
    text = "".join(f"{i:03}" for i in range(count))
    found = shortened_condition(text)
    if count == 10:
        assert found == text
    else:
        half = (len(found) - 1) // 2
        assert found == f"{text[:half]}…{text[-half:]}" and len(found) < len(text)


# -- dynamic models ---------------------------------------------------------------------------------


def model(specialise: Any, **options: Any) -> DynamicModel:
    given = (OpenTensor("x", ("n", 3), F32), OpenTensor("y", None, F32))
    signature = DynamicSignature("m", given, (OpenTensor("z", ("n",), F32),))
    return DynamicModel(signature, specialise, **options)


def arrays(n: int = 2) -> dict[str, npt.NDArray[Any]]:
    return {"x": np.zeros((n, 3), np.float32), "y": np.zeros((4, 5, 6), np.float32)}


def refuses(many: bool) -> Callable[[dict[str, Known], Layouts], Any]:
    def specialise(shapes: Mapping[str, Known], layouts: Layouts) -> Any:
        raise UnknownDimensions("a size depends on data", (), (), many=many)

    return specialise


def test_sizes_that_depend_on_data() -> None:
    """Without stages, a call says what is not known; a binding and a profile that there are several programs."""
    found = model(refuses(many=True))
    with pytest.raises(UnknownDimensions, match="a size depends on data"):
        found.run(arrays())
    outputs = {"z": np.zeros(2, np.float32)}
    with pytest.raises(ModelError) as caught:
        found.bind(arrays(), outputs)
    assert str(caught.value) == (
        "model 'm' has parts on other engines, or behind sizes that depend on data, which do not run on arrays of the "
        "caller; use `run`"
    )
    with pytest.raises(ModelError, match="depend on data, each of which has a profile of its own"):
        found.profile(arrays(), 1)
    with pytest.raises(UnknownDimensions, match="a size depends on data"):
        model(refuses(many=False)).bind(arrays(), outputs)
    assert found.specialisations == ()


def test_stages_are_made_once() -> None:
    """And run instead from then on."""
    made: list[str] = []
    ran: list[list[str]] = []

    def staged(unknown: UnknownDimensions, signature: DynamicSignature) -> Any:
        made.append(f"{signature.name}: {unknown}")

        def run(named: Mapping[str, Any]) -> dict[str, Any]:
            ran.append(list(named))
            return {"z": len(ran)}

        return SimpleNamespace(run=run)

    found = model(refuses(many=True), staged=staged)
    assert [found.run(arrays())["z"], found.run(arrays(3))["z"]] == [1, 2]
    assert made == ["m: a size depends on data"] and ran == [["x", "y"]] * 2


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"x": (2, 3)}, "shapes are given of x, expected those of all inputs: "),
        ({"x": (2, 3), "y": (1.5,)}, "the shape of 'y' is (1.5,), expected whole numbers"),
        ({"x": (2, 3), "y": "ab"}, "the shape of 'y' is 'ab', expected whole numbers"),
        ({"x": (2, 4), "y": ()}, "input 'x' has the shape [2, 4], expected "),
        ({"x": (2,), "y": ()}, "input 'x' has the shape [2] of rank 1, expected "),
        ({"x": (4, 3), "y": ()}, "'n' is 4 in input 'x', expected 2 to 3"),
        ({"x": (1, 3), "y": ()}, "'n' is 1 in input 'x', expected 2 to 3"),
    ],
)
def test_shapes_for_programs(shapes: dict[str, Any], message: str) -> None:
    """What shapes of all inputs have to be."""

    def specialise(shapes: Mapping[str, Known], layouts: Layouts) -> Any:
        raise AssertionError("nothing is compiled")

    with pytest.raises(ModelError) as caught:
        model(specialise, ranges={"n": (2, 3)}).specialise(shapes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("y", [(), (7,), (1, 2, 3)])
def test_inputs_of_any_rank(y: tuple[int, ...]) -> None:
    """A shape that is not stated is any; one that is holds for the inputs behind it as well."""
    made: list[dict[str, Known]] = []

    def specialise(shapes: dict[str, Known], layouts: Layouts) -> Any:
        made.append(shapes)
        return SimpleNamespace(conditions=None, signature=program())

    given = (OpenTensor("y", None, F32), OpenTensor("x", ("n", 3), F32))
    found = DynamicModel(DynamicSignature("m", given, ()), specialise)
    found.specialise({"x": (2, 3), "y": y})
    assert made == [{"x": (2, 3), "y": y}]
    with pytest.raises(ModelError, match=r"^input 'x' has the shape \[2, 4\]"):
        found.specialise({"x": (2, 4), "y": y})


def test_times_of_a_profile() -> None:
    """A trace has the run of median length, and times in thousandths of a second's thousandth."""
    specs = StepSpec("dense", 3000, 6000, "panels", ("fc",)), StepSpec("copy", 0, 500)
    stamps = np.array([[0, 1500, 2000], [100, 1100, 3100], [500, 9500, 9600]], np.int64)
    profile = Profile("net", 2, specs, stamps)
    assert profile.seconds == 3e-6
    assert [(step.number, step.seconds) for step in profile.steps] == [(0, 1.5e-6), (1, 5e-7)]
    process, *events = json.loads(profile.chrome_trace())["traceEvents"]
    assert process["args"] == {"name": "net, 2 threads"}
    assert [(each["name"], each["cat"], each["ts"], each["dur"]) for each in events] == [
        ("dense", "panels", 0.0, 1.0),
        ("copy", "kernel", 1.0, 2.0),
    ]
    assert [each["args"] for each in events] == [
        {"step": 0, "nodes": ["fc"], "flops": 3000, "bytes": 6000, "GFLOP/s": 3.0, "GB/s": 6.0},
        {"step": 1, "nodes": [], "flops": 0, "bytes": 500, "GFLOP/s": 0.0, "GB/s": 0.25},
    ]
