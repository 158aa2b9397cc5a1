"""
Code that is imported in place of what files hold, in this process and in those that it starts.

Nothing is written into the tree. Processes that are started find this file, copied beside a
`sitecustomize.py`, through PYTHONPATH, and do the same. It stands on nothing but the standard library.
"""

import builtins
import marshal
import mmap
import os
import shutil
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

TABLE = "__blocks_that_ran__"
"""What code calls the table in which it notes what runs."""
CODES, NOTES = "codes", "notes"
STARTED = f"""\
from {Path(__file__).stem} import serve_from

serve_from(__file__)
"""


def write(folder: Path, codes: Mapping[str, CodeType], blocks: int) -> None:
    """Writes what processes need that are to import `codes`, by path, whose blocks are so many."""
    folder.mkdir(parents=True)
    packed = {path: marshal.dumps(code) for path, code in codes.items()}
    (folder / CODES).write_bytes(marshal.dumps(packed))
    # One half for what runs now, one for what has run when files were imported.
    (folder / NOTES).write_bytes(bytes(2 * blocks + 2))
    shutil.copy(__file__, folder)
    (folder / "sitecustomize.py").write_text(STARTED)


def serve_from(site: str) -> None:
    """What a process that is started does."""
    folder = Path(site).parent
    packed = marshal.loads((folder / CODES).read_bytes())
    serve({path: marshal.loads(code) for path, code in packed.items()}, folder)


def serve(codes: Mapping[str, CodeType], folder: Path) -> mmap.mmap:
    """Lets imports of this process find `codes`, by path, and gives the table of blocks."""
    with (folder / NOTES).open("r+b") as file:
        table = mmap.mmap(file.fileno(), 0)
    half = len(table) // 2
    get_code, exec_module = SourceFileLoader.get_code, SourceFileLoader.exec_module

    def served(self: SourceFileLoader, fullname: str) -> CodeType | None:
        return codes.get(os.path.realpath(self.path)) or get_code(self, fullname)

    def executed(self: SourceFileLoader, module: ModuleType) -> None:
        if os.path.realpath(self.path) not in codes:
            exec_module(self, module)
            return
        before = table[:half]
        table[:half] = bytes(half)
        exec_module(self, module)
        ran = int.from_bytes(table[:half]) | int.from_bytes(table[half:])
        table[half:] = ran.to_bytes(half)
        table[:half] = before

    setattr(builtins, TABLE, table)
    SourceFileLoader.get_code = served
    SourceFileLoader.exec_module = executed
    return table
