"""
What LLVM calls this machine's processor.

To ask LLVM takes time and memory, because it must be loaded, so that the answer is kept in the folder
of the cache, by what the system says of the processor.
"""

import hashlib
import json
import logging
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from xrelay.runtime.cache import HOST_PREFIX, is_private, object_cache
from xrelay.runtime.errors import ModelError
from xrelay.runtime.files import whole_file
from xrelay.runtime.machine import TILES, may_use_tiles
from xrelay.runtime.reading import open_regular

logger = logging.getLogger("xrelay.cache")


@dataclass(frozen=True)
class Host:
    """A processor, in LLVM's words."""

    triple: str
    cpu: str
    features: dict[str, bool]
    """The features that LLVM knows, and whether the processor has them, by name."""


@cache
def host() -> Host:
    """This machine's processor."""
    path = _path()
    if path is None:
        return _ask()
    try:
        return _read(path)
    except FileNotFoundError:
        pass  # It is written now.
    except (OSError, ValueError, TypeError) as error:
        # A description that another version wrote has other fields.
        logger.info("%s is written anew, it cannot be read: %s", path, error)
    found = _ask()
    text = json.dumps(asdict(found))
    with suppress(OSError):  # A folder that cannot be written to keeps nothing.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path, private=True) as temporary:
            temporary.write_text(f"{_digest(text)}\n{text}")
    return found


def missing_features(features: tuple[str, ...]) -> tuple[str, ...]:
    """
    Those of some CPU features, in LLVM's names, that this processor lacks, or the system does not let this process
    use: it is asked for tile registers when these are among them.
    """
    if not features:
        return ()
    lacking = {each for each in features if not host().features.get(each)}
    if TILES in features and TILES not in lacking and not may_use_tiles():
        lacking.add(TILES)
    return tuple(each for each in features if each in lacking)


def _ask() -> Host:
    from llvmlite import binding

    features: dict[str, bool] = dict(sorted(binding.get_host_cpu_features().items()))
    return Host(binding.get_default_triple(), binding.get_host_cpu_name(), features)


def _read(path: Path) -> Host:
    with open_regular(path) as file:
        if not is_private(os.fstat(file.fileno())):
            raise ValueError("others may have written it")
        digest, _, text = file.read().decode().partition("\n")
    if digest != _digest(text):
        raise ValueError("its contents differ")
    return Host(**json.loads(text))


def _path() -> Path | None:
    """Where the answer is kept; None without a cache, and where the system does not say enough."""
    try:
        place = object_cache()
        text = Path("/proc/cpuinfo").read_text()
    except (ModelError, OSError):
        return None
    if place is None:
        return None
    kinds = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features")
    lines = {line for line in text.splitlines() if line.partition(":")[0].strip() in kinds}
    facts = repr((sorted(lines), os.uname().machine, version("llvmlite")))
    return place.folder / f"{HOST_PREFIX}{_digest(facts)[:32]}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
