"""What a compiled model takes, returns and needs: the data that travels with its machine code."""

import json
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np

from xrelay.runtime.errors import ModelError

FORMAT_VERSION = 1


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

    def to_json(self) -> str:
        """As text that `from_json` reads."""

        def specs(tensors: tuple[TensorSpec, ...]) -> list[dict[str, object]]:
            return [
                {"name": t.name, "shape": list(t.shape), "dtype": t.dtype.name} for t in tensors
            ]

        return json.dumps(
            {
                "format": FORMAT_VERSION,
                "name": self.name,
                "inputs": specs(self.inputs),
                "outputs": specs(self.outputs),
                "constant_bytes": self.constant_bytes,
                "workspace_bytes": self.workspace_bytes,
                "target": self.target,
                "features": self.features,
            }
        )

    @staticmethod
    def from_json(text: str) -> "Signature":
        """
        Reads what `to_json` wrote.

        Raises ModelError for anything else.
        """

        def specs(tensors: list[dict[str, Any]]) -> tuple[TensorSpec, ...]:
            return tuple(
                TensorSpec(t["name"], tuple(map(int, t["shape"])), np.dtype(t["dtype"]))
                for t in tensors
            )

        try:
            data = cast(dict[str, Any], json.loads(text))
            if data["format"] != FORMAT_VERSION:
                raise ModelError(
                    f"the model has format {data['format']}, this version reads {FORMAT_VERSION}"
                )
            return Signature(
                data["name"],
                specs(data["inputs"]),
                specs(data["outputs"]),
                int(data["constant_bytes"]),
                int(data["workspace_bytes"]),
                data["target"],
                tuple(data["features"]),
            )
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise ModelError(f"the model's description is damaged: {error}") from error
