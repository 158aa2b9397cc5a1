"""The cache of compiled models: hits, what makes another entry, damage, limits, other processes."""

import hashlib
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from commands.runs import Command
from onnx import StringStringEntryProto, TensorProto
from onnx.external_data_helper import convert_model_to_external_data
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay import cached
from xrelay.compiler import read_model
from xrelay.frontends.onnx.messages import external_locations
from xrelay.options import CompileOptions
from xrelay.runtime.cache import object_cache

X = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache."""
    place = tmp_path / "cache" / "xrelay"
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(place))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    return place


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """What the cache has said since the last call."""
    caplog.set_level(logging.INFO, "xrelay.cache")

    def take() -> str:
        text = "\n".join(caplog.messages)
        caplog.clear()
        return text

    return take


Messages = Callable[[], str]


def y_of(model: xrelay.Model) -> Any:
    return model.run({"x": X})["y"]


def entries(place: Path) -> list[Path]:
    """All files but the description of the processor, which one test of the process writes."""
    paths = place.iterdir() if place.exists() else []
    return sorted(path for path in paths if not path.name.startswith("host-"))


@pytest.fixture(scope="module")
def filled(conv_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a cache in which conv.onnx is."""
    folder = tmp_path_factory.mktemp("cache") / "xrelay"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XRELAY_CACHE_DIR", str(folder))
        patch.setenv("XRELAY_CACHE_SIZE", "1G")
        xrelay.compile(conv_file)
    return folder


@pytest.fixture
def entry(filled: Path, place: Path) -> Path:
    """What the cache has of conv.onnx."""
    shutil.copytree(filled, place)
    (entry,) = entries(place)
    return entry


def test_second_compilation_is_a_load(folder: Path, place: Path, messages: Messages) -> None:
    first = xrelay.compile(folder / "conv.onnx")
    assert "stored as" in messages()
    stages: list[str] = []
    second = xrelay.compile(folder / "conv.onnx", progress=stages.append)
    assert messages().startswith("loaded from")
    assert stages == ["look into the cache"]
    np.testing.assert_array_equal(y_of(second), y_of(first))
    assert second.signature == first.signature
    assert second.llvm_ir == first.llvm_ir
    assert len(entries(place)) == 1


LIGHT = """\
import sys, json, xrelay, numpy
model = xrelay.compile(sys.argv[1])
model.run({"x": numpy.zeros((1, 3, 8, 8), numpy.float32)})
print(json.dumps([name for name in ("xdsl.ir", "onnx", "xrelay.compiler") if name in sys.modules]))
"""


@pytest.mark.slow
def test_load_imports_no_compiler(folder: Path) -> None:
    for expected in ('["xdsl.ir", "onnx", "xrelay.compiler"]\n', "[]\n"):
        command = [sys.executable, "-c", LIGHT, folder / "conv.onnx"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert found == expected


def test_weights_of_a_load_are_mapped_and_cannot_be_written(folder: Path, entry: Path) -> None:
    model = xrelay.compile(folder / "conv.onnx")
    # Files of any name may be mapped beside it.
    assert os.fsencode(entry) in Path("/proc/self/maps").read_bytes()
    assert model.code is not None
    assert not model.code.constants.flags.writeable
    assert model.code.constants.ctypes.data % 4096 == 0


@pytest.mark.parametrize("suffix", [".so", ".ll"])
def test_a_load_can_be_saved(folder: Path, suffix: str) -> None:
    models = [xrelay.compile(folder / "conv.onnx") for _ in range(2)]
    for name, model in zip("ab", models, strict=True):
        (folder / name).mkdir()
        model.save(folder / name / f"conv{suffix}")
    for path in (folder / "a").iterdir():
        if suffix == ".ll":
            assert path.read_bytes() == (folder / "b" / path.name).read_bytes()
    if suffix == ".so":
        found = y_of(xrelay.load(folder / "b" / "conv.so"))
        np.testing.assert_array_equal(found, y_of(models[0]))


@pytest.mark.parametrize("kind", ["ModelProto", "ModuleOp", "mlir"])
def test_all_kinds_of_models(folder: Path, kind: str, messages: Messages) -> None:
    model: Any = folder / "add.mlir"
    if kind == "ModelProto":
        model = onnx.load(folder / "conv.onnx")
    elif kind == "ModuleOp":
        model, _ = read_model(folder / "conv.onnx")
    xrelay.compile(model)
    assert "stored as" in messages()
    xrelay.compile(model)
    assert messages().startswith("loaded from")


def test_what_makes_another_entry(folder: Path, place: Path) -> None:
    changed = onnx.load(folder / "conv.onnx")
    changed.graph.initializer[0].raw_data = bytes(len(changed.graph.initializer[0].raw_data))
    onnx.save(changed, folder / "changed.onnx")
    compilations: list[tuple[str, dict[str, Any]]] = [
        ("conv.onnx", {}),
        ("conv.onnx", {"target": "x86-64"}),
        ("conv.onnx", {"threads": 2}),
        ("conv.onnx", {"profile": True}),
        ("conv.onnx", {"winograd": False}),
        ("changed.onnx", {}),
        ("symbolic.onnx", {"shapes": {"x": [1, 3, 8, 8]}}),
        ("symbolic.onnx", {"shapes": {"x": [1, 3, 9, 9]}}),
    ]
    for count, (name, options) in enumerate(compilations, 1):
        for _ in range(2):
            xrelay.compile(folder / name, **options)
        assert len(entries(place)) == count


def test_another_compiler_makes_another_entry(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    xrelay.compile(folder / "conv.onnx")
    monkeypatch.setattr(cached, "_compiler_digest", lambda: "another")
    xrelay.compile(folder / "conv.onnx")
    assert len(entries(place)) == 2


def test_external_weights_are_part_of_the_model(folder: Path, messages: Messages) -> None:
    model = onnx.load(folder / "conv.onnx")
    convert_model_to_external_data(model, location="weights.bin", size_threshold=0)
    onnx.save(model, folder / "external.onnx")
    before = y_of(xrelay.compile(folder / "external.onnx"))
    np.testing.assert_array_equal(y_of(xrelay.compile(folder / "external.onnx")), before)
    messages()
    weights = folder / "weights.bin"
    weights.write_bytes(bytes(weights.stat().st_size))
    after = y_of(xrelay.compile(folder / "external.onnx"))
    assert "weights.bin has changed" in messages()
    assert not after.any()
    np.testing.assert_array_equal(y_of(xrelay.compile(folder / "external.onnx")), after)
    assert messages().startswith("loaded from")


def test_weights_beside_a_program_are_part_of_it(
    cmd: Command, folder: Path, messages: Messages
) -> None:
    program = folder / "program.mlir"
    assert cmd("compile", folder / "conv.onnx", "-o", program, "--emit-after", "import").code == 0
    xrelay.compile(program)
    messages()
    xrelay.compile(program)
    assert messages().startswith("loaded from")
    (folder / "program.mlir.weights.npz").unlink()
    with pytest.raises(DiagnosticException, match="lacks the bytes of 1 large constant"):
        xrelay.compile(program)


@pytest.mark.parametrize("position", [0, 35, 60, 300, 2000, 5000, -5000, -1, None])
def test_damaged_entries_are_made_again(
    folder: Path, entry: Path, messages: Messages, position: int | None
) -> None:
    expected = y_of(xrelay.compile(folder / "conv.onnx"))
    content = bytearray(entry.read_bytes())
    if position is None:
        del content[len(content) // 2 :]
    else:
        content[position] ^= 0x10
    entry.write_bytes(content)
    messages()
    np.testing.assert_array_equal(y_of(xrelay.compile(folder / "conv.onnx")), expected)
    text = messages()
    assert "is damaged, it is removed" in text
    assert "stored as" in text
    xrelay.compile(folder / "conv.onnx")
    assert messages().startswith("loaded from")


def field(number: int, content: bytes) -> bytes:
    """A field of a message in protobuf's wire format."""
    return bytes([number << 3 | 2, len(content)]) + content


def unused_tensor(location: str, entry: bytes | None = None) -> bytes:
    """What adds an initializer to a model whose bytes it follows; `entry` says its location otherwise."""
    tensor = TensorProto(name="unused", data_type=1, dims=[1], data_location=TensorProto.EXTERNAL)
    pair = StringStringEntryProto(key="location", value=location).SerializeToString()
    return field(7, field(5, tensor.SerializeToString() + field(13, entry or pair)))


@pytest.mark.parametrize(
    "location",
    ["/dev/zero", "../secret", "pipe", "link", "conv.onnx.weights.npz", "weights"],
)
def test_what_a_model_names_is_read_only_where_the_importer_would(
    folder: Path, location: str
) -> None:
    """A metadata property only looks like the place of external data."""
    models = folder / "models"
    models.mkdir()
    (folder / "secret").write_bytes(b"secret")
    (models / "weights").write_bytes(b"weights")
    for name in ("link", "conv.onnx.weights.npz"):
        (models / name).symlink_to(folder / "secret")
    os.mkfifo(models / "pipe")
    model = onnx.load(folder / "conv.onnx")
    onnx.helper.set_model_props(model, {"location": "/dev/zero"})
    (models / "conv.onnx").write_bytes(model.SerializeToString() + unused_tensor(location))
    xrelay.compile(models / "conv.onnx")
    place = cached.cache_place(models / "conv.onnx", None, CompileOptions())
    assert place is not None
    digest = hashlib.sha256(b"weights").hexdigest() if location == "weights" else None
    assert place.dependencies() == {location: digest}
    assert place.load() is not None


@pytest.mark.parametrize(
    "kind", ["pipe", "link to a pipe", "link to a device", "link to itself", "folder"]
)
def test_entries_that_are_no_files(
    folder: Path, entry: Path, kind: str, messages: Messages
) -> None:
    entry.unlink()
    match kind:
        case "pipe":
            os.mkfifo(entry)
        case "link to a pipe":
            os.mkfifo(folder / "pipe")
            entry.symlink_to(folder / "pipe")
        case "link to a device":
            entry.symlink_to("/dev/zero")
        case "link to itself":
            entry.symlink_to(entry)
        case _:
            entry.mkdir()
    messages()
    y_of(xrelay.compile(folder / "conv.onnx"))
    text = messages()
    assert "cannot read" in text
    assert ("cannot write" if kind == "folder" else "stored as") in text
    cache = object_cache()
    assert cache is not None
    found = cache.entries()
    assert [cache.describe(each) is None for each in found] == ([] if kind == "folder" else [False])


def test_what_is_no_entry_does_not_keep_the_others_from_being_removed(
    cmd: Command, entry: Path
) -> None:
    entry.with_stem("0").symlink_to(entry.with_stem("0"))
    entry.with_stem("1").mkdir()
    assert "2 entries" in cmd("cache").out
    assert "removed" in cmd("cache", "--clear").out
    assert entries(entry.parent) == [entry.with_stem("1")]


@pytest.mark.parametrize("content", [b"", b"x", bytes(100_000)])
def test_foreign_files_in_place_of_entries(
    folder: Path, entry: Path, content: bytes, messages: Messages
) -> None:
    entry.write_bytes(content)
    messages()
    xrelay.compile(folder / "conv.onnx")
    assert "is damaged" in messages()


def test_switched_off(folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xrelay.compile(folder / "conv.onnx", cache=False)
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "0")
    xrelay.compile(folder / "conv.onnx")
    assert entries(place) == []
    assert object_cache() is None


@pytest.mark.parametrize("size", ["many", "-1", "1.5G", "5X", "G"])
def test_sizes_that_are_none(folder: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("XRELAY_CACHE_SIZE", size)
    with pytest.raises(xrelay.ModelError, match=f"XRELAY_CACHE_SIZE is '{size}', expected"):
        xrelay.compile(folder / "conv.onnx")


def test_the_oldest_entries_make_room(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_for(target: str) -> Path:
        before = set(entries(place))
        xrelay.compile(folder / "conv.onnx", target=target)
        return (set(entries(place)) - before).pop()

    oldest = compile_for("x86-64")
    used = compile_for("x86-64-v3")
    for path, age in ((oldest, 100), (used, 200)):
        os.utime(path, (0, path.stat().st_mtime - age))
    abandoned = place / f".{oldest.name}.abcd"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (0, 0))
    xrelay.compile(folder / "conv.onnx", target="x86-64-v3")  # Used again: no longer the oldest.
    new = compile_for("x86-64-v4")
    limit = used.stat().st_size + new.stat().st_size
    new.unlink()
    monkeypatch.setenv("XRELAY_CACHE_SIZE", str(limit))
    xrelay.compile(folder / "conv.onnx", target="x86-64-v4")
    assert entries(place) == sorted([used, new])


def test_what_is_too_large_is_not_kept(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch, messages: Messages
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1K")
    xrelay.compile(folder / "conv.onnx")
    assert "more than the cache may take" in messages()
    assert entries(place) == []


def test_a_folder_that_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, messages: Messages
) -> None:
    (folder / "file").write_text("no folder")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(folder / "file" / "cache"))
    y_of(xrelay.compile(folder / "conv.onnx"))
    assert "cannot write" in messages()


WRITER = """\
import sys, xrelay
for _ in range(4):
    xrelay.compile(sys.argv[1])
    if sys.argv[2] == "remove":
        from xrelay.runtime.cache import object_cache
        object_cache().clear()
"""


@pytest.mark.slow
def test_several_processes_write_the_same_entry(folder: Path, place: Path) -> None:
    def process(what: str) -> str:
        command = [sys.executable, "-c", WRITER, folder / "conv.onnx", what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(process, ["remove", "keep", "keep"])) == ["", "", ""]
    y_of(xrelay.compile(folder / "conv.onnx"))
    (entry,) = entries(place)
    assert not entry.name.startswith(".")


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XRELAY_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "")
    cache = object_cache()
    assert cache is not None
    assert cache.folder == tmp_path / "xrelay"
    assert cache.limit == 4 * 1024**3


# -- the commands -------------------------------------------------------------------------------


def test_run_uses_the_cache(cmd: Command, folder: Path, place: Path) -> None:
    assert cmd("run", folder / "conv.onnx", "--no-cache").code == 0
    assert entries(place) == []
    outputs = [cmd("run", folder / "conv.onnx", "--verify") for _ in range(2)]
    assert [result.code for result in outputs] == [0, 0]
    assert len(entries(place)) == 1


def test_run_with_backends_uses_the_cache(cmd: Command, tmp_path: Path, place: Path) -> None:
    """For the code of what no backend takes."""
    t = "tensor<2x2xf32>"
    path = tmp_path / "program.mlir"
    path.write_text(
        f"func.func @main(%x: {t}) -> {t} {{\n"
        f"  %0 = relay.nn.dense %x, %x : ({t}, {t}) -> {t}\n"
        f"  %1 = relay.exp %0 : ({t}) -> {t}\n"
        f"  return %1 : {t}\n}}\n"
    )
    chip = tmp_path / "chip.toml"
    chip.write_text('flops = 1e12\nbandwidth = 1e10\nlaunch = 1e-5\n[operators]\n"nn.dense" = {}\n')
    words = ("run", path, "--backend", f"simulated:{chip}")
    assert cmd(*words, "--no-cache").code == 0
    assert entries(place) == []
    assert cmd(*words).code == 0
    assert len(entries(place)) == 1


def test_command_shows_and_clears(cmd: Command, folder: Path, place: Path) -> None:
    assert "0 entries" in cmd("cache").out
    cmd("run", folder / "conv.onnx", "--threads", 2)
    cmd("run", folder / "add.mlir")
    entries(place)[0].write_bytes(b"x")
    shown = cmd("cache", "--info").out
    assert "2 entries" in shown
    assert "(damaged)" in shown
    assert "conv" in shown or "add" in shown
    assert "removed" in cmd("cache", "--clear").out
    assert entries(place) == []


def test_command_without_a_cache(cmd: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "0")
    assert "there is no cache" in cmd("cache").out
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "some")
    cmd("cache").refused("XRELAY_CACHE_SIZE is 'some'")


@pytest.mark.parametrize(
    "entry",
    [
        b"\x0a\x08location\x12\x07weights",
        b"\x12\x07weights\x0a\x08location",
        b"\x0a\x08location\x12\x87\x00weights",
        b"\x0a\x08location\x92\x00\x07weights",
        b"\x0a\x08location\x18\x01\x12\x07weights",
        b"\x0a\x08location\x12\x05other\x12\x07weights",
    ],
    ids=["usual", "value first", "long length", "long tag", "unknown field", "two values"],
)
def test_external_data_is_found_however_protobuf_writes_it(folder: Path, entry: bytes) -> None:
    path = folder / "conv.onnx"
    path.write_bytes(path.read_bytes() + unused_tensor("", entry))
    (folder / "weights").write_bytes(b"weights")
    place = cached.cache_place(path, None, CompileOptions())
    assert place is not None
    assert place.dependencies() == {"weights": hashlib.sha256(b"weights").hexdigest()}


def test_external_data_is_found_wherever_tensors_are() -> None:
    def external(location: str) -> TensorProto:
        tensor = TensorProto(name="w", data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=location)
        return tensor

    inside = onnx.helper.make_graph([], "inside", [], [], [external("of a graph")])
    model = onnx.ModelProto()
    model.graph.initializer.append(external("of the model"))
    model.graph.node.append(onnx.helper.make_node("If", ["c"], ["y"], then_branch=inside))
    model.graph.sparse_initializer.add().values.CopyFrom(external("sparse"))
    constant = onnx.helper.make_node("Constant", [], ["y"], value=external("of a function"))
    model.functions.add().node.append(constant)
    found = {"of the model", "of a graph", "sparse", "of a function"}
    assert external_locations(model) == found


def test_folder_that_others_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies there is run as machine code."""
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    assert object_cache() is not None
    tmp_path.chmod(0o777)
    assert object_cache() is None


def test_home_in_the_name_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XRELAY_CACHE_DIR", "~/kept")
    cache = object_cache()
    assert cache is not None
    assert cache.folder == tmp_path / "kept"


def test_command_says_why_there_is_no_cache(
    cmd: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    assert f"others may write to '{tmp_path}'" in cmd("cache").out
    monkeypatch.setenv("XRELAY_CACHE_DIR", "~nobody-has-this-name/cache")
    cmd("cache").refused("XRELAY_CACHE_DIR is '~nobody-has-this-name/cache'")


def test_entries_that_others_may_write_are_not_used(
    folder: Path, entry: Path, messages: Messages
) -> None:
    assert entry.stat().st_mode & 0o777 == 0o600
    entry.chmod(0o666)
    messages()
    xrelay.compile(folder / "conv.onnx")
    assert "others may have written it" in messages()
    assert entry.stat().st_mode & 0o777 == 0o600
