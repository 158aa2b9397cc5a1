"""The tests of tests/filecheck, as tests/support/run_lines.py runs them: what lit accepts and refuses, it does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import run_lines
from run_lines import NeedsLit, RunLineFailed, run_file, run_tool
from xdsl.ir import Attribute

ROOT = Path(__file__).parents[2]
PROGRAM = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
CHECK = "// CHECK: relay.nn.relu"
SMALL = ["// RUN: xdsl-opt %s | filecheck %s", CHECK]

PASSES = {
    "a pipe": ["// RUN: xdsl-opt %s | xrelay-opt | filecheck %s", CHECK],
    "the next line": ["// RUN: xdsl-opt \\", "// RUN:   %s | filecheck %s", CHECK],
    "files": [
        "// RUN: xrelay-opt %s -o %t.a && filecheck %s < %t.a",
        "// RUN: xdsl-opt %S/a.mlir",
        CHECK,
    ],
    "percent": ["// RUN: not xrelay-opt %%s 2>&1 | filecheck %s", "// CHECK: '%s': No such file"],
    "exit code": ["// RUN: not xrelay-opt -p none %s"],
    "quotes": [
        "// RUN: xrelay-opt -p 'simplify-expr{reassociate=true}' \"%s\" | filecheck %s",
        CHECK,
    ],
}
FAILS = {
    "check": ["// RUN: xdsl-opt %s | filecheck %s", "// CHECK: relay.exp"],
    "the second line": [
        "// RUN: xdsl-opt %s",
        "// RUN: xdsl-opt %s | filecheck %s",
        "// CHECK-NOT: relu",
    ],
    "the first of a pipe": ["// RUN: xrelay-opt -p none %s | xdsl-opt"],
    "the first of two": ["// RUN: xrelay-opt -p none %s && xdsl-opt %s"],
    "the second of two": ["// RUN: xdsl-opt %s && not xrelay-opt %s"],
    "stderr is not piped": ["// RUN: not xrelay-opt -p none %s | filecheck %s", "// CHECK: none"],
}
LEFT_TO_LIT = {
    "another command": ["// RUN: cat %s | filecheck %s", CHECK],
    "environment": ["// RUN: env A=1 xdsl-opt %s | filecheck %s", CHECK],
    "a feature": ["// REQUIRES: nothing-that-is-here", *SMALL],
    "expected failure": [
        "// XFAIL: *",
        "// RUN: xdsl-opt %s | filecheck %s",
        "// CHECK: relay.exp",
    ],
    "an alternative": ["// RUN: xrelay-opt -p none %s || xdsl-opt %s"],
    "an output": ["// RUN: xdsl-opt %s > %t", "// RUN: filecheck %s < %t", CHECK],
    "a substitution": ["// RUN: xdsl-opt %{s:real} | filecheck %s", CHECK],
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder for files with RUN lines, configured as tests/filecheck."""
    (tmp_path / "lit.cfg.py").symlink_to(ROOT / "tests" / "filecheck" / "lit.cfg.py")
    return tmp_path


def write(suite: Path, lines: list[str]) -> Path:
    """A file with a program and some lines."""
    path = suite / "a.mlir"
    path.write_text("\n".join(lines) + PROGRAM)
    return path


@pytest.mark.parametrize("lines", PASSES.values(), ids=PASSES)
def test_files_that_pass(suite: Path, lines: list[str]) -> None:
    assert run_file(write(suite, lines), suite / "t")


@pytest.mark.parametrize("lines", FAILS.values(), ids=FAILS)
def test_files_that_fail(suite: Path, lines: list[str]) -> None:
    with pytest.raises(RunLineFailed, match="exit code [1-9]"):
        run_file(write(suite, lines), suite / "t")


@pytest.mark.parametrize("lines", LEFT_TO_LIT.values(), ids=LEFT_TO_LIT)
def test_files_that_are_left_to_lit(suite: Path, lines: list[str]) -> None:
    with pytest.raises(NeedsLit):
        run_lines.run_lines(write(suite, lines), suite / "t")


@pytest.mark.extensive
def test_lit_agrees(suite: Path) -> None:
    """On each file above, all in one run."""
    expected: dict[str, str] = {}
    for verdict, cases in (("PASS", PASSES), ("FAIL", FAILS)):
        for name, lines in cases.items():
            folder = suite / verdict / name.replace(" ", "-")
            folder.mkdir(parents=True)
            write(folder, lines)
            expected[f"{folder.relative_to(suite)}/a.mlir"] = verdict
    lit = Path(sys.executable).with_name("lit")
    done = subprocess.run([lit, "-v", suite], capture_output=True, text=True, check=False)
    found = re.findall(r"^(PASS|FAIL): xrelay :: (\S+) ", done.stdout, re.MULTILINE)
    assert {name: verdict for verdict, name in found} == expected


@pytest.mark.slow
def test_what_is_left_to_lit_is_run(suite: Path) -> None:
    assert run_file(write(suite, LEFT_TO_LIT["expected failure"]), suite / "t") == []
    with pytest.raises(RunLineFailed, match="exit status: 1"):
        run_file(write(suite, ["// RUN: cat %s | not filecheck %s", CHECK]), suite / "t")


def test_a_tool_that_leaves_something_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaves(words: list[str]) -> None:
        monkeypatch.setenv("LEFT", "behind")

    monkeypatch.setitem(run_lines.TOOLS, "xdsl-opt", leaves)
    with pytest.raises(AssertionError, match="leaves other environment"):
        run_tool(["xdsl-opt"], b"")


@pytest.mark.parametrize("tool", ["xdsl-opt", "xrelay-opt"])
def test_switches_of_the_process_end_with_the_tool(tool: str) -> None:
    before = Attribute.__post_init__
    done = run_tool([tool, "--disable-verify", "--syntax-highlight"], PROGRAM.encode())
    assert done.code == 0
    assert Attribute.__post_init__ is before


def test_notes_of_a_run_end_with_it(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    path = tmp_path / "a.mlir"
    path.write_text(program)
    done = run_tool(["xrelay", "run", str(path), "--verbose"], b"")
    assert done.code == 0
    assert "xrelay.cache: " in done.err


ORDERED = (
    *("fuse-ops*", "merge-*", "partition-*", "annotate-*", "combine-*", "defuse-*", "eliminate-*"),
    *("compiler-*", "cpu-pipeline", "outline-*", "simplify-*", "to-graph-*"),
)
"""Passes that look at sets, of which an order could come into the program."""


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(6, marks=pytest.mark.slow, id="a sixth"),
        pytest.param(1, marks=pytest.mark.extensive, id="all"),
    ],
)
def test_output_does_not_depend_on_the_hash_seed(step: int) -> None:
    """What the passes print here, they print where strings have other hashes."""
    folder = ROOT / "tests" / "filecheck" / "transforms"
    paths = sorted(path for name in ORDERED for path in folder.glob(f"{name}.mlir"))
    assert len(paths) > 30
    paths = paths[::step]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, run_lines.__file__, *paths],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == run_lines.digests(paths)


@pytest.mark.slow
def test_pytest_collects_what_lit_runs() -> None:
    suite = ROOT / "tests" / "filecheck"
    lit = [Path(sys.executable).with_name("lit"), "--show-tests", suite]
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", suite]
    shown, collected = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for command in (lit, collect)
    )
    wanted = re.findall(r"^ *xrelay :: (\S+)$", shown, re.MULTILINE)
    assert len(wanted) > 100
    assert sorted(re.findall(r"^tests/filecheck/(.*)::", collected, re.MULTILINE)) == sorted(wanted)
