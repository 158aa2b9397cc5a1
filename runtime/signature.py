"""What a compiled model takes, returns and needs: the data that travels with its machine code."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from math import prod
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
from xdsl.utils.exceptions import DiagnosticException

from xrelay.runtime.arguments import few
from xrelay.runtime.errors import ModelError
from xrelay.runtime.lengths import KnownLengths, OpenLengths
from xrelay.runtime.support import MAX_THREADS

FORMAT_VERSION = 4
FAILING_VERSION = 6
"""The version of what may end with a failure, which those who read the one before would take for a result. (5 and 7: `dimensions/interface.py`.)"""
FAILURE = 56
"""The byte of the workspace of a program with calls or failures where 64 bits say after a run why there are no results."""
TOO_DEEP = 1
"""What they are when too many calls were in each other."""
FIRST_FAILURE = 2
"""What they are when the program ended with the first of its failures; 0 when it did not."""

Dimension: TypeAlias = int | str
"""A length, or the name of an unknown one, "" when it has none."""


@dataclass(frozen=True)
class TensorSpec:
    """A named tensor with a static shape."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of its elements."""
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"'{self.name}' {self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class OpenTensor:
    """A named tensor some of whose dimensions may be unknown. Equal names are equal lengths."""

    name: str
    dims: tuple[Dimension, ...] | None
    """None when not even the number of dimensions is known."""
    dtype: np.dtype[Any] | None
    """None for an output whose type the model does not state."""

    @property
    def is_open(self) -> bool:
        """Whether something is unknown."""
        return self.dims is None or any(isinstance(dim, str) for dim in self.dims)

    def length_name(self, axis: int) -> str | None:
        """What an unknown length goes by: its name in the model, or the input and the axis; None for a known one."""
        dim = "" if self.dims is None else self.dims[axis]
        return (dim or f"{self.name}.{axis}") if isinstance(dim, str) else None

    def element_name(self, place: int) -> str:
        """What an element goes by that is a length, by its place in row-major order."""
        return f"{self.name}[{place}]"

    def open_numbers(self, known: "Known") -> "dict[str, int]":
        """The unknown lengths in a shape, by what they go by, or the elements that may be lengths, in the order of rows."""
        if isinstance(known, InputValue):
            return {self.element_name(i): each for i, each in enumerate(known.numbers or ())}
        named = ((self.length_name(axis), length) for axis, length in enumerate(known))
        return {name: length for name, length in named if name is not None}

    @property
    def may_be_lengths(self) -> bool:
        """Whether the elements may be lengths, which is so of a few whole numbers."""
        if self.dims is None or self.dtype is None or self.is_open:
            return False
        return _may_be_lengths(self.dtype, cast(tuple[int, ...], self.dims))

    def describes(self, array: np.ndarray[Any, Any]) -> bool:
        """Whether an array has this dtype, and this shape as far as it is known."""
        if array.dtype != self.dtype or self.dims is None:
            return array.dtype == self.dtype
        return len(array.shape) == len(self.dims) and all(
            isinstance(dim, str) or dim == length
            for dim, length in zip(self.dims, array.shape, strict=True)
        )

    def __str__(self) -> str:
        shape = "…" if self.dims is None else ", ".join(str(dim) or "?" for dim in self.dims)
        return f"'{self.name}' {'?' if self.dtype is None else self.dtype}[{shape}]"


MOST_NUMBERS = 16
"""Inputs with more elements hold no lengths, nor do tables with more a shape: these are two numbers for each of eight axes at most."""


def _may_be_lengths(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    is_whole = dtype in (np.dtype(np.int32), np.dtype(np.int64))
    return is_whole and 0 < prod(shape) <= MOST_NUMBERS


@dataclass(frozen=True)
class InputValue:
    """
    The elements of an input that a program is made for. They are constants of the program, which does not take
    the input any more.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    content: bytes

    @staticmethod
    def of(array: np.ndarray[Any, Any]) -> "InputValue":
        """The elements of an array."""
        return InputValue(array.dtype, array.shape, array.tobytes())

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements, read-only."""
        return np.frombuffer(self.content, self.dtype).reshape(self.shape)

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The elements where they may be lengths: a few whole numbers; None for others."""
        if not _may_be_lengths(self.dtype, self.shape):
            return None
        return tuple(self.array.reshape(-1).tolist())

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)} {few(self.array.reshape(-1).tolist())}"


@dataclass(frozen=True)
class OpenValue(InputValue):
    """The elements of an input, some of which are lengths: `content` has what they are in the first call."""

    elements: tuple[int, ...]

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements, as objects."""
        found = np.empty(len(self.elements), object)
        found[:] = self.elements
        return found.reshape(self.shape)


@dataclass(frozen=True)
class InputSequence:
    """The tensors of an input that is a sequence."""

    fields: tuple[InputValue, ...]

    @staticmethod
    def of(arrays: Sequence[npt.ArrayLike]) -> "InputSequence":
        """The tensors of a list of arrays."""
        return InputSequence(tuple(InputValue.of(np.asarray(each)) for each in arrays))


Known: TypeAlias = tuple[int, ...] | InputValue
"""What a program is made for: the shape of an input, or its elements."""
Shapes: TypeAlias = Mapping[str, int | Sequence[int] | InputValue | InputSequence]
"""
The shapes of inputs or their elements, and the lengths of dimensions that a model names, or the least and the greatest
of them.
"""


def told_by(shapes: Mapping[str, Known]) -> list[tuple[int, ...]]:
    """
    What a call tells of lengths, in the order of the rows that programs know: the shapes of inputs that these take, then the
    elements of others that may be lengths.
    """
    rows = [each for each in shapes.values() if not isinstance(each, InputValue)]
    values = (each.numbers for each in shapes.values() if isinstance(each, InputValue))
    return [*rows, *(each for each in values if each is not None)]


def is_shape(value: object) -> bool:
    """Whether somebody has given lengths: some sequence of whole numbers, as text and bytes are not."""
    if isinstance(value, np.ndarray):
        array = cast(np.ndarray[Any, np.dtype[Any]], value)
        return array.ndim == 1 and array.dtype.kind in "iu"
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
        return False
    return all(isinstance(each, SupportsIndex) for each in cast(Sequence[object], value))


Ranges: TypeAlias = Mapping[str, tuple[int, int]]
"""The least and the greatest length of dimensions, by name."""


class UnknownDimensions(DiagnosticException):
    """
    Dimensions of a model's inputs are not known, or elements that decide about other dimensions: code is
    generated once they are.
    """

    def __init__(
        self,
        message: str,
        inputs: tuple[OpenTensor, ...],
        outputs: tuple[OpenTensor, ...],
        values: tuple[str, ...] = (),
        *,
        many: bool = False,
        fixed: bool = False,
        ranges: Ranges | None = None,
    ):
        """
        `values` names the inputs whose elements have to be known. With `many` these are data, of which each call
        has others, so that a program for each would be made for one call; `fixed` says that the stages, which it has instead,
        are for the shapes and elements alone that are known by now. `ranges` says what dimensions are between.
        """
        super().__init__(message)
        self.inputs = inputs
        self.outputs = outputs
        self.values = values
        self.many = many
        self.fixed = fixed
        self.ranges = ranges or {}

    def known_of(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Known]:
        """What arrays for the inputs say of that which is unknown."""
        return {
            spec.name: InputValue.of(arrays[spec.name])
            if spec.name in self.values
            else arrays[spec.name].shape
            for spec in self.inputs
            if spec.name in arrays and (spec.is_open or spec.name in self.values)
        }


class Named(Protocol):
    """What stands for an input in messages."""

    @property
    def name(self) -> str:
        """Its name."""
        ...


@dataclass(frozen=True)
class StepSpec:
    """What one step of a model does: a call of a kernel, or a copy."""

    name: str
    """The kernel's, which lists its operators."""
    flops: int
    """Floating-point operations, where a multiply-add counts as two."""
    bytes: int
    """Bytes of the tensors that it reads and writes, each counted once."""
    implementation: str = ""
    """How operators with several implementations are computed."""
    nodes: tuple[str, ...] = ()
    """The nodes of the ONNX model that it computes, by name; none for other models."""


@dataclass(frozen=True)
class Signature:
    """The interface of a compiled model."""

    name: str
    """Prefix of its symbols: `<name>_run`, `<name>_constants`."""
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constant_bytes: int
    workspace_bytes: int
    target: str
    features: tuple[str, ...]
    """The CPU features, in LLVM's names, that the code may use."""
    threads: int = 1
    """How many threads run the model together."""
    steps: tuple[StepSpec, ...] = ()
    """What the model does, in order."""
    profiled: bool = False
    """Whether the code notes when each step ends."""
    loops: bool = False
    """Whether the code has loops, which end after a round when the first 64 bits of the workspace are not 0."""
    lengths: OpenLengths | None = None
    """What code for many lengths finds out when it is called: shapes and sizes are those of the first call then."""
    most_calls: int = 0
    """How many calls may be within each other in code with functions that call themselves, which says at FAILURE of a
    run without results that they were more; 0 where there are none."""
    is_shared: bool = True
    """Whether its threads share a step: else the first one does all, and the others are not woken."""
    failures: tuple[str, ...] = ()
    """The messages that the code may end with, which says at FAILURE of a run without results which one it is."""

    def __str__(self) -> str:
        """The interface in one line."""
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        sizes = f"{self.constant_bytes} bytes of constants, {self.workspace_bytes} of workspace"
        return (
            f"'{self.name}': {few(self.inputs)} -> {few(self.outputs)}, "
            f"for {self.target}, {threads}, {sizes}"
        )

    @property
    def has_team(self) -> bool:
        """Whether the code has functions that make and use teams of threads."""
        return self.threads > 1 or self.profiled

    @property
    def needs_team(self) -> bool:
        """Whether it runs on a team: for the threads that share steps, or to note their times."""
        return self.threads > 1 and self.is_shared or self.profiled

    def at(self, known: KnownLengths) -> "Signature":
        """That of code for many lengths, at some."""

        def shaped(specs: tuple[TensorSpec, ...], shapes: tuple[tuple[int, ...], ...]):
            # Capacities, behind the shapes of inputs, are of no input.
            return tuple(
                replace(each, shape=shape)
                for each, shape in zip(specs, shapes[: len(specs)], strict=True)
            )

        return replace(
            self,
            inputs=shaped(self.inputs, known.inputs),
            outputs=shaped(self.outputs, known.outputs),
            workspace_bytes=known.workspace_bytes,
            lengths=None,
        )

    def to_json(self) -> str:
        """As text that `from_json` reads."""

        def specs(tensors: tuple[TensorSpec, ...]) -> list[dict[str, object]]:
            return [
                {"name": t.name, "shape": list(t.shape), "dtype": t.dtype.name} for t in tensors
            ]

        return json.dumps(
            {
                "format": FAILING_VERSION if self.failures else FORMAT_VERSION,
                "name": self.name,
                "inputs": specs(self.inputs),
                "outputs": specs(self.outputs),
                "constant_bytes": self.constant_bytes,
                "workspace_bytes": self.workspace_bytes,
                "target": self.target,
                "features": self.features,
                "threads": self.threads,
                "steps": [astuple(step) for step in self.steps],
                "profiled": self.profiled,
                "loops": self.loops,
                **({} if self.lengths is None else {"lengths": self.lengths.to_data()}),
                **({"most_calls": self.most_calls} if self.most_calls else {}),
                **({} if self.is_shared else {"is_shared": False}),
                **({"failures": self.failures} if self.failures else {}),
            }
        )

    @staticmethod
    def from_json(text: str) -> "Signature":
        """
        Reads what `to_json` wrote.

        Raises ModelError for anything else.
        """

        try:
            data: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise damage(str(error)) from error
        return Signature.from_data(data)

    @staticmethod
    def from_data(data: object) -> "Signature":
        """
        Reads what is in the text that `to_json` wrote.

        Raises ModelError for anything else.
        """
        given = Fields(data)
        if (version := given.number("format")) not in (FORMAT_VERSION, FAILING_VERSION):
            raise ModelError(
                f"the model has format {version}, this version reads {FORMAT_VERSION} and {FAILING_VERSION}"
            )
        signature = Signature(
            given.identifier("name"),
            tuple(map(_tensor, given.listed("inputs"))),
            tuple(map(_tensor, given.listed("outputs"))),
            given.number("constant_bytes"),
            given.number("workspace_bytes"),
            given.text("target"),
            tuple(checked("a feature", each, str) for each in given.listed("features")),
            given.number("threads", 1, MAX_THREADS),
            tuple(map(_step, given.listed("steps"))),
            checked("'profiled'", given.data.get("profiled"), bool),
            checked("'loops'", given.data.get("loops"), bool),
            _lengths(given.data.get("lengths")),
            given.number("most_calls") if "most_calls" in given.data else 0,
            checked("'is_shared'", given.data.get("is_shared", True), bool),
            tuple(checked("a failure", each, str) for each in given.listed("failures"))
            if "failures" in given.data
            else (),
        )
        for what, specs in (("inputs", signature.inputs), ("outputs", signature.outputs)):
            if len({spec.name for spec in specs}) < len(specs):
                raise damage(f"two {what} have the same name")
        if signature.outputs and not signature.steps and not signature.failures:
            raise damage("it has outputs, and no steps that compute them")
        return signature


MAX_BYTES = 2**47
"""What a process can address."""

_T = TypeVar("_T")


def taken_inputs(inputs: Mapping[str, _T], known: Mapping[str, object]) -> dict[str, _T]:
    """The inputs without those whose elements became constants."""
    return {
        name: each for name, each in inputs.items() if not isinstance(known.get(name), InputValue)
    }


def damage(reason: str) -> ModelError:
    """The error for a description that is not one."""
    return ModelError(f"the model's description is damaged: {reason}")


def checked(what: str, value: object, type_: type[_T]) -> _T:
    """A value of exactly this type: `true` does not count as a number."""
    if type(value) is not type_:
        raise damage(f"{what} is {value!r:.100}, expected a JSON {_JSON_NAMES[type_]}")
    return cast(_T, value)


_JSON_NAMES: dict[type, str] = {
    str: "string",
    int: "number without a fraction",
    bool: "boolean",
    list: "array",
    dict: "object",
}


def whole_number(what: str, value: object, low: int = 0, high: int = MAX_BYTES) -> int:
    """A whole number of a description that is in some range. Raises ModelError for anything else."""
    number = checked(what, value, int)
    if not low <= number <= high:
        raise damage(f"{what} is {number}, expected {low} to {high}")
    return number


class Fields:
    """A JSON object whose fields are checked as they are read."""

    def __init__(self, data: object):
        self.data = cast(dict[str, object], checked("a description", data, dict))

    def text(self, name: str) -> str:
        """A text."""
        return checked(f"'{name}'", self.data.get(name), str)

    def identifier(self, name: str) -> str:
        """The beginning of names of symbols."""
        text = self.text(name)
        if not (text.isascii() and text.isidentifier()):
            raise damage(f"'{name}' is {text!r:.100}, which is no name for symbols")
        return text

    def number(self, name: str, low: int = 0, high: int = MAX_BYTES) -> int:
        """A whole number in some range."""
        return whole_number(f"'{name}'", self.data.get(name), low, high)

    def listed(self, name: str) -> list[object]:
        """An array."""
        return cast(list[object], checked(f"'{name}'", self.data.get(name), list))


def _lengths(data: object) -> OpenLengths | None:
    if data is None:
        return None
    try:
        return OpenLengths.from_data(cast(dict[str, Any], checked("'lengths'", data, dict)))
    except (TypeError, KeyError, ValueError) as error:
        raise damage(f"'lengths': {error}") from error


def _tensor(data: object) -> TensorSpec:
    given = Fields(data)
    name = given.text("name")
    shape = tuple(whole_number(f"the shape of '{name}'", each) for each in given.listed("shape"))
    spec = TensorSpec(name, shape, dtype_named(name, given.text("dtype")))
    whole_number(f"the size of '{name}'", spec.size)
    return spec


def dtype_named(name: str, dtype: str) -> np.dtype[Any]:
    """The dtype of a tensor in a description. Raises ModelError for one that there is none of."""
    if dtype not in DTYPES | _STORED:
        raise damage(f"the dtype of '{name}' is '{dtype:.100}'")
    return named_dtype(dtype)


DTYPES = frozenset(
    (
        *("bool", "bfloat16", "float16", "float32", "float64"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
)
"""The names of those that there are kernels for."""
_STORED = frozenset(
    (
        *("float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
        *("float8_e8m0fnu", "int2", "int4", "uint2", "uint4"),
    )
)
"""The names of those whose bits programs take and return as bytes."""


def stored(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a program takes for an array."""
    # The names of types are made anew each time they are asked for; NumPy's own need no other form.
    if array.dtype.isbuiltin == 1 or array.dtype.name not in _STORED:
        return array
    return array.view(np.uint8)


def restored(array: np.ndarray[Any, Any], dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """The array of a type for what a program returns."""
    if dtype is None or dtype.isbuiltin == 1 or dtype.name not in _STORED:
        return array
    return array.view(dtype)


def named_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of a name; bfloat16 and those of 8 bits or fewer are of ml_dtypes."""
    if name != "bfloat16" and name not in _STORED:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def _step(data: object) -> StepSpec:
    values = cast(list[object], checked("a step", data, list))
    if len(values) != len(fields(StepSpec)):
        raise damage(f"a step has {len(values)} entries, expected {len(fields(StepSpec))}")
    name, flops, size, implementation, nodes = values
    return StepSpec(
        checked("the name of a step", name, str),
        # These count operations, not addresses, so they may be larger.
        whole_number("the operations of a step", flops, high=2**63),
        whole_number("the bytes of a step", size, high=2**63),
        checked("the implementation of a step", implementation, str),
        tuple(
            checked("a node of a step", each, str)
            for each in cast(list[object], checked("the nodes of a step", nodes, list))
        ),
    )
