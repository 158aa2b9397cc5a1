"""What commands load: the time that they take before they begin is that of imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "onnx", "llvmlite", "rich", "onnxruntime", "importlib.metadata")
"""Packages that no command needs to say how it is used."""
COMPILER = ("xdsl.ir", "onnx", "llvmlite", "xrelay.compiler", "xrelay.dialects.core")
"""What only compilation needs."""

PROGRAM = """\
import atexit, json, sys
watched = sys.argv[1].split(",")
atexit.register(
    lambda: print("loaded:", *(name for name in watched if name in sys.modules), file=sys.stderr)
)
"""
COMMANDS = {
    "xrelay": "from xrelay.tools.cli import main",
    "xrelay-opt": "from xrelay.tools.opt import main",
    "xdsl-opt": "from xdsl.tools.xdsl_opt import main",
}


def loaded(modules: tuple[str, ...], program: str, *arguments: object, cache: Path) -> list[str]:
    """Which of some modules a command loads, in a Python of its own."""
    call = f"{COMMANDS[program]}\nsys.argv[:2] = ['{program}']\nsys.exit(main())\n"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + call, ",".join(modules), *map(str, arguments)],
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


@pytest.mark.parametrize(
    "command",
    [
        "xrelay --help",
        *(f"xrelay {name} --help" for name in ("run", "compile", "explain", "view", "cache")),
        "xrelay-opt --help",
        "xdsl-opt --help",
    ],
)
def test_help_is_light(command: str, tmp_path: Path) -> None:
    # xDSL's own tools print its version.
    heavy = HEAVY if command.startswith("xrelay ") else HEAVY[:-1]
    assert loaded(heavy, *command.split(), cache=tmp_path) == []


def test_the_tools_of_xdsl_load_no_array_library(folder: Path) -> None:
    for program in ("xdsl-opt", "xrelay-opt"):
        arguments = (program, folder / "add.mlir", "-p", "fuse-ops")
        assert loaded(("onnx", "llvmlite", "rich"), *arguments, cache=folder) == []


def test_a_compiled_model_runs_without_the_compiler(folder: Path) -> None:
    cache = folder / "cache"
    model = folder / "add.mlir"
    assert "xrelay.compiler" in loaded(COMPILER, "xrelay", "run", model, cache=cache)
    assert loaded(COMPILER, "xrelay", "run", model, cache=cache) == []
    assert loaded(COMPILER, "xrelay", "cache", cache=cache) == []
    assert loaded(COMPILER, "xrelay", "cache", "--clear", cache=cache) == []
