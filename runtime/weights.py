"""The side file of a `.mlir` file: the bytes of its large constants, by digest."""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from zipfile import is_zipfile

import numpy as np

from xrelay.runtime.errors import ModelError
from xrelay.runtime.files import whole_file
from xrelay.runtime.reading import open_regular


def weights_path(path: Path) -> Path:
    """The side file of a program: `model.mlir.weights.npz` for `model.mlir`."""
    return path.with_name(f"{path.name}.weights.npz")


def write_weights(path: Path, weights: Mapping[str, bytes | memoryview]) -> None:
    """Writes the bytes of constants, each once, uncompressed (NumPy's npz format)."""
    arrays = {key: np.frombuffer(data, np.uint8) for key, data in weights.items()}
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_weights(path: Path) -> dict[str, memoryview]:
    """
    The bytes of constants by digest, which is checked.

    Raises ModelError for a damaged file.
    """
    try:
        with open_regular(path) as file:
            if not is_zipfile(file):
                raise ModelError(f"cannot read the weights in '{path}': it is no .npz file")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                weights = {key: archive[key] for key in archive.files}
    except ModelError:
        raise
    except OSError as error:
        raise ModelError(
            f"cannot read the weights in '{path}': {error.strerror or error}"
        ) from error
    except Exception as error:
        # A damaged archive makes NumPy and zipfile raise almost anything.
        raise ModelError(f"cannot read the weights in '{path}': {error}") from error
    for key, data in weights.items():
        if blake2b(data.data, digest_size=16).hexdigest() != key:
            raise ModelError(f"the weights in '{path}' are damaged: {key} has another digest")
    return {key: data.data for key, data in weights.items()}
