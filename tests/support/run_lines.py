"""
Runs the RUN lines of a file as lit does, with the tools in this process: to start one takes longer than what it does
with a short program. A file that asks for more than tools, `not`, `|`, `&&`, `<` and `2>&1` is left to lit.
"""

import logging
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import filecheck.main
import numpy as np
import pytest
from lit.ShCommands import Command, Pipeline, Seq
from lit.ShUtil import ShParser
from xdsl.ir import Attribute
from xdsl.utils.diagnostic import Diagnostic
from xdsl.xdsl_opt_main import xDSLOptMain

from xrelay.tools import cli, opt


class NeedsLit(Exception):
    """A file asks for something that only lit knows."""


class RunLineFailed(Exception):
    """A RUN line ends with another exit code than 0."""


# -- tools --------------------------------------------------------------------------------------


def stock(words: list[str]) -> None:
    """`xdsl-opt`, without the settings that it leaves in the process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Attribute, "__post_init__", Attribute.__post_init__)
        patch.setattr(Diagnostic, "colored", Diagnostic.colored)
        xDSLOptMain(args=words).run()


TOOLS: dict[str, Callable[[list[str]], int | None]] = {
    "filecheck": lambda words: filecheck.main.main(["filecheck", *words]),
    "xdsl-opt": stock,
    "xrelay": cli.main,
    "xrelay-opt": opt.main,
}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    words: Sequence[str]
    code: int
    """Its exit code, turned around by `not`."""
    out: bytes
    """What the next command of the pipeline reads."""
    err: str

    def __str__(self) -> str:
        lines = [f"exit code {self.code}: {' '.join(self.words)}", self.err]
        if self.code and self.words[0] != "filecheck":
            lines.append(self.out.decode())
        return "\n".join(line for line in lines if line)


def run_tool(words: Sequence[str], stdin: bytes, *, merged: bool = False) -> Done:
    """
    Runs a command line as a process of its own would, with both outputs in one if they are `merged`. Checks that the
    tool leaves the process as it was.
    """
    out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in "12")
    before = state_of_process()
    with standard_input(stdin), redirect_stdout(out), redirect_stderr(out if merged else err):
        code = exit_code(TOOLS[words[0]], list(words[1:]))
    changed = [name for name, value in state_of_process().items() if value != before[name]]
    assert not changed, f"{' '.join(words)} leaves other {', '.join(changed)} in the process"
    printed, complaints = (stream.buffer.getvalue() for stream in (out, err))
    return Done(words, code, printed, complaints.decode())


def exit_code(tool: Callable[[list[str]], int | None], words: list[str]) -> int:
    """The exit code of a tool. What it raises is raised here: a traceback is nothing that a test expects."""
    try:
        return tool(words) or 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0


@contextmanager
def standard_input(content: bytes) -> Iterator[None]:
    """Gives something to read to what reads standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(content), "utf-8"))
        yield


def state_of_process() -> dict[str, Any]:
    """What the next command in the process, or a test, would notice if this one left it changed."""
    loggers = [logging.getLogger(), logging.getLogger("xrelay")]
    return {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "arguments": sys.argv[:],
        "search path": sys.path[:],
        "limit of calls": sys.getrecursionlimit(),
        "signal handlers": [signal.getsignal(each) for each in signal.valid_signals()],
        "logging": [(each.level, each.handlers[:]) for each in loggers],
        "warnings": warnings.filters[:],
        "errors of NumPy": np.geterr(),
        "checks of attributes": Attribute.__post_init__,
        "colours": Diagnostic.colored,
    }


# -- RUN lines ----------------------------------------------------------------------------------

KEYWORD = re.compile(r"((?:RUN|REQUIRES|UNSUPPORTED|XFAIL|ALLOW_RETRIES|(?:RE)?DEFINE):|END\.)(.*)")
"""What lit looks for in a file, and what follows it on its line."""


@dataclass(frozen=True)
class Step:
    """A command of a pipeline."""

    words: list[str]
    negated: bool
    """Whether it must fail: `not`."""
    source: str | None
    """The file that it reads in place of the output of the command before it: `<`."""
    merged: bool
    """Whether what it prints on standard error is part of its output: `2>&1`."""

    def run(self, piped: bytes) -> Done:
        """Runs it on the output of the command before it."""
        stdin = piped if self.source is None else Path(self.source).read_bytes()
        done = run_tool(self.words, stdin, merged=self.merged)
        return replace(done, code=int(not done.code)) if self.negated else done


def run_lines(path: Path, temporary: Path) -> list[list[list[Step]]]:
    """
    The RUN lines of a file: each is a list of pipelines, of which one runs after the other. Temporary files are called
    `temporary` and something.

    Raises NeedsLit.
    """
    values = {"s": str(path), "S": str(path.parent), "t": str(temporary), "%": "%"}

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise NeedsLit(match[0])
        return values[match[1]]

    return [pipelines(ShParser(re.sub("%(.)", value, line)).parse()) for line in whole_lines(path)]


def whole_lines(path: Path) -> list[str]:
    """The text of each RUN line of a file, with the lines that continue it. Raises NeedsLit."""
    found: list[str] = []
    for keyword, rest in KEYWORD.findall(path.read_text("utf-8")):
        if keyword != "RUN:":
            raise NeedsLit(keyword)
        if found and found[-1].endswith("\\"):
            found[-1] = found[-1][:-1] + rest.strip()
        else:
            found.append(rest.strip())
    if not found or found[-1].endswith("\\"):
        raise NeedsLit("a RUN line that is whole")
    return found


def pipelines(node: Pipeline | Seq) -> list[list[Step]]:
    """The pipelines of a parsed line. Raises NeedsLit."""
    if isinstance(node, Pipeline):
        return [[step(command) for command in node.commands]]
    if node.op == "&&":
        return [*pipelines(node.lhs), *pipelines(node.rhs)]
    raise NeedsLit(node.op)


def step(command: Command) -> Step:
    """What a parsed command does. Raises NeedsLit."""
    words = command.args
    negated = words[0] == "not"
    if negated:
        words = words[1:]
    source, merged = None, False
    for operator, argument in command.redirects:
        if operator == ("<",):
            source = argument
        elif (operator, argument) == ((">&", 2), "1"):
            merged = True
        else:
            raise NeedsLit(f"{operator} {argument}")
    if not words or words[0] not in TOOLS or not all(isinstance(word, str) for word in words):
        raise NeedsLit(str(command))
    return Step(words, negated, source, merged)


def run_file(path: Path, temporary: Path) -> list[Done]:
    """
    Runs a file. Returns how its commands ended, none of them if lit ran them.

    Raises RunLineFailed.
    """
    try:
        lines = run_lines(path, temporary)
    except NeedsLit:
        run_by_lit(path)
        return []
    return [done for line in lines for pipeline in line for done in run_pipeline(pipeline)]


def run_pipeline(pipeline: Iterable[Step]) -> list[Done]:
    """Runs a pipeline. Returns how its commands ended. Raises RunLineFailed at the first that fails."""
    ended: list[Done] = []
    for each in pipeline:
        ended.append(each.run(ended[-1].out if ended else b""))
        if ended[-1].code:
            raise RunLineFailed("\n".join(map(str, ended)))
    return ended


def run_by_lit(path: Path) -> None:
    """Has lit run a file. Raises RunLineFailed."""
    lit = Path(sys.executable).with_name("lit")
    done = subprocess.run([lit, "-v", path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunLineFailed(done.stdout + done.stderr)


# -- what does not depend on the order of hashes ------------------------------------------------


def digests(paths: Iterable[Path]) -> list[str]:
    """A digest of all that the commands of each file print."""
    found: list[str] = []
    for path in paths:
        with TemporaryDirectory() as folder:
            ended = run_file(path, Path(folder, path.name))
        text = b"\0".join(done.out + done.err.encode() for done in ended)
        found.append(f"{sha256(text).hexdigest()} {path}")
    return found


if __name__ == "__main__":
    print("\n".join(digests(map(Path, sys.argv[1:]))))
