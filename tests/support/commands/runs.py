"""Command lines that run in this process, and the types of the fixtures of tests/unit/conftest.py."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from onnx import ModelProto

from xrelay.tools.errors import BAD_INPUT


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    program: str
    """Its name, as it starts its error messages."""
    code: int
    out: str
    err: str

    def refused(self, *parts: str, code: int = BAD_INPUT) -> None:
        """Checks that it says why it refuses, first on stderr, and prints nothing else."""
        assert self.code == code, self
        assert self.out == "", self
        assert self.err.startswith(f"{self.program}: error: "), self.err
        for part in parts:
            assert part in self.err, self.err


Command = Callable[..., Result]
"""Runs a command line: the fixtures `cmd` and `opt_cmd`."""
MakeModel = Callable[..., ModelProto]
"""Makes a model, of nodes, inputs and outputs: the fixture `model_of`."""
Snapshot = Callable[[Path], dict[str, bytes | None]]
"""Everything in a folder, with its content: the fixture `files`."""


def command(
    program: str, main: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str]
) -> Command:
    """A function that runs a command line in this process."""

    def run(*arguments: object) -> Result:
        words = [str(argument) for argument in arguments]
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err, out + err
        return Result(
            f"{program} {words[0]}" if program == "xrelay" and words else program, code, out, err
        )

    return run
