"""
What every backend has to keep, as cases that a backend's author can run: `xrelay test-backend NAME`,
or `for case in contract_cases(backend): check(case, backend)` in a test.

Each case is a region, compiled by the backend and compared with the NumPy interpreter:

- operators that the backend supports, each in several shapes and dtypes;
- the backend's own patterns, as composites;
- chains, several outputs, one output twice, an input that is an output, tuples, constants in the
  region and as parameters, one value for two operands, rank 0, no elements, special numbers.

Results must stay as they are when the region runs again, and two threads may run it at once.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from reprlib import repr as shown
from typing import cast
from zlib import crc32

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from xrelay.analysis.partition.compilers import No
from xrelay.backends.base import Array, Backend, BackendError, CompiledRegion, RegionOptions
from xrelay.backends.contract_cases import ContractCase, operator_cases, structure_cases
from xrelay.backends.numpy import NumpyBackend
from xrelay.backends.pattern_examples import NoExample, pattern_examples
from xrelay.backends.region_builder import RegionBuilder
from xrelay.backends.regions import compile_region, nested, region_outputs, region_text
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.interpreters.arrays import arrays_in
from xrelay.interpreters.relay import interpret
from xrelay.transforms.merge_composite import merge_composites

TOLERANCES = {"bfloat16": 1e-1, "float16": 2e-2, "float32": 1e-4, "float64": 1e-9}
"""Of the largest element expected, by dtype; other dtypes are compared exactly."""


def region_of(case: ContractCase, backend: Backend) -> tuple[func.FuncOp, list[Array]]:
    """The region of a case as a backend gets it, and values for its parameters."""
    builder = RegionBuilder(crc32(case.name.encode()), bind_constants=backend.bind_constants)
    function = builder.function(case.build(builder))
    if case.pattern is not None:
        module = function.parent_op()
        assert isinstance(module, ModuleOp)
        merge_composites(module, [case.pattern])
        if not any(isinstance(op, CompositeOp) for op in function.body.block.ops):
            raise NoExample(f"no example matches {case.pattern.name} and passes its check")
    return function, builder.inputs


class ContractBroken(Exception):
    """A backend does not keep the contract; the message says which case and how."""


def unsupported(function: func.FuncOp, backend: Backend) -> str | None:
    """Why a backend would not get such a region; None when it would."""
    structure = (ConstantOp, TupleOp, TupleGetItemOp, CompositeOp)
    for op in function.body.block.ops:
        if isinstance(op, (*structure, func.ReturnOp)):
            continue
        answer = backend.supports(op, op.operand_types)
        if isinstance(answer, No):
            return f"{op.name}: {answer.reason}"
    return None


def check(case: ContractCase, backend: Backend, threads: int = 1) -> None:
    """
    Compiles a region and runs it on two samples of inputs: one after the other, then in two threads.

    Raises ContractBroken when the backend raises something, or computes something else.
    """
    function, inputs = region_of(case, backend)
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    types = function.function_type.inputs.data
    samples = (inputs, [array[::-1].copy() if array.ndim else array for array in inputs])
    expected = [arrays_in(interpret(module, nested(arrays, types), "region")) for arrays in samples]
    try:
        backend.optimize(module)
        # What a backend has lowered is judged by its meaning.
        engine = NumpyBackend() if backend.lower(module) else backend
        region = compile_region(engine, function, RegionOptions(threads))
    except Exception as error:
        raise ContractBroken(
            f"{case.name}: {region_text(function)} does not compile: {error}"
        ) from error

    def run(given: Sequence[Array]) -> list[Array]:
        return _run(case, function, region, given)

    found: list[list[Array]] = []
    for given, wanted in zip(samples, expected, strict=True):
        found.append(run(given))
        _compare(case, found[-1], wanted)
    _compare(case, found[0], expected[0], " after another run")
    with ThreadPoolExecutor(len(samples)) as pool:
        at_once = list(pool.map(run, samples))
    for results, wanted in zip(at_once, expected, strict=True):
        _compare(case, results, wanted, " when two threads run the region")


def _run(
    case: ContractCase, function: func.FuncOp, region: CompiledRegion, inputs: Sequence[Array]
) -> list[Array]:
    """The results of a region, whose inputs must stay as they are."""
    given = [array.copy() for array in inputs]
    for array in given:
        array.flags.writeable = False  # As in a program.
    outputs = [np.full(t.shape, 77).astype(t.dtype) for t in region_outputs(function)]
    try:
        returned = region(given, outputs)
    except Exception as error:
        raise ContractBroken(
            f"{case.name}: {region_text(function)} does not run: {error}"
        ) from error
    for i, (before, after) in enumerate(zip(inputs, given, strict=True)):
        if before.tobytes() != after.tobytes():
            raise ContractBroken(f"{case.name}: input {i} is changed")
    return outputs if returned is None else [np.asarray(array) for array in returned]


def _compare(
    case: ContractCase, found: Sequence[Array], expected: Sequence[Array], when: str = ""
) -> None:
    """Raises ContractBroken for results that are not those expected."""
    if len(found) != len(expected):
        raise ContractBroken(f"{case.name}: {len(found)} results, expected {len(expected)}")
    for i, (array, right) in enumerate(zip(found, expected, strict=True)):
        problem = difference(array, right)
        if problem:
            raise ContractBroken(f"{case.name}: result {i}{when} {problem}")


def difference(found: Array, expected: Array) -> str | None:
    """How a result differs, beyond rounding; None when it does not."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return (
            f"is {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
        )
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        wrong = found != expected
    else:
        with np.errstate(all="ignore"):
            wide, other = expected.astype(np.float64), found.astype(np.float64)
            largest = np.max(np.abs(wide[np.isfinite(wide)]), initial=1.0)
            same = (wide == other) | (np.isnan(wide) & np.isnan(other))
            wrong = ~(same | (np.abs(wide - other) <= tolerance * largest))
    if not np.any(wrong):
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"differs in {int(np.sum(wrong))} of {wrong.size} elements, at {list(place)}: "
        f"{found[place]}, expected {expected[place]}"
    )


def contract_cases(backend: Backend) -> Iterator[ContractCase]:
    """
    The cases that a backend takes: those of which it supports all operators.

    Raises BackendError for an object that is not a backend.
    """
    if not isinstance(cast(object, backend), Backend):
        raise BackendError(f"the backend is {shown(backend)}, expected a Backend")
    for case in (*operator_cases(), *structure_cases(), *pattern_cases(backend)):
        if case.special and not backend.special_numbers:
            continue
        try:
            function, _ = region_of(case, backend)
        except (NoExample, VerifyException, DiagnosticException):
            continue  # Not every operator takes every dtype, and not every pattern has an example.
        if unsupported(function, backend) is None:
            yield case


def pattern_cases(backend: Backend) -> Iterator[ContractCase]:
    """Cases for each pattern of a backend: composites, as it gets them in a program."""
    for entry in backend.patterns():
        for number, build in enumerate(pattern_examples(entry.pattern)):
            yield ContractCase(f"pattern {entry.name}, {number}", build, pattern=entry)


def patterns_without_example(backend: Backend) -> dict[str, str]:
    """Patterns of a backend of which no case can be made, and why."""
    found: dict[str, str] = {}
    for case in pattern_cases(backend):
        assert case.pattern is not None
        try:
            region_of(case, backend)
        except (NoExample, VerifyException, DiagnosticException) as error:
            found[case.pattern.name] = str(error)
    return found
