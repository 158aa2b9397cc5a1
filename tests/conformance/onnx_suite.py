"""
ONNX's own backend suite (`onnx.backend.test`), case by case: which xrelay compiles, which only its interpreter runs,
and which it refuses.

    python tests/conformance/onnx_suite.py [--only REGEX] [--interpret] [--update] [--verbose]

A case passes natively when `xrelay.onnx_backend` compiles its model and ONNX's test runner accepts the outputs. A
case whose model is refused goes to `xrelay.interpret`. `onnx_suite.toml` beside this file lists with reasons what is
interpreted, what is refused, and what gives other numbers than the case has; everything else must pass natively. The
exit code is 1 when a case is wrong, when one that is not listed fails, and when one that is listed passes: the lists
only shrink. `--interpret` compiles nothing, which is quick, and takes interpreted cases for native ones. `--update`
takes cases that pass off the lists.
"""

import argparse
import os
import re
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import SkipTest, TestCase

import onnx.backend.test
from onnx import ModelProto
from onnx.backend.base import BackendRep
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.onnx_backend import XRelayBackend, grouped, output_sequences

LISTS = Path(__file__).with_name("onnx_suite.toml")
NATIVE, INTERPRETED, REFUSED, DIFFERENT = "native", "interpreted", "refused", "different"


@dataclass
class Outcome:
    """What became of a case."""

    kind: str
    why: str = ""
    """What was refused, or what is different."""


@dataclass(frozen=True)
class Listed:
    """Cases that do not pass natively, for one reason."""

    kind: str
    reason: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Lists:
    """What `onnx_suite.toml` says."""

    groups: tuple[Listed, ...]
    tolerances: Mapping[str, Mapping[str, float]]
    """`rtol` and `atol` of cases whose own are less than what rounding makes of their numbers."""

    @property
    def kinds(self) -> dict[str, str]:
        """What is to become of each listed case."""
        return {case: group.kind for group in self.groups for case in group.cases}


def lists() -> Lists:
    """The lists. Raises ValueError for a case that is listed twice."""
    content = tomllib.loads(LISTS.read_text())
    groups = tuple(
        Listed(kind, group["reason"], tuple(group["cases"]))
        for kind in (INTERPRETED, REFUSED, DIFFERENT)
        for group in content.get(kind, ())
    )
    twice = [case for case, count in Counter(_names(groups)).items() if count > 1]
    if twice:
        raise ValueError(f"{LISTS.name} lists more than once: {', '.join(twice)}")
    tolerances = {
        case: {key: group[key] for key in ("rtol", "atol")}
        for group in content.get("tolerance", ())
        for case in group["cases"]
    }
    return Lists(groups, tolerances)


def _names(groups: Sequence[Listed]) -> Iterator[str]:
    return (case for group in groups for case in group.cases)


def shortened(passing: set[str]) -> str:
    """The text of the lists without cases that pass now, and without groups that have none left."""
    lines = [line for line in LISTS.read_text().splitlines() if _name_in(line) not in passing]
    blocks = re.split(r"\n(?=\[\[)", "\n".join(lines))
    return "\n".join(block for block in blocks if "cases = [\n]" not in block) + "\n"


def _name_in(line: str) -> str | None:
    found = re.fullmatch(r'    "(\w+)",', line)
    return None if found is None else found[1]


class Attempt(BackendRep):
    """A model that is compiled and, where that is refused, interpreted. It notes which."""

    def __init__(self, model: ModelProto, outcome: Outcome, *, compiling: bool):
        self.model = model
        self.outcome = outcome
        self.compiling = compiling

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs. Raises SkipTest when the interpreter refuses the model, too."""
        del kwargs
        if self.compiling:
            try:
                return XRelayBackend.prepare(self.model, cache=False).run(inputs)
            except (SkipTest, DiagnosticException) as error:
                self.outcome.why = str(error)
                self.outcome.kind = INTERPRETED
        constant = {tensor.name for tensor in self.model.graph.initializer}
        names = [each.name for each in self.model.graph.input if each.name not in constant]
        try:
            outputs = xrelay.interpret(self.model, dict(zip(names, inputs, strict=True)))
        except DiagnosticException as error:
            self.outcome.why = self.outcome.why or str(error)
            raise SkipTest(self.outcome.why) from error
        return grouped(outputs, output_sequences(self.model))


class SuiteBackend(XRelayBackend):
    """xrelay for ONNX's test runner. `outcome` is that of the case that runs."""

    outcome = Outcome(NATIVE)
    compiling = True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Any:
        """Nothing yet: what becomes of a model depends on the inputs as well."""
        del device, kwargs
        return Attempt(model, cls.outcome, compiling=cls.compiling)


def suite(tolerances: Mapping[str, Mapping[str, float]]) -> dict[str, TestCase]:
    """ONNX's tests by their names. Making them computes with infinities and the like."""
    options = {f"test_{name}": dict(each) for name, each in tolerances.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner = onnx.backend.test.BackendTest(SuiteBackend, __name__, test_kwargs=options)
    return {
        name.removeprefix("test_").removesuffix("_cpu"): case(name)
        for case in runner.test_cases.values()
        for name in dir(case)
        if name.startswith("test_") and name.endswith("_cpu")
    }


def run_case(case: TestCase, *, compiling: bool) -> Outcome:
    """The outcome of one test of the runner."""
    outcome = Outcome(NATIVE)
    SuiteBackend.outcome, SuiteBackend.compiling = outcome, compiling
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.debug()
    except SkipTest as refusal:
        return Outcome(REFUSED, str(refusal))
    except Exception as error:  # noqa: BLE001 whatever it is, the case is wrong, and the others still count
        return Outcome(DIFFERENT, f"{type(error).__name__}: {error}")
    return outcome


def verdict(name: str, outcome: Outcome, listed: str) -> str | None:
    """What is wrong with an outcome, where the lists say `listed`."""
    if outcome.kind == listed:
        return None
    if listed != NATIVE and outcome.kind == NATIVE:
        return f"{name} passes, but is listed as {listed}: take it off the list (--update)"
    return f"{name} is {outcome.kind}, expected {listed}: {' '.join(outcome.why.split())[:400]}"


def main() -> int:
    """Runs the suite, and says what does not agree with the lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression for names of cases")
    parser.add_argument("--interpret", action="store_true", help="compile nothing")
    parser.add_argument("--update", action="store_true", help="shorten the lists")
    parser.add_argument("--verbose", action="store_true", help="print every outcome")
    options = parser.parse_args()
    known = lists()
    found: dict[str, Outcome] = {}
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ONNX_HOME"] = (
            folder  # What the runner writes for the networks that come with onnx.
        )
        cases = suite(known.tolerances)
        for name, case in cases.items():
            if not re.search(options.only, name):
                continue
            outcome = found[name] = run_case(case, compiling=not options.interpret)
            listed = known.kinds.get(name, NATIVE)
            if options.interpret and listed == INTERPRETED and outcome.kind == NATIVE:
                outcome.kind = INTERPRETED
            problem = verdict(name, outcome, listed)
            if problem is not None:
                problems.append(problem)
            if options.verbose:
                print(f"{name}: {outcome.kind} {' '.join(outcome.why.split())[:200]}", flush=True)
    problems += [f"{name} is listed, and no case" for name in known.kinds if name not in cases]
    if options.update:
        passing = {name for name, outcome in found.items() if outcome.kind == NATIVE}
        LISTS.write_text(shortened(passing))
    counts = Counter(outcome.kind for outcome in found.values())
    print(*problems, sep="\n")
    print(f"{len(found)} cases: {', '.join(f'{counts[kind]} {kind}' for kind in sorted(counts))}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
