"""Errors of elementary functions in units of the last place, and what to compare with."""

from collections.abc import Callable
from math import erf, pi, sqrt
from typing import Any

import numpy as np

Array = Any


def erf_of(x: Array) -> Array:
    """The error function of float64, element by element only where it is neither x nor 1."""
    size = np.abs(x)
    result = x * (2 / sqrt(pi)) * (1 - x * x / 3)
    result = np.where(size > 6, np.sign(x), result)
    between = np.flatnonzero((size > 2.0**-13) & (size <= 6))
    result[between] = np.fromiter(map(erf, x[between].tolist()), np.float64, len(between))
    return result


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    raised = np.exp(-np.abs(x))
    return np.where(x < 0, raised, 1) / (1 + raised)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x)"""
    return 1 / np.sqrt(x)


ORACLES: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": erf_of,
    "sigmoid": sigmoid,
    "sqrt": np.sqrt,
    "rsqrt": rsqrt,
    "sin": np.sin,
    "cos": np.cos,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
    "tan": np.tan,
    "log2": np.log2,
    "log10": np.log10,
}
"""Functions in a wider type than the one that is tested."""


LIMITS = {"exp": (0, 1), "tanh": (-1, 1), "erf": (-1, 1), "sigmoid": (0, 1)}
"""What functions approach, for large arguments or at 0."""


def unreached(name: str, found: Array, exact: Array) -> Array:
    """
    Where a result is not the function's limit although the rounded exact value is: what follows may
    rely on it, as 1 + erf(x) does.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
    return np.isin(rounded, LIMITS.get(name, ())) & (found != rounded)


def errors(found: Array, exact: Array) -> tuple[Array, Array]:
    """
    Where `found` is not the rounded exact value, bit for bit but any NaN being as good as
    another, and its error there in units of the last place of that: infinite for a wrong special
    value or sign of zero.
    """
    dtype = found.dtype
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        bits = f"u{dtype.itemsize}"
        differ = (found.view(bits) != rounded.view(bits)) & ~(np.isnan(found) & np.isnan(rounded))
        where = np.flatnonzero(differ)
        found, exact, rounded = found[where], exact[where], rounded[where]
        info = np.finfo(dtype)
        unit = np.spacing(np.maximum(np.abs(rounded), info.tiny)).astype(exact.dtype)
        size = np.abs(found.astype(exact.dtype) - exact) / unit
        # A result that just overflows differs by one unit from the largest number.
        regular = np.isfinite(found) & np.isfinite(rounded)
        regular &= ~((found == 0) & (rounded == 0))
        return where, np.where(regular, size, np.inf)
