"""Files that are read: what would never end, or wait for ever, is refused in every place."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from commands.runs import Command

import xrelay
from xrelay.runtime import reading
from xrelay.runtime.reading import open_regular, read_source


def make(path: Path, kind: str) -> Path:
    """What is no file: a pipe that nobody writes to, a socket, or a link to a device."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as each:
                each.bind(str(path))
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.mkdir()
    return path


@pytest.mark.parametrize("read", [open_regular, read_source])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("socket", "it is a socket, expected a regular file"),
        ("device", "it is a device, expected a regular file"),
        ("folder", "Is a directory"),
    ],
)
def test_what_is_no_file(
    tmp_path: Path, read: Callable[[Path], object], kind: str, message: str
) -> None:
    path = make(tmp_path / "it", kind)
    with pytest.raises(OSError) as error:
        read(path)
    assert (error.value.strerror, error.value.filename) == (message, str(path))


@pytest.mark.parametrize("read", [open_regular, read_source])
def test_names_that_no_file_has(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(OSError, match="no file has such a name"):
        read(tmp_path / "a\0b")
    with pytest.raises(OSError, match="File name too long"):
        read(tmp_path / ("x" * 5000))


def test_a_pipe_is_read_where_somebody_writes(tmp_path: Path) -> None:
    path = make(tmp_path / "pipe", "pipe")
    with pytest.raises(OSError, match="it is a named pipe, expected a regular file"):
        open_regular(path)
    with pytest.raises(OSError, match="nobody writes to this pipe"):
        read_source(path)
    content = bytes(range(256)) * 10_000  # More than a pipe holds at a time.
    found = b""

    def write() -> None:
        while not found:
            with suppress(BrokenPipeError):  # The reader has gone: it comes back.
                path.write_bytes(content)
                return

    writer = Thread(target=write)
    writer.start()
    while not found:
        with suppress(OSError):  # The writer is on its way.
            found = read_source(path)
    writer.join()
    assert found == content


def test_what_has_no_end_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_SOURCE_BYTES", 5_000_000)
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        assert endless.stdout is not None
        with pytest.raises(OSError, match="it has more than 5000000 bytes"):
            read_source(f"/proc/self/fd/{endless.stdout.fileno()}")
        endless.kill()
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="it has more than 5000000 bytes"):
        read_source(tmp_path / "large")


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "it.onnx"],
        ["run", "it.mlir"],
        ["run", "it.relay"],
        ["run", "it.so"],
        ["run", "conv.onnx", "--input", "x=it.npy"],
        ["run", "conv.onnx", "--tuning", "it.json"],
        ["explain", "it.onnx"],
        ["view", "it.mlir", "-o", "it.html"],
        ["partition", "conv.onnx", "--backend", "simulated:it.toml"],
    ],
    ids=lambda words: words[0] + "-" + next(word for word in words if "it." in word),
)
def test_commands_neither_wait_nor_read_for_ever(
    cmd: Command, inside: Path, arguments: list[str], kind: str
) -> None:
    name = next(word for word in arguments if "it." in word).rpartition("=")[2]
    make(inside / name.removeprefix("simulated:"), kind)
    cmd(*arguments).refused("it.")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_plan_and_a_program_of_the_opt_tool(opt_cmd: Command, inside: Path, kind: str) -> None:
    make(inside / "it.mlir", kind)
    make(inside / "plan.json", kind)
    opt_cmd("it.mlir").refused("it.mlir")
    opt_cmd("add.mlir", "-p", 'apply-fusion-plan{file="plan.json"}').refused("plan.json")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_weights_beside_a_program(cmd: Command, inside: Path, kind: str) -> None:
    assert cmd("compile", "conv.onnx", "-o", "p.mlir").code == 0
    weights = inside / "p.mlir.weights.npz"
    weights.unlink()
    make(weights, kind)
    cmd("run", "p.mlir").refused("cannot read the weights in 'p.mlir.weights.npz'")


@pytest.mark.parametrize("name", ["/dev/zero", "/proc/self/mem", "/proc/self/pagemap", "/"])
def test_models_that_are_no_files_with_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(reading, "MAX_SOURCE_BYTES", 5_000_000)
    with pytest.raises(xrelay.OnnxImportError, match=f"cannot read model '{name}'"):
        xrelay.compile(name)


@pytest.mark.slow
def test_a_model_from_the_pipe_of_a_shell(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache leaves it to the compiler, which can read it only once."""
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path / "cache"))
    script = f"{sys.executable} -m xrelay.tools.cli run <(cat conv.onnx)"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
