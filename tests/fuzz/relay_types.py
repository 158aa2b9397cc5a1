"""The types of the grammar of Relay text, which print as they stand in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Tensor:
    """A tensor; of rank 0, a scalar."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"Tensor[({shape}), {self.dtype}]" if self.shape else self.dtype


@dataclass(frozen=True)
class Tuple:
    """A tuple of one field or more."""

    fields: tuple["Type", ...]

    def __str__(self) -> str:
        return fields_text(self.fields)


@dataclass(frozen=True)
class Function:
    """A function value."""

    params: tuple["Type", ...]
    result: "Type"

    def __str__(self) -> str:
        return f"fn ({', '.join(map(str, self.params))}) -> {self.result}"


@dataclass(frozen=True)
class ListOf:
    """A list."""

    element: "Type"

    def __str__(self) -> str:
        return f"List[{self.element}]"


Type: TypeAlias = Tensor | Tuple | Function | ListOf


def fields_text(fields: Sequence[object]) -> str:
    """A tuple, or the type of one: that of one field has a comma."""
    return f"({', '.join(map(str, fields))}{',' if len(fields) == 1 else ''})"


def resized(type_: Tensor, axis: int, extent: int) -> Tensor:
    """A type of tensors that are longer or shorter along an axis."""
    shape = list(type_.shape)
    shape[axis] = extent
    return Tensor(tuple(shape), type_.dtype)
