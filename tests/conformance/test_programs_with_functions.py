"""
The programs of the original's tests of types that have branches, calls, functions as values, references or data types: those that the
interpreter runs compute the same as machine code, or are refused for one of a few reasons.
"""

import re
from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest
from records import DATA, records
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import InterpretationError
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

import xrelay
from xrelay.analysis.facts.ports import entry_function, ports
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.adt import ConstructOp, MatchOp
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, GlobalVarOp
from xrelay.dialects.core.references import RefCreateOp
from xrelay.frontends.relay_text import RelayTextError, read_relay_text

FILE = DATA / "InferType.tests.jsonl.xz"
FUNCTIONS = (func.CallOp, ApplyOp, ClosureOp, GlobalVarOp)
KINDS = (*FUNCTIONS, scf.IfOp, scf.ForOp, scf.WhileOp, MatchOp, ConstructOp, RefCreateOp)
UNKNOWN = 3
"""The length of dimensions that the programs leave open."""
SHARE = 24
"""Of so many programs one is tried in each run of the tests."""
COMPILED = 122
REASONS = {
    "the function that it calls has no body here, or is for another compiler": 13,
    "a function of another compiler": 26,
    r"type @GradCell has !relay.fn<.* in One, expected no functions": 2,
    r"Function\d_\d has !relay.ref<.*>, expected tensors": 2,
    r"a function is !relay.fn<.*>, expected known dimensions": 2,
    "has an unknown dimension": 1,
    r"gives is tuple<.*!relay.ref": 2,
    "!relay.ref<.*> is not a tensor type": 1,
    "programs for one processor have one memory": 4,
}
"""
Why how many are refused: functions in data types, references in functions that are values, such functions on tensors of unknown dimensions, and
writes to references beside values of any size; a reference that a branch or the program gives.
"""


def inputs_of(module: ModuleOp) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for port in ports(entry_function(module))[0]:
        shape = [length if length >= 0 else UNKNOWN for length in port.type.get_shape()]
        whole = port.dtype.kind in "iub"
        numbers = rng.integers(1, 3, shape) if whole else rng.random(shape) + 1
        found[port.name] = np.asarray(numbers).astype(port.dtype)
    return found


def reason(module: ModuleOp, message: str) -> str:
    """Which of the reasons a program is refused for."""
    for_others = any("Compiler" in op.attributes for op in walk(module))
    if "functions and data types" in message and for_others:
        return "a function of another compiler"
    return next((each for each in REASONS if re.search(each, message)), message)


def outcomes(step: int) -> Counter[str]:
    """How many programs agree with the interpreter, and why others are refused."""
    found: Counter[str] = Counter()
    for text in islice(dict.fromkeys(each.after for each in records(FILE)), 0, None, step):
        try:
            module = read_relay_text(text)
            if not any(isinstance(op, KINDS) for op in walk(module)):
                continue
            inputs = inputs_of(module)
            expected = xrelay.interpret(module, inputs)
        except (RelayTextError, DiagnosticException, InterpretationError, ValueError):
            continue  # What operators were given beside their meaning, and no entry or no tensors.
        try:
            outputs = xrelay.compile(module, cache=False).run(inputs)
        except (DiagnosticException, PassFailedException) as error:
            found[reason(module, str(error))] += 1
            continue
        for name, array in expected.items():
            assert outputs[name].shape == array.shape
            np.testing.assert_allclose(outputs[name], array, 1e-4, 1e-4, err_msg=text)
        found["compiled"] += 1
    return found


def test_programs_compute_the_same():
    found = outcomes(SHARE)
    assert found.keys() <= {*REASONS, "compiled"} and found["compiled"] > 0, found


@pytest.mark.extensive
def test_all_programs_compute_the_same():
    assert outcomes(1) == {**REASONS, "compiled": COMPILED}
