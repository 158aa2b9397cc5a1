"""What commands load: the time that they take before they begin is that of imports."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

HEAVY = (
    *("numpy", "onnx", "llvmlite", "rich", "onnxruntime", "xrelay.dialects.base"),
    "importlib.metadata",
)
"""What no command needs to say how it is used."""
COMPILER = ("xdsl.ir", "onnx", "llvmlite", "xrelay.compiler", "xrelay.dialects.core.values")
"""What only compilation needs."""

PROGRAM = """\
import atexit, json, sys
watched = sys.argv[1].split(",")
atexit.register(
    lambda: print("loaded:", *(name for name in watched if name in sys.modules), file=sys.stderr)
)
"""
COMMANDS = {
    "xrelay": "from xrelay.tools.start import xrelay as main",
    "xrelay-opt": "from xrelay.tools.start import xrelay_opt as main",
    "xdsl-opt": "from xdsl.tools.xdsl_opt import main",
}


def loaded(modules: tuple[str, ...], program: str, *arguments: object, cache: Path) -> list[str]:
    """Which of some modules a command loads, in a Python of its own."""
    call = f"{COMMANDS[program]}\nsys.argv[:2] = ['{program}']\nsys.exit(main())\n"
    return loaded_by(modules, call, *arguments, cache=cache)


def loaded_by(modules: tuple[str, ...], code: str, *arguments: object, cache: Path) -> list[str]:
    """Which of some modules are loaded by code, in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code, ",".join(modules), *map(str, arguments)],
        env={**os.environ, "XRELAY_CACHE_DIR": str(cache), "XRELAY_CACHE_SIZE": "1G"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *_, last = done.stderr.splitlines()
    head, *names = last.split()
    assert head == "loaded:"
    return names


HELP = """\
for words in {0}:
    sys.argv = [*words.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        assert not end.code
"""


@pytest.mark.parametrize("program", COMMANDS)
def test_help_is_light(program: str, tmp_path: Path) -> None:
    """All of a program's in one process."""
    heavy, calls = HEAVY, [program]
    if program == "xrelay":
        calls += [f"xrelay {name}" for name in ("run", "compile", "explain", "view", "cache")]
    else:
        heavy = HEAVY[:-1]  # xDSL's own tools print its version.
    code = f"{COMMANDS[program]}\n{HELP.format(calls)}"
    assert loaded_by(heavy, code, cache=tmp_path) == []


@pytest.mark.slow
def test_the_tools_of_xdsl_load_no_array_library(folder: Path) -> None:
    for program in ("xdsl-opt", "xrelay-opt"):
        arguments = (program, folder / "add.mlir", "-p", "fuse-ops")
        assert loaded(("onnx", "llvmlite", "rich"), *arguments, cache=folder) == []


@pytest.mark.slow
def test_a_compiled_model_runs_without_the_compiler(folder: Path) -> None:
    cache = folder / "cache"
    model = folder / "add.mlir"
    assert "xrelay.compiler" in loaded(COMPILER, "xrelay", "run", model, cache=cache)
    assert loaded(COMPILER, "xrelay", "run", model, cache=cache) == []
    assert loaded(COMPILER, "xrelay", "cache", cache=cache) == []
    assert loaded(COMPILER, "xrelay", "cache", "--clear", cache=cache) == []


def extensive(*values: object) -> ParameterSet:
    """A case that differs from its neighbours by little: each starts an interpreter."""
    return pytest.param(*values, marks=pytest.mark.extensive)


@pytest.mark.parametrize(
    ("command", "redirection", "code", "message"),
    [
        extensive("xrelay run add.mlir", ">&-", 2, "cannot write: Bad file descriptor"),
        ("xrelay ops", ">&-", 2, "cannot write: Bad file descriptor"),
        ("xrelay --help", ">&-", 2, "cannot write: Bad file descriptor"),
        ("xrelay run --help", ">/dev/full", 2, "cannot write: No space left on device"),
        ("xrelay compile add.mlir -o new.mlir", "<&- >&-", 0, None),
        ("xrelay run missing.onnx", "2>&-", 2, None),
        extensive("xrelay-opt add.mlir", ">&-", 2, "cannot write: Bad file descriptor"),
        ("xrelay-opt add.mlir", ">/dev/full", 2, "cannot write: No space left on device"),
        ("xrelay-opt --help", ">/dev/full", 2, "No space left on device"),
        extensive("xrelay-opt", "<&-", 2, "Bad file descriptor"),
        ("xrelay-opt", "<&- >&- 2>&-", 2, None),
    ],
)
def test_streams_that_are_closed_or_full(
    command: str, redirection: str, code: int, message: str | None, folder: Path
) -> None:
    program, *words = command.split()
    call = f"import sys\n{COMMANDS[program]}\nsys.argv[0] = '{program}'\nsys.exit(main())\n"
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", call, *words]
    done = subprocess.run(
        shell,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout) == (code, ""), done
    if message is None:
        assert done.stderr == ""
        return
    assert re.fullmatch(rf"{program}( \w+)?: error: {message}\n", done.stderr), done.stderr


INTERRUPTING = """\
import importlib.abc, os, signal, sys

class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
"""
"""Ctrl-C while a module is loaded."""


@pytest.mark.parametrize(
    ("program", "module"),
    [
        ("xrelay", "argparse"),
        ("xrelay", "xrelay.tools.compile_model"),
        extensive("xrelay", "xrelay.compiler"),
        extensive("xrelay-opt", "xdsl.ir"),
        ("xrelay-opt", "xrelay.tools.universe"),
    ],
)
def test_interrupted_while_modules_load(program: str, module: str, folder: Path) -> None:
    words = ("compile",) if program == "xrelay" else ("-p", "fuse-ops")
    call = f"MODULE = '{module}'\n{INTERRUPTING}{COMMANDS[program]}\nsys.exit(main())\n"
    done = subprocess.run(
        [sys.executable, "-c", call, *words, "add.mlir", "-o", "new.mlir"],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert not (folder / "new.mlir").exists()


def test_little_is_loaded_before_interrupts_are_minded() -> None:
    """Until then Python shows a traceback."""
    script = """\
import sys
before = set(sys.modules)
import xrelay.tools.start
print(*{name.partition(".")[0] for name in set(sys.modules) - before if not name.startswith("_")})
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    few = {"xrelay", "collections", "enum", "functools", "importlib", "keyword", "operator"}
    assert set(done.stdout.split()) <= few | {"reprlib", "signal", "types", "warnings"}


def test_an_interrupt_that_becomes_another_error() -> None:
    """As in NumPy, which reports why its own modules cannot be loaded."""
    script = """\
import os, signal
from xrelay.tools.start import until_interrupted

def load():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    except BaseException:
        pass
    raise ImportError("a bad install")

signal.signal(signal.SIGINT, signal.default_int_handler)
print(until_interrupted(load))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=False, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "130\n", "")


def test_interrupted_in_a_thread_with_a_deep_stack() -> None:
    script = """\
import os, signal
from xrelay.deep import with_deep_stack
from xrelay.tools.start import until_interrupted

def endless():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    finally:
        print("put away")

signal.signal(signal.SIGINT, signal.default_int_handler)
print(until_interrupted(lambda: with_deep_stack(endless)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=False, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "put away\n130\n", "")
