"""
Compiled models on disk, so that a model is compiled once.

An entry is one file, named by the digest of everything that it depends on:

    magic, length and digest of the header │ header │ object code │ LLVM IR │ 0… │ weights
                                             JSON                             └─ page boundary

It is written beside its place and renamed, so that readers see all of it or nothing, and writers of
the same entry do not disturb one another. What is read is checked: header, code and IR by SHA-256,
the weights, of which there are many bytes, by the SHA-256 of the sums of their pages, which finds
damage (not forgery) at the speed of memory. An entry that fails is removed. Weights are mapped, not
read: they cost no time before they are used, and processes share them.

Entries are machine code, and run with the rights of the user: the folder must not be writable for
others. The oldest entries go when the folder becomes larger than its limit.
"""

import hashlib
import json
import logging
import mmap
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xrelay.runtime.arguments import byte_count
from xrelay.runtime.code import ModelCode
from xrelay.runtime.errors import ModelError
from xrelay.runtime.files import whole_file
from xrelay.runtime.machine import Machine
from xrelay.runtime.reading import open_regular, size_of
from xrelay.runtime.signature import Signature

logger = logging.getLogger("xrelay.cache")

FOLDER_VARIABLE = "XRELAY_CACHE_DIR"
SIZE_VARIABLE = "XRELAY_CACHE_SIZE"
DEFAULT_LIMIT = 4 * 1024**3

_MAGIC = b"xrelay object cache, format 1\n\0\0"
_PREFIX = len(_MAGIC) + 8 + 32
_SUFFIX = ".xrelay"
HOST_PREFIX = "host-"
"""What the names of descriptions of processors begin with."""
_ABANDONED_SECONDS = 3600
"""Age at which an unfinished file belongs to a writer that has died."""

Bytes = bytes | memoryview


class _Damaged(Exception):
    """An entry is not what was written."""


@dataclass(frozen=True)
class CacheEntry:
    """A file in the cache."""

    path: Path
    size: int
    used: float
    """When it was written or read last, in seconds since 1970."""


@dataclass(frozen=True)
class ObjectCache:
    """Compiled models in a folder that takes at most `limit` bytes."""

    folder: Path
    limit: int

    def load(self, key: str, digest_of: Callable[[str], str | None]) -> ModelCode | None:
        """
        The compiled model of a key, unless there is none, it is damaged, or one of the files that
        it depends on has changed, whose digests `digest_of` finds by name.
        """
        path = self._path(key)
        try:
            code, dependencies = _read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.info("cannot read %s: %s", path, error.strerror)
            return None
        except (_Damaged, ModelError) as damage:
            logger.info("%s is damaged, it is removed: %s", path, damage)
            with suppress(OSError):
                path.unlink()
            return None
        for location, digest in dependencies.items():
            if digest_of(location) != digest:
                logger.info("%s has changed, %s is out of date", location, path)
                return None
        with suppress(OSError):  # A cache that may only be read has no order of use.
            os.utime(path)
        logger.info("loaded from %s", path)
        return code

    def store(self, key: str, code: ModelCode, dependencies: Mapping[str, str | None]) -> None:
        """
        Keeps a compiled model, and the digests of files beside the model's. That it cannot be
        written is no error: it is compiled again.
        """
        path = self._path(key)
        parts = _parts(code, dependencies)
        size = sum(len(part) for part in parts)
        if size > self.limit:
            logger.info("%d bytes are more than the cache may take, %d", size, self.limit)
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (
                whole_file(path, private=True) as temporary,
                temporary.open("wb") as file,
            ):
                for part in parts:
                    file.write(part)
            self._make_room()
        except OSError as error:
            logger.info("cannot write %s: %s", path, error.strerror)
            return
        logger.info("stored as %s", path)

    def entries(self) -> list[CacheEntry]:
        """What is in the cache, by last use."""
        return sorted(self._files(f"*{_SUFFIX}"), key=lambda entry: (entry.used, entry.path))

    def describe(self, entry: CacheEntry) -> Signature | None:
        """What an entry says that it is; None when it is damaged."""
        try:
            with open_regular(entry.path) as file:
                prefix = file.read(_PREFIX)
                text = file.read(min(_header_length(prefix), size_of(file)))
            return Signature.from_json(_header(prefix, text)["signature"])
        except (OSError, ModelError, _Damaged) as error:
            logger.info("cannot read %s: %s", entry.path, error)
            return None

    def clear(self) -> int:
        """Removes all entries. Returns how many bytes that frees."""
        freed = 0
        others = (*self._files(f".*{_SUFFIX}.*"), *self._files(f"{HOST_PREFIX}*.json"))
        for entry in (*self.entries(), *others):
            with suppress(FileNotFoundError):  # Another process may remove it at the same time.
                entry.path.unlink()
                freed += entry.size
        return freed

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _files(self, pattern: str) -> Iterator[CacheEntry]:
        """Everything of such a name but folders, which are not the cache's; links as they are."""
        for path in self.folder.glob(pattern):
            with suppress(FileNotFoundError):
                status = path.lstat()
                if not stat.S_ISDIR(status.st_mode):
                    yield CacheEntry(path, status.st_size, status.st_mtime)

    def _make_room(self) -> None:
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                break
            entry.path.unlink(missing_ok=True)
            total -= entry.size
        for entry in self._files(f".*{_SUFFIX}.*"):
            if entry.used < time.time() - _ABANDONED_SECONDS:
                entry.path.unlink(missing_ok=True)


def object_cache() -> ObjectCache | None:
    """
    The cache that the environment asks for; None when `cache_or_reason` says why there is none.

    Raises ModelError as that does.
    """
    cache = cache_or_reason()
    if isinstance(cache, str):
        logger.info("%s", cache)
        return None
    return cache


def cache_or_reason() -> ObjectCache | str:
    """
    The cache that the environment asks for: in the folder `XRELAY_CACHE_DIR`, by default that of
    the system for caches, with at most `XRELAY_CACHE_SIZE` bytes ("500M", "4G"). A text says why there is
    none: for 0, and where others may write.

    Raises ModelError for text that is not a size, and for the home of a user who does not exist.
    """
    limit = _limit(os.environ.get(SIZE_VARIABLE, ""))
    if limit == 0:
        return f"{SIZE_VARIABLE} is 0: there is no cache"
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        from platformdirs import user_cache_dir

        folder = user_cache_dir("xrelay", appauthor=False)
    try:
        path = Path(folder).expanduser()
    except RuntimeError:
        raise ModelError(
            f"{FOLDER_VARIABLE} is '{folder}', which begins with a home that is not known"
        ) from None
    if not _is_private_folder(path):
        return f"others may write to '{path}': there is no cache"
    return ObjectCache(path, limit)


def _is_private_folder(folder: Path) -> bool:
    """Whether nobody else can put code into a folder that is run from it."""
    try:
        status = folder.stat()
    except OSError:
        return True  # It will be made, or writing to it fails.
    return is_private(status)


def is_private(status: os.stat_result) -> bool:
    """Whether a file or folder can be changed by nobody else."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _limit(text: str) -> int:
    if not text:
        return DEFAULT_LIMIT
    limit = byte_count(text)
    if limit is None:
        raise ModelError(
            f"{SIZE_VARIABLE} is '{text}', expected a number of bytes such as 500M or 4G"
        )
    return limit


# -- the file of an entry -------------------------------------------------------------------------


def _page_digest(data: Bytes) -> str:
    """The digest of the sums of the pages of data, read as 64-bit numbers."""
    whole = len(data) // mmap.PAGESIZE * mmap.PAGESIZE
    words: npt.NDArray[np.uint64] = np.frombuffer(data[:whole], np.uint64)
    sums = words.reshape(-1, mmap.PAGESIZE // 8).sum(axis=1, dtype=np.uint64)
    digest = hashlib.sha256(sums.tobytes())
    digest.update(data[whole:])
    return digest.hexdigest()


def _parts(code: ModelCode, dependencies: Mapping[str, str | None]) -> list[Bytes]:
    """The contents of an entry."""
    constants: Bytes = code.constants.data
    header = {
        "signature": code.signature.to_json(),
        "machine": asdict(code.machine),
        "dependencies": dict(dependencies),
        "sizes": [len(code.object), len(code.ir), len(constants)],
        "digests": [_digest(code.object), _digest(code.ir), _page_digest(constants)],
    }
    text = json.dumps(header).encode()
    before: list[Bytes] = [
        *(_MAGIC, len(text).to_bytes(8, "little"), hashlib.sha256(text).digest()),
        *(text, code.object, code.ir),
    ]
    padding = bytes(-sum(map(len, before)) % mmap.PAGESIZE)
    return [*before, padding, constants]


def _digest(data: Bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _header_length(prefix: bytes) -> int:
    return int.from_bytes(prefix[len(_MAGIC) : len(_MAGIC) + 8], "little")


def _header(prefix: bytes, text: bytes) -> dict[str, Any]:
    """The header in `text`, whose digest is in `prefix`."""
    if prefix != _MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest():
        raise _Damaged("its header differs")
    return json.loads(text)


def _read(path: Path) -> tuple[ModelCode, dict[str, str | None]]:
    """A compiled model, and the digests of the files that it depends on."""
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        if not status.st_size:
            raise _Damaged("it is empty")
        if not is_private(status):
            raise _Damaged("others may have written it")
        # Populated at once: page faults one by one cost more than the check.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        content = memoryview(mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ))
    prefix = bytes(content[:_PREFIX])
    length = _header_length(prefix)
    header = _header(prefix, bytes(content[_PREFIX : _PREFIX + length]))
    code_size, ir_size, constants_size = header["sizes"]
    ir_start = _PREFIX + length + code_size
    constants_start = -(-(ir_start + ir_size) // mmap.PAGESIZE) * mmap.PAGESIZE
    machine_code = bytes(content[_PREFIX + length : ir_start])
    ir = content[ir_start : ir_start + ir_size]
    constants = content[constants_start:]
    digests = [_digest(machine_code), _digest(ir), _page_digest(constants)]
    if len(constants) != constants_size or digests != header["digests"]:
        raise _Damaged("its contents differ")
    code = ModelCode(
        Signature.from_json(header["signature"]),
        ir,
        Machine(**header["machine"]),
        np.frombuffer(constants, np.uint8),
        machine_code,
    )
    return code, header["dependencies"]
