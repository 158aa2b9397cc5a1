"""What the contract tests of backends find, how results are compared, and of which patterns there are no cases."""

import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay import contract
from xrelay.analysis.patterns.language import is_op, is_tuple, wildcard
from xrelay.backends.base import (
    Array,
    Backend,
    BackendError,
    CompiledRegion,
    CompositePattern,
    No,
    RegionOptions,
    Support,
    Yes,
)
from xrelay.backends.contract_cases import NUMBERS, SAMPLES, ContractCase, operator_cases
from xrelay.backends.numpy import NumpyBackend
from xrelay.backends.region_builder import RegionBuilder
from xrelay.contract import (
    TOLERANCES,
    ContractBroken,
    check,
    contract_cases,
    difference,
    patterns_without_example,
)
from xrelay.dialects.tensor.unary import ExpOp, ReluOp


class Rectifier(Backend):
    """Runs `nn.relu` and has patterns."""

    name = "rectifier"

    def __init__(self, run: Any = None, *patterns: CompositePattern):
        super().__init__()
        self.run, self.listed = run, patterns

    def patterns(self) -> Sequence[CompositePattern]:
        return self.listed

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if isinstance(op, ReluOp) else No("the engine rectifies only")

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        return self.run


RELU = ContractCase("one relu", lambda b: [b.op(ReluOp(b.input(b.array("float32", 2, 3))))])


def writes(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    np.maximum(inputs[0], 0, out=outputs[0])
    inputs[0].flags.writeable = True
    inputs[0][0] = 1


def raises(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    raise RuntimeError("no room")


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (writes, "one relu: input 0 is changed"),
        (raises, "one relu: region @region (nn.relu) does not run: no room"),
        (lambda i, o: [], "one relu: 0 results, expected 1"),
        (lambda i, o: [i[0][:1]], "one relu: result 0 is float32[1, 3], expected float32[2, 3]"),
        (3, "one relu: region @region (nn.relu) does not compile: it returns an int, expected a "),
    ],
)
def test_contracts_that_are_broken(run: Any, message: str) -> None:
    """The case, the region and what is wrong."""
    with pytest.raises(ContractBroken) as caught:
        check(RELU, Rectifier(run))
    assert str(caught.value).startswith(message)


def test_cases_of_contracts() -> None:
    """Those whose operators a backend supports; patterns without an example are told with the reason."""
    with pytest.raises(BackendError) as caught:
        list(contract_cases(3))
    assert str(caught.value) == "the backend is 3, expected a Backend"
    never = CompositePattern("rectifier.never", is_op("nn.relu")(wildcard()), lambda found: False)
    pair = CompositePattern("rectifier.pair", is_tuple(None))
    relu = CompositePattern("rectifier.relu", is_op("nn.relu")(wildcard()))
    backend = Rectifier(writes, never, pair, relu)
    assert patterns_without_example(backend) == {
        "rectifier.never": "no example matches rectifier.never and passes its check",
        "rectifier.pair": "no example of a TuplePattern",
    }
    names = [case.name for case in contract_cases(backend)]
    assert [name for name in names if "pattern" in name] == ["pattern rectifier.relu, 0"]


def test_cases_of_all_ranks_have_elements() -> None:
    """Wrong elements are noticed in tensors of all ranks and dtypes: one shape alone has none."""

    def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        np.maximum(inputs[0], 0, out=outputs[0])
        outputs[0][...] += 1

    noticed: list[str] = []
    for case in operator_cases():
        if case.name.startswith("nn.relu "):
            try:
                check(case, Rectifier(run))
            except ContractBroken:
                noticed.append(case.name)
    shapes = ("[]", "[1]", "[7]", "[2, 3, 5]", "[1, 4, 6, 6]")
    assert noticed == [f"nn.relu {dtype}{shape}" for dtype in NUMBERS for shape in shapes]


def test_what_a_backend_would_not_get() -> None:
    """The first operator that it does not support, and why."""
    build = RegionBuilder()
    x = build.input(build.array("float32", 2))
    value = build.op(ReluOp(build.op(ExpOp(build.op(ReluOp(x))))))
    function = build.function([value])
    assert contract.unsupported(function, Rectifier()) == "relay.exp: the engine rectifies only"
    assert contract.unsupported(function, NumpyBackend()) is None


@pytest.mark.parametrize(
    ("found", "expected", "message"),
    [
        ([1, 2, 3], [1, 5, 4], "differs in 2 of 3 elements, at [1]: 2, expected 5"),
        ([1, 2], [1, 2], None),
        ([[1], [2]], [1, 2], "is int32[2, 1], expected int32[2]"),
    ],
)
def test_differences_of_integers(found: Any, expected: Any, message: str | None) -> None:
    """They are exact."""
    assert difference(np.array(found, np.int32), np.array(expected, np.int32)) == message


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        ([nan, 1.0], [nan, 1.0], True),
        ([1.0, 1.0], [nan, 1.0], False),
        ([inf, 1.0], [inf, 1.0], True),
        ([-inf, 1.0], [inf, 1.0], False),
        ([100.0, 0.009], [100.0, 0.0], True),
        ([100.0, 0.011], [100.0, 0.0], False),
        ([inf, 0.00009], [inf, 0.0], True),
        ([inf, 0.00011], [inf, 0.0], False),
        ([0.00009], [0.0], True),
        ([0.00011], [0.0], False),
    ],
)
def test_differences_of_floats(found: list[float], expected: list[float], same: bool) -> None:
    """Up to a part of the largest element that is a number, at least of 1."""
    given = np.array(found, np.float32), np.array(expected, np.float32)
    assert (difference(*given) is None) is same


@pytest.mark.parametrize(
    ("keeps", "names"), [(True, ["one relu", "with NaN"]), (False, ["one relu"])]
)
def test_cases_of_special_numbers(
    monkeypatch: pytest.MonkeyPatch, keeps: bool, names: list[str]
) -> None:
    """They are for backends that keep these."""
    monkeypatch.setattr(contract, "operator_cases", lambda: [RELU])
    monkeypatch.setattr(
        contract, "structure_cases", lambda: [ContractCase("with NaN", RELU.build, special=True)]
    )
    backend = Rectifier()
    backend.special_numbers = keeps
    assert [case.name for case in contract_cases(backend)] == names


@pytest.mark.parametrize(
    ("dtype", "found"),
    [
        ("bool", [False, True]),
        ("uint8", list(range(8))),
        ("int8", list(range(-7, 8))),
        ("int64", list(range(-7, 8))),
    ],
)
def test_integers_of_cases(dtype: str, found: list[int]) -> None:
    """Small ones, those below 0 among them where there are such."""
    made = RegionBuilder().array(dtype, 30, 40)
    assert (made.dtype, made.shape) == (np.dtype(dtype), (30, 40))
    assert np.unique(made).tolist() == found


@pytest.mark.parametrize("name", SAMPLES)
def test_contract_shows_axes_in_each_others_place(name: str) -> None:
    """Each sample is a region, and neighbouring axes of its operands have different lengths."""
    region = RegionBuilder(bind_constants=False)
    assert SAMPLES[name]("float32", region)
    for shape in (each.shape for each in region.inputs):
        if shape[-2:] == (3, 3):
            shape = shape[:-2]  # A window.
        assert all(one != two for one, two in pairwise(shape)), shape


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_contract_allows_roundings(dtype: str) -> None:
    expected = np.array([1, 2], np.dtype(dtype))
    assert difference(np.nextafter(expected, np.zeros_like(expected)), expected) is None
    zero, most = np.zeros(1), np.full(1, TOLERANCES["float64"])
    assert difference(most, zero) is None
    assert difference(np.nextafter(most, 1), zero) is not None
    wrong = difference(np.array([1, 3], np.dtype(dtype)), expected)
    assert wrong is not None and "differs in 1 of 2 elements, at [1]: 3" in wrong


def _changes_input(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    outputs[0][...] = np.maximum(inputs[0], 0)
    inputs[0].fill(0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda i, o: np.minimum(i[0], 0, out=o[0]) and None, "differs in"),
        (lambda i, o: [np.maximum(i[0], 0)[None]], r"is .*\[1.*expected"),
        (lambda i, o: [np.maximum(i[0], 0).astype("complex64")], "is complex64"),
        (lambda i, o: [], "0 results, expected 1"),
        (lambda i, o: 1 / 0, "does not run: division by zero"),
        (_changes_input, "does not run: .*read-only"),
        (lambda i, o: None, "differs in"),
    ],
)
def test_contract_finds(wrong: Callable[..., Any], message: str) -> None:
    backend = Rectifier(wrong)
    with pytest.raises((ContractBroken, ValueError), match=message):
        for case in contract_cases(backend):
            check(case, backend)


def check_rectifier(run: Callable[..., Any]) -> None:
    """Checks the first case of several elements in f32."""
    backend = Rectifier(run)
    check(next(c for c in contract_cases(backend) if c.name == "nn.relu float32[7]"), backend)


def test_contract_finds_memory_that_is_used_again() -> None:
    kept: dict[tuple[int, ...], Array] = {}

    def reuse(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
        memory = kept.setdefault(inputs[0].shape, np.empty_like(inputs[0]))
        np.maximum(inputs[0], 0, out=memory)
        return [memory]

    with pytest.raises(ContractBroken, match="result 0 after another run differs"):
        check_rectifier(reuse)


def test_contract_finds_what_two_threads_share() -> None:
    """Both wait for each other, so that the one that writes last wins."""
    shared: list[Array] = []
    barrier = threading.Barrier(2)
    main = threading.get_ident()

    def share(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        source = inputs[0]
        if threading.get_ident() != main:
            shared.append(source)
            barrier.wait(timeout=60)
            source = shared[-1]
        np.maximum(source, 0, out=outputs[0])

    with pytest.raises(ContractBroken, match="result 0 when two threads run the region differs"):
        check_rectifier(share)
