"""A model whose file has been read."""

from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto


@dataclass(frozen=True)
class LoadedModel:
    """What a file held when it was read, for those who need it once more."""

    model: ModelProto
    path: Path
