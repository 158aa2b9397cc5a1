"""Arrays as memory that machine code reads and writes: what it needs of them, and their addresses."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import addressof, c_char
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from xrelay.runtime.arguments import count_given, few, kind_of
from xrelay.runtime.errors import ModelError
from xrelay.runtime.signature import Named, TensorSpec

Array = npt.NDArray[Any]

_memory_of: Callable[[Any], c_char] = c_char.from_buffer


def address_of(array: Array) -> int:
    """Where the elements of an array begin."""
    if array.flags.carray and array.size and array.dtype.isbuiltin == 1:
        # A fourth of the time that `ctypes.data` takes; small models run hardly longer than that.
        return addressof(_memory_of(array))
    return array.ctypes.data


def addresses(arrays: Iterable[Array]) -> list[int]:
    """Where the elements of arrays begin."""
    return [address_of(array) for array in arrays]


def contiguous(array: Array) -> Array:
    """The array, or a copy of it, row-major and at a multiple of the size of its elements."""
    flags = array.flags
    if flags.carray or (flags.c_contiguous and flags.aligned):
        return array
    # `require` gives some arrays of rank 0 an axis.
    return np.require(array, requirements=["C", "A"]).reshape(array.shape)


def checked_arrays(kind: str, specs: Sequence[TensorSpec], arrays: object) -> list[Array]:
    """
    The arrays of one `kind`, "input" or "output". Those of subclasses of NumPy's, which may say anything of their shape,
    are seen as NumPy's own.

    Raises ModelError that names the array, what was found and what is expected, for another number
    of arrays, other shapes or dtypes, and memory that machine code cannot use as it is.
    """
    if not isinstance(arrays, list | tuple):
        what = f"the {kind}s are {kind_of(arrays)}"
        raise ModelError(f"{what}, expected a list of {few(specs)}")
    # Its elements, whatever a subclass says of their number.
    given = list(cast(Sequence[object], arrays))
    if len(given) != len(specs):
        raise ModelError(f"{count_given(len(given), kind)}, expected {few(specs)}")
    is_output = kind == "output"
    found: list[Array] = []
    for spec, each in zip(specs, given, strict=True):
        if not isinstance(each, np.ndarray):
            what = f"{kind} '{spec.name}' is {kind_of(each)}"
            raise ModelError(f"{what}, expected the array {spec}")
        array = cast(Array, each)
        if type(array) is not np.ndarray:
            array = np.asarray(array)
        if array.shape != spec.shape or array.dtype != spec.dtype:
            raise wrong_type(kind, spec, array)
        flags = array.flags
        if not (flags.carray if is_output else flags.c_contiguous and flags.aligned):
            raise ModelError(f"{kind} '{spec.name}' {unusable(array)}")
        found.append(array)
    return found


def arrays_by_name(kind: str, specs: Sequence[Named], arrays: object) -> dict[str, Array]:
    """
    The arrays of one `kind`, "input" or "output", by name: of a mapping, or of a sequence in the order of the signature.
    Those of subclasses of NumPy's are seen as NumPy's own.

    Raises ModelError that names what is missing, unknown or no array.
    """
    names = [spec.name for spec in specs]
    if isinstance(arrays, list | tuple):
        given = list(cast(Sequence[object], arrays))
        if len(given) != len(names):
            raise ModelError(f"{count_given(len(given), kind)}, expected {few(specs)}")
        by_name = dict(zip(names, given, strict=True))
    elif isinstance(arrays, Mapping):
        by_name = dict(cast("Mapping[str, object]", arrays))
    else:
        raise ModelError(f"the {kind}s are {kind_of(arrays)}, expected {few(specs)}")
    parts = [f"unknown {kind} {name!r}" for name in by_name if name not in names]
    parts += [f"missing {kind} '{name}'" for name in names if name not in by_name]
    if parts:
        raise ModelError(f"{few(parts)}; the model has {few(specs)}")
    found: dict[str, Array] = {}
    for spec in specs:
        each = by_name[spec.name]
        if not isinstance(each, np.ndarray):
            raise ModelError(f"{kind} '{spec.name}' is {kind_of(each)}, expected the array {spec}")
        array = cast(Array, each)
        found[spec.name] = array if type(array) is np.ndarray else np.asarray(array)
    return found


def require_types(kind: str, specs: Sequence[TensorSpec], arrays: Iterable[Array]) -> None:
    """Raises ModelError for an array of another shape or dtype. They are in the order of the signature."""
    for spec, array in zip(specs, arrays, strict=True):
        require_type(kind, spec, array)


def require_type(kind: str, spec: TensorSpec, array: Array) -> None:
    """Raises ModelError for an array of another shape or dtype."""
    if array.dtype != spec.dtype or array.shape != spec.shape:
        raise wrong_type(kind, spec, array)


def wrong_type(kind: str, spec: Named, array: Array) -> ModelError:
    """The error for an array of another dtype or shape than that of an input or output."""
    return ModelError(f"{kind} '{spec.name}' is {array.dtype}{list(array.shape)}, expected {spec}")


def unusable(array: Array) -> str:
    """Why machine code cannot use the memory of an array."""
    if not array.flags.c_contiguous:
        return f"is not C-contiguous: its strides are {list(array.strides)}"
    if not array.flags.aligned:
        place, size = array.ctypes.data, array.dtype.itemsize
        return f"is not aligned: it begins at {place:#x}, expected a multiple of {size}"
    return "is read-only, expected an array that can be written"


def check_apart(
    specs: Sequence[TensorSpec], arrays: Sequence[Array], places: Sequence[int], first_output: int
) -> None:
    """
    Raises ModelError that names both when an output shares memory with another output or with an
    input. Inputs, which are the arrays before `first_output`, may share memory with one another.
    """
    spans = sorted(
        (place, place + array.nbytes, i)
        for i, (place, array) in enumerate(zip(places, arrays, strict=True))
        if array.size
    )
    # Of what begins before: how far all reaches, and how far outputs do, which nothing may share.
    end = end_of_outputs = last = last_output = 0
    for start, stop, i in spans:
        is_output = i >= first_output
        if start < (end if is_output else end_of_outputs):
            pair = sorted((last if is_output else last_output, i))
            kinds = [
                f"{'output' if j >= first_output else 'input'} '{specs[j].name}'" for j in pair
            ]
            raise ModelError(f"{' and '.join(kinds)} share memory")
        if stop > end:
            end, last = stop, i
        if is_output and stop > end_of_outputs:
            end_of_outputs, last_output = stop, i
