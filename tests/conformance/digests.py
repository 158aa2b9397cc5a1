"""
Digests of the code that the tests compile: what moves of code must leave as it is.

    python tests/conformance/digests.py before.json          the kernel IR and the LLVM IR of all programs of tests/execution
    …                                                        a change
    python tests/conformance/digests.py after.json
    python tests/conformance/digests.py --compare before.json after.json

Each test has the digests of its programs, in the order in which it compiles them: of the kernel IR, of the LLVM IR,
and of the packed weights. A test that compiles nothing is not listed.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = "XRELAY_DIGESTS"
"""The environment variable that tells the processes of pytest where to write."""
Digests = dict[str, list[list[str]]]
"""Of each test, the digests of each program: kernel IR, LLVM IR, weights."""


def digest(content: bytes) -> str:
    """The first 64 bits of SHA-256 in hexadecimal."""
    return sha256(content).hexdigest()[:16]


# -- in the processes of pytest --------------------------------------------------------------------


@pytest.fixture(autouse=True)
def digests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Writes down what `xrelay.compiler.build` is given and gives while a test runs."""
    from xrelay import compiler

    found: list[list[str]] = []
    build = compiler.build

    def observed(program: compiler.Program, *args: object, **named: object) -> compiler.ModelCode:
        kernels = str(program.module).encode()
        code = build(program, *args, **named)  # pyright: ignore[reportArgumentType]
        found.append([digest(kernels), digest(bytes(code.ir)), digest(code.constants.tobytes())])
        return code

    for module in list(sys.modules.values()):
        if getattr(module, "build", None) is build:
            monkeypatch.setattr(module, "build", observed)
    yield
    if found:
        line = json.dumps([request.node.nodeid, found])
        with (Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(line + "\n")


# -- the command ---------------------------------------------------------------------------------


def written(tests: Sequence[str], jobs: str) -> Digests:
    """Runs tests and returns the digests of their programs. Raises SystemExit when one fails."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conformance.digests"]
        command += ["--numprocesses", jobs, *tests]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, FOLDER: folder}, check=False)
        if done.returncode:
            raise SystemExit(f"pytest ended with exit code {done.returncode}: no digests")
        lines = [line for file in Path(folder).iterdir() for line in file.read_text().splitlines()]
    return dict(sorted(json.loads(line) for line in lines))


def compare(before: Digests, after: Digests) -> list[str]:
    """What differs, a line each."""
    changes = [f"{test}: only before" for test in before.keys() - after.keys()]
    changes += [f"{test}: only after" for test in after.keys() - before.keys()]
    for test in before.keys() & after.keys():
        if len(before[test]) != len(after[test]):
            changes.append(f"{test}: {len(before[test])} programs before, {len(after[test])} after")
        for number, (one, other) in enumerate(zip(before[test], after[test], strict=False)):
            parts = ("kernel IR", "LLVM IR", "weights")
            differing = [part for part, x, y in zip(parts, one, other, strict=True) if x != y]
            if differing:
                changes.append(f"{test}: program {number}: {' and '.join(differing)}")
    return sorted(changes)


def main() -> int:
    """Runs the command; 1 when digests differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="to write, or two to compare")
    parser.add_argument("--compare", action="store_true", help="compare two files")
    parser.add_argument("--tests", nargs="+", default=["tests/execution"], metavar="PATH")
    parser.add_argument("--jobs", default="auto", help="processes of pytest")
    options = parser.parse_args()
    if len(options.files) != (2 if options.compare else 1):
        parser.error("one file to write, or two to compare")
    if not options.compare:
        found = written(options.tests, options.jobs)
        Path(options.files[0]).write_text(json.dumps(found, indent=0))
        print(f"{sum(map(len, found.values()))} programs of {len(found)} tests")
        return 0
    changes = compare(*(json.loads(Path(file).read_text()) for file in options.files))
    print(*changes, f"{len(changes)} differences", sep="\n")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
