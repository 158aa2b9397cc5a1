"""
The stated largest errors of elementary functions (docs/numerics.md), on a part of all f32 numbers
and on random f64 numbers, for every named target and for vectors as for single lanes. What is exact is
computed once for all targets. `tests/conformance/vector_math.py` takes all f32 numbers.
"""

from typing import Any

import numpy as np
import pytest
from float_errors import ORACLES, errors, unreached
from mpmath import mp, mpf
from vector_functions import FUNCTIONS, compiled, targets_here

from xrelay.lowering.math import elementary as vector_math

LARGEST_F32 = {
    "exp": 1.21,
    "log": 0.95,
    "tanh": 2.6,
    "erf": 3.2,
    "sigmoid": 2.5,
    "sqrt": 0.5,
    "rsqrt": 1.5,
    "sin": 1.6,
    "cos": 1.6,
    "acos": 0.501,
    "acosh": 0.501,
    "asin": 0.501,
    "asinh": 0.501,
    "atan": 0.501,
    "atanh": 0.501,
    "cosh": 0.501,
    "sinh": 0.501,
    "tan": 0.501,
    "log2": 0.501,
    "log10": 0.501,
}
"""Units of the last place."""

LARGEST_F64 = {
    "exp": 1.2,
    "log": 0.9,
    "tanh": 2.6,
    "erf": 3.0,
    "sigmoid": 2.3,
    "sqrt": 0.5,
    "rsqrt": 1.5,
    "sin": 1.0,
    "cos": 1.0,
    "acos": 2.5,
    "acosh": 2.2,
    "asin": 2.3,
    "asinh": 1.7,
    "atan": 2.1,
    "atanh": 2.0,
    "cosh": 2.8,
    "sinh": 3.1,
    "tan": 2.0,
    "log2": 0.51,
    "log10": 0.51,
}

LARGEST_POWER = {np.float32: 0.51, np.float64: 1.5}

LARGEST_CONSTANT_POWER = 2.2
"""Of powers whose exponent is known when the kernel is built."""


def special_numbers(dtype: Any) -> Any:
    """Zeros, infinities, NaN with payloads and signs, and the ends of the ranges of numbers."""
    info = np.finfo(dtype)
    edge = [info.max, info.tiny, info.smallest_subnormal, info.eps, info.tiny - info.tiny / 2]
    whole = [1, 2, 3, 0.5, 1.5, 100, 101, 2 / info.eps, 1 / info.eps, 1 / info.eps + 1]
    near_one = [1 + info.eps, 1 - info.epsneg]
    limits = [88.72, 88.73, 103.9, 104.1, 709.7, 709.8, 745.1, 745.2, 9.01, 3.92, 5.92, 19.1, 1e10]
    numbers = np.array([0, np.inf, np.nan, *edge, *whole, *near_one, *limits], dtype)
    payload = np.array([np.inf], dtype).view(f"u{numbers.itemsize}") + 1
    return np.concatenate([numbers, -numbers, payload.view(dtype)])


def padded(x: Any, lanes: int) -> Any:
    """x followed by ones up to a multiple of `lanes`."""
    return np.concatenate([x, np.ones(-len(x) % lanes, x.dtype)])


def largest(found: Any, exact: Any) -> float:
    """The largest error, of which a rounded exact result has none."""
    return float(errors(found, exact)[1].max(initial=0.0))


def same(one: Any, other: Any) -> bool:
    """Whether all bits are the same. Which NaN an operation yields LLVM leaves open."""
    bits = f"u{one.itemsize}"
    equal = (one.view(bits) == other.view(bits)) | (np.isnan(one) & np.isnan(other))
    return bool(equal.all())


@pytest.fixture(scope="module")
def part_of_f32() -> Any:
    """Every 5003rd f32 number, and the special ones."""
    bits = np.arange(0, 2**32, 5003, dtype=np.uint64).astype(np.uint32)
    return padded(np.concatenate([special_numbers(np.float32), bits.view(np.float32)]), 16)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_f32_functions(name: str, part_of_f32: Any):
    x = part_of_f32
    few = np.r_[:100, 100 : len(x) : 317][:2800]
    with np.errstate(all="ignore"):
        exact = ORACLES[name](x.astype(np.float64))
    for number, target in enumerate(targets_here(), list(FUNCTIONS).index(name)):
        found = compiled(FUNCTIONS[name], 1, np.float32, target, 16)(x)
        assert largest(found, exact) <= LARGEST_F32[name], target
        assert not unreached(name, found, exact).any(), target
        # Results do not depend on the number of lanes.
        lanes = (1, 4, 7)[number % 3]
        own = compiled(FUNCTIONS[name], 1, np.float32, target, lanes)(x[few])
        assert same(own, found[few]), (target, lanes)


def f64_numbers() -> Any:
    """Numbers of all magnitudes, and many where functions change."""
    rng, count = np.random.default_rng(1), 20000
    parts = [
        special_numbers(np.float64),
        rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64),
        4 * rng.standard_normal(count),
        rng.uniform(-760, 760, count),
        1 + rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-50, 0, count),
    ]
    return padded(np.concatenate(parts), 8)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("erf", "sin", "cos")])
def test_f64_functions(name: str):
    x = f64_numbers()
    with np.errstate(all="ignore"):
        exact = ORACLES[name](x.astype(np.longdouble))
    for target in targets_here():
        found = compiled(FUNCTIONS[name], 1, np.float64, target, 8)(x)
        assert largest(found, exact) <= LARGEST_F64[name], target
        assert not unreached(name, found, exact).any(), target
        assert same(compiled(FUNCTIONS[name], 1, np.float64, target, 1)(x), found), target


def precise(name: str, x: Any) -> list[mpf]:
    """A function of finite numbers by mpmath."""
    with mp.workprec(1300 if name in ("sin", "cos") else 160):
        return [getattr(mp, name)(mpf(number)) for number in x.tolist()]


def precise_error(found: Any, exact: list[mpf]) -> float:
    """The largest error on finite numbers."""
    with mp.workprec(160):
        return float(
            max(
                abs(mpf(value) - number) / mpf(np.spacing(abs(value)))
                for value, number in zip(found.tolist(), exact, strict=True)
            )
        )


@pytest.mark.parametrize("name", ["erf", "sin", "cos"])
def test_f64_functions_of_which_no_longer_ones_are_at_hand(name: str):
    x = f64_numbers()
    with np.errstate(all="ignore"):
        exact = ORACLES[name](x)
    # The number nearest to a multiple of pi/2 of all, and neighbours of such multiples.
    hard = [6381956970095103 * 2.0**797, *(np.arange(1, 200) * np.pi / 2), *(2.0 ** np.arange(99))]
    few = np.concatenate([hard, x[np.isfinite(x) & (x != 0)][::97]])
    few = few[: len(few) // 8 * 8]
    precisely = precise(name, few)
    for target in targets_here():
        function = compiled(FUNCTIONS[name], 1, np.float64, target, 8)
        found = function(x)
        assert same(compiled(FUNCTIONS[name], 1, np.float64, target, 1)(x), found), target
        # NumPy's own errors are a little over one unit.
        assert largest(found, exact) <= LARGEST_F64[name] + 2, target
        assert not unreached(name, found, exact).any(), target
        assert precise_error(function(few), precisely) <= LARGEST_F64[name], target


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers(dtype: Any):
    rng, count = np.random.default_rng(2), 20000
    special = special_numbers(dtype)
    bases, exponents = (grid.ravel() for grid in np.meshgrid(special, special))
    info = np.finfo(dtype)
    reach = float(np.log(info.max))
    pairs: list[tuple[Any, Any]] = [
        (bases, exponents),
        (np.exp(rng.uniform(-reach, reach, count)), rng.uniform(-2, 2, count)),
        (rng.uniform(0.9, 1.1, count), rng.uniform(-10 * reach, 10 * reach, count)),
        (1 + rng.uniform(-9, 9, count) * info.eps, rng.uniform(-9, 9, count) / info.eps),
        (rng.integers(-9, 10, count), rng.integers(-40, 40, count)),
    ]
    x, y = (padded(np.concatenate([pair[i].astype(dtype) for pair in pairs]), 16) for i in (0, 1))
    wider = np.float64 if dtype is np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(wider), y.astype(wider))
    for target in targets_here():
        found = compiled(vector_math.power, 2, dtype, target, 16)(x, y)
        assert largest(found, exact) <= LARGEST_POWER[dtype], target
        assert same(compiled(vector_math.power, 2, dtype, target, 1)(x, y), found), target


@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0, 0.5, 0.75, 1, 2, 3, 4, 2.5])
def test_constant_powers(exponent: float):
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 2**32, 1 << 16, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = padded(np.concatenate([special_numbers(np.float32), numbers]), 16)
    with np.errstate(all="ignore"):
        # An array of exponents: NumPy takes square roots for a single 0.5.
        exact = np.power(x.astype(np.float64), np.full(x.shape, float(exponent)))
    for target in targets_here():
        found = compiled(
            lambda b, value: vector_math.power_of_constant(b, value, exponent),
            *(1, np.float32, target, 16),
        )(x)
        assert largest(found, exact) <= LARGEST_CONSTANT_POWER, target
