"""What ends, forks or shares the processes of xrelay at any moment."""

import json
import multiprocessing
import os
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NoReturn, Self
from unittest.mock import patch

import numpy as np

import xrelay
from tests.fuzz.artefacts import (
    INPUT,
    Array,
    all_artefacts,
    from_library,
    from_program,
    run,
    small_model,
)
from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions
from xrelay.errors import CompileError
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret
from xrelay.tools import cli
from xrelay.tools.interruption import INTERRUPTED, until_interrupted
from xrelay.tools.module_file import write_module

OTHER = 1
"""The seed of the weights of another model."""


class ProcessesFuzzer(Fuzzer):
    """A scenario, and after how many seconds it is disturbed, as JSON."""

    name: ClassVar[str] = "processes"
    suffix: ClassVar[str] = ".json"
    seconds: ClassVar[float] = 60
    idle: ClassVar[float] = 60
    quick: ClassVar[int] = 4

    def prepare(self) -> None:
        self.files, self.wanted = all_artefacts()
        (self.other,) = interpret(import_model(small_model(OTHER)), [INPUT])

    def generate(self, random: Random) -> bytes:
        longest = 10 ** random.uniform(-3, 0)
        recipe = {
            "scenario": random.choice(sorted(SCENARIOS)),
            "seconds": round(random.uniform(0, longest), 5),
            "threads": random.choice((1, 2, 3)),
        }
        return json.dumps(recipe).encode()

    def check(self, payload: bytes, folder: Path) -> None:
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        temporary = folder / "temporary"
        temporary.mkdir()
        recipe = json.loads(payload)
        with patch.dict(os.environ, {"TMPDIR": str(temporary)}):
            tempfile.tempdir = None
            SCENARIOS[recipe["scenario"]](self, folder, recipe)

    def reductions(self, payload: bytes) -> Reductions:
        yield from ()
        return payload

    def same(self, result: Array, what: str) -> None:
        """Raises Difference unless a result is what the model gives."""
        if not is_near(result, self.wanted):
            raise Difference(f"{what}: another result")

    def one_of_both(self, result: Array, what: str) -> None:
        """Raises Difference unless a result is what the model or the other one gives."""
        if not is_near(result, self.other):
            self.same(result, what)


def is_near(result: Array, wanted: Array) -> bool:
    """Whether a result differs by no more than roundings."""
    return result.shape == wanted.shape and np.allclose(result, wanted, 1e-4, 1e-5)


Recipe = dict[str, Any]
Scenario = Callable[[ProcessesFuzzer, Path, Recipe], None]


def child(body: Callable[[], int], output: Path) -> int:
    """A process that does something, prints into a file, and exits with what that returns."""
    process = os.fork()
    if process:
        return process
    _in_child(body, output)


def _in_child(body: Callable[[], int], output: Path) -> NoReturn:
    handle = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    with _Exit() as end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        end.code = body()
    raise AssertionError("the block ends the process")


class _Exit:
    """A block that ends the process: with its code, or with a traceback."""

    code = 99

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> NoReturn:
        if error is not None:
            os.write(2, "".join(traceback.format_exception(error)).encode())
        os._exit(self.code)


def ended(process: int) -> int:
    """The exit code of a process; that of a signal is negative."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed(body: Callable[[], int], folder: Path, seconds: float) -> None:
    """Kills a process after some time."""
    process = child(body, folder / "output")
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    ended(process)


def killed_save(fuzzer: ProcessesFuzzer, folder: Path, recipe: Recipe) -> None:
    """A process dies while it writes two models in turns: each file is a whole one of either."""

    def body() -> int:
        for seed in cycle((OTHER, 0)):
            with patch.dict(os.environ, cache_in(folder)):
                model = xrelay.compile(small_model(seed))
                model.save(folder / "model.so")
                write_module(import_model(small_model(seed)), folder / "model.mlir")
                for entry in (folder / "cache").glob("*.xrelay"):
                    entry.unlink()
        return 0

    killed(body, folder, recipe["seconds"])
    fuzzer.one_of_both(from_library(folder), "model.so")
    try:
        fuzzer.one_of_both(from_program(folder), "model.mlir")
    except CompileError as error:
        # A program and its weights are two files, which change places one after the other.
        if "belongs to another program" not in str(error):
            raise
    with patch.dict(os.environ, cache_in(folder)):
        fuzzer.same(run(xrelay.compile(small_model())), "the cache")
        fuzzer.same(run(xrelay.compile(small_model())), "the cache, the second time")


def cache_in(folder: Path) -> dict[str, str]:
    """The environment of a cache of its own."""
    return {"XRELAY_CACHE_SIZE": "1G", "XRELAY_CACHE_DIR": str(folder / "cache")}


def killed_page(fuzzer: ProcessesFuzzer, folder: Path, recipe: Recipe) -> None:
    """The same for the page of `xrelay view`: it is there in whole, or not at all."""
    page = folder / "page.html"
    words = ["view", str(folder / "model.onnx"), "-o", str(page)]
    killed(lambda: cli.main(words), folder, recipe["seconds"])
    if page.exists() and not page.read_text().rstrip().endswith("</html>"):
        raise Difference("half of a page is there")


COMMANDS = (
    ["compile", "model.onnx", "-o", "new.so"],
    ["compile", "model.onnx", "-o", "new.mlir"],
    ["run", "model.onnx", "--no-cache"],
    ["run", "model.onnx", "--verify"],
    ["explain", "model.onnx", "--strategies"],
    ["view", "model.onnx", "-o", "new.html"],
    ["tune", "model.onnx", "-o", "new.json"],
)


def interrupted(fuzzer: ProcessesFuzzer, folder: Path, recipe: Recipe) -> None:
    """Ctrl-C during a command: its exit code, or 0 when it was done, and nothing is left."""
    number = int(recipe["seconds"] * 1e5)
    words = COMMANDS[number % len(COMMANDS)]
    before = {path.name for path in folder.iterdir()} | {"output", "cache"}
    os.chdir(folder)
    begun, begins = os.pipe()

    def main() -> int:
        os.write(begins, b".")
        return cli.main(words)

    with patch.dict(os.environ, cache_in(folder)):
        process = child(lambda: until_interrupted(main), folder / "output")
        os.close(begins)
        os.read(begun, 1)
        os.close(begun)
        time.sleep(recipe["seconds"])
        os.kill(process, signal.SIGINT)
        code = ended(process)
    printed = (folder / "output").read_text()
    command = f"xrelay {' '.join(words)}"
    if "Traceback" in printed:
        raise Difference(f"{command}: a traceback\n{printed}")
    if code not in (0, INTERRUPTED, -signal.SIGINT):
        raise Difference(f"{command}: exit code {code}\n{printed}")
    left = [*(folder / "temporary").iterdir()]
    left += [path for path in folder.rglob(".*") if path.name not in before]
    if left:
        raise Difference(f"{command}: leaves files\n{left}")


def threads(fuzzer: ProcessesFuzzer, folder: Path, recipe: Recipe) -> None:
    """Several threads use one model."""
    model = xrelay.compile(small_model(), threads=recipe["threads"], cache=False)
    results: list[Array] = []

    def body() -> None:
        for _ in range(20):
            results.append(run(model))

    users = [threading.Thread(target=body) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    if len(results) != 80:
        raise Difference("a thread ends early")
    for result in results:
        fuzzer.same(result, "threads")


def forked(fuzzer: ProcessesFuzzer, folder: Path, recipe: Recipe) -> None:
    """A process forks after it has run a model; both go on."""
    model = xrelay.compile(small_model(), threads=recipe["threads"], cache=False)
    loaded = xrelay.load(folder / "model.so")
    fuzzer.same(run(model), "before the fork")

    def body() -> int:
        fuzzer.same(run(model), "in the child")
        fuzzer.same(run(loaded), "the library in the child")
        return 0

    children = [child(body, folder / "output") for _ in range(2)]
    fuzzer.same(run(model), "in the parent")
    codes = [ended(each) for each in children]
    if any(codes):
        raise Difference(f"in the child:\n{(folder / 'output').read_text()}")


def load_and_run(path: Path) -> Array:
    """What a new process does."""
    return run(xrelay.load(path))


def spawned(fuzzer: ProcessesFuzzer, folder: Path, recipe: Recipe) -> None:
    """Processes of the pools of `multiprocessing`, all of them with the same library."""
    method = ("fork", "spawn")[int(recipe["seconds"] * 1e5) % 2]
    with multiprocessing.get_context(method).Pool(2) as pool:
        for result in pool.map(load_and_run, [folder / "model.so"] * 4):
            fuzzer.same(result, method)


def together(fuzzer: ProcessesFuzzer, folder: Path, recipe: Recipe) -> None:
    """Several processes compile the same model into one cache, and save it to one place."""

    def body() -> int:
        with patch.dict(os.environ, cache_in(folder)):
            model = xrelay.compile(small_model())
            model.save(folder / "model.so")
            fuzzer.same(run(model), "the compiled model")
            fuzzer.same(from_library(folder), "the library")
        return 0

    children = [child(body, folder / "output") for _ in range(3)]
    codes = [ended(each) for each in children]
    if any(codes):
        raise Difference(f"one of several processes\n{(folder / 'output').read_text()}")


SCENARIOS: dict[str, Scenario] = {
    each.__name__: each
    for each in (killed_save, killed_page, interrupted, threads, forked, spawned, together)
}
