"""What a compiled model takes, returns and needs: the data that travels with its machine code."""

import json
from dataclasses import astuple, dataclass
from math import prod
from typing import Any, cast

import numpy as np

from xrelay.runtime.errors import ModelError

FORMAT_VERSION = 3


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

    @property
    def has_team(self) -> bool:
        """Whether the code has functions that make and use teams of threads."""
        return self.threads > 1 or self.profiled

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
                "threads": self.threads,
                "steps": [astuple(step) for step in self.steps],
                "profiled": self.profiled,
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
                int(data["threads"]),
                tuple(
                    StepSpec(str(name), int(flops), int(size), str(how), tuple(map(str, nodes)))
                    for name, flops, size, how, nodes in data["steps"]
                ),
                bool(data["profiled"]),
            )
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise ModelError(f"the model's description is damaged: {error}") from error
