"""`xrelay run --verify`: what is compared with the interpreter, and what counts as the same."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from cases.small_networks import transformer
from commands.runs import Command

from xrelay.tools import verify
from xrelay.tools.errors import FAILED


def test_run_verifies(cmd: Command, folder: Path) -> None:
    result = cmd("run", folder / "conv.onnx", "--verify")
    assert result.code == 0
    assert "y agrees with the interpreter: largest relative difference" in result.out


@pytest.mark.parametrize("callee", ["", "private "])
def test_run_verifies_the_only_function(cmd: Command, folder: Path, callee: str) -> None:
    t = "tensor<4xf32>"
    exp = f"(%x: {t}) -> {t} {{\n%0 = relay.exp %x : ({t}) -> {t}\nfunc.return %0 : {t}\n}}\n"
    call = exp.replace("relay.exp %x", "func.call @g(%x)")
    for name, text in (
        ("one", f"func.func @other{exp}"),
        ("two", f"func.func {callee}@g{exp}func.func @other{call}"),
    ):
        (folder / f"{name}.mlir").write_text(text)
        result = cmd("run", folder / f"{name}.mlir", "--verify")
        assert (result.code, result.err) == (0, "")
        assert "output0 agrees with the interpreter" in result.out


def test_wrong_result_has_exit_code_1(
    cmd: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shape, message in (
        ((2, 4), "relative difference"),
        ((4, 2), r"shape is [2, 4], [4, 2] there"),
    ):

        def wrong(*args: Any, shape: Sequence[int] = shape, **options: Any) -> dict[str, Any]:
            return {"output0": np.ones(shape, np.float32) + 100}

        monkeypatch.setattr(verify, "interpret_model", wrong)
        result = cmd("run", folder / "add.mlir", "--verify")
        assert result.code == FAILED
        assert "DIFFERS from the interpreter" in result.out and message in result.out


ROUNDED = re.compile(
    r"y agrees with the interpreter: largest relative difference (\S+) from the program as it is written, "
    r"(\S+) from the one that it becomes; these two are (\S+) apart"
)


def test_a_quantised_model_is_verified_by_its_integers(
    cmd: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It rounds elsewhere than the model as it is written does, of some inputs; what is further away than that is wrong."""
    onnx.save(transformer(integers=True), folder / "bytes.onnx")
    results = [cmd("run", folder / "bytes.onnx", "--verify", "--seed", seed) for seed in range(4)]
    assert all(result.code == 0 for result in results)
    rounded = [match.groups() for result in results if (match := ROUNDED.search(result.out))]
    assert rounded, "the seeds are to show it"
    for written, near, apart in rounded:
        assert float(near) <= 1e-3 < float(written) < 0.1 and float(apart) < 0.1
    run = verify.interpret_model

    def wrong(*args: Any, **options: Any) -> dict[str, Any]:
        return {name: array + np.float32(1) for name, array in run(*args, **options).items()}

    monkeypatch.setattr(verify, "interpret_model", wrong)
    result = cmd("run", folder / "bytes.onnx", "--verify")
    assert result.code == FAILED
    assert re.search(r"y DIFFERS from .* from the one that it becomes", result.out)


NOTHING = np.full(3, np.nan, np.float32)


@pytest.mark.parametrize(
    ("found", "expected", "prepared", "agrees", "text"),
    [
        # Twice as far as the two are apart, and a little more.
        ([8, 1.5], [8, 1], [8, 1.25], True, "difference 0.0625 from the program as it is written, 0.0312 from"),
        ([8, 2.0], [8, 1], [8, 1.25], False, "these two are 0.0312 apart"),
        ([8, 1.5], [8, 1], None, False, "DIFFERS from the interpreter: largest relative difference 0.0625"),
        ([8, 1.001], [8, 1], [4, 4], True, "agrees with the interpreter: largest relative difference 0.000125"),
        (NOTHING, NOTHING, None, True, "largest relative difference 0, 3 of 3 elements are NaN"),
        ([1], [1, 2], None, False, "DIFFERS from the interpreter: its shape is [1], [2] there"),
    ],
)  # fmt: skip
def test_verdicts(found: Any, expected: Any, prepared: Any, agrees: bool, text: str) -> None:
    arrays = [
        each if each is None else np.array(each, np.float32) for each in (found, expected, prepared)
    ]
    verdict = verify.judged(arrays[0], arrays[1], arrays[2])
    assert verdict[0] == agrees and text in verdict[1]


@pytest.mark.parametrize(
    ("found", "expected", "agrees"),
    [
        # Beyond f16, whose program is that of f32.
        ([7e4, 1], [np.inf, 1], True),
        ([7e4, 1], [np.nan, 1], True),
        ([6e4, 1], [np.inf, 1], False),
        ([np.nan, 1], [np.inf, 1], False),
        # Half as far as the two are apart.
        ([7e4, 901], [7e4, 1801], False),
    ],
)
def test_what_overflows_as_it_is_written(found: Any, expected: Any, agrees: bool) -> None:
    arrays = [np.array(each, np.float32) for each in (found, expected, [7e4, 1])]
    assert verify.judged(arrays[0], arrays[1], arrays[2], orders=0)[0] == agrees


def test_elements_that_are_no_numbers_with_a_fraction_are_equal_or_not() -> None:
    found, expected = np.array([1, 2, 4]), np.array([1, 2, 3])
    assert verify.judged(found, expected, found) == (
        False,
        "DIFFERS from the interpreter: largest relative difference 1",
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_floating_point_is_compared_up_to_roundings(dtype: type[Any]) -> None:
    """bfloat16 is one of NumPy's kinds of number to ml_dtypes only."""
    expected = np.array([1, -4, np.nan, np.inf], dtype)
    found = expected.copy()
    assert verify.largest_difference(found, expected) == 0
    found[0] = np.nextafter(found[0], dtype(2))
    allowed = verify.tolerance(expected.dtype)
    eps = float(ml_dtypes.finfo(dtype).eps)
    assert verify.largest_difference(found, expected) == eps / 4 <= allowed < 0.02
    found[0] = 2
    assert verify.largest_difference(found, expected) == 0.25 > allowed
    assert verify.tolerance(np.dtype(np.int32)) == 0
