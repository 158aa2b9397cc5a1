"""
How far the passes agree with the records of TVM's, as `xrelay passes` says it.

    python tests/conformance/parity.py

writes tools/parity.toml anew. Nothing is run: known.txt and exceptions.toml list the records that do not agree, and
test_records.py checks that no others do.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from recorded_passes import PASSES, exceptions, known_differences
from records import Record, all_records

FILE = Path(__file__).parents[2] / "tools" / "parity.toml"
HEADER = "# How far passes agree with records of TVM's, as `make pages` counts it.\n"


def parity(records: Iterable[Record]) -> str:
    """The content of the file."""
    by_name: dict[str, list[Record]] = {}
    for record in records:
        if record.name in PASSES:
            by_name.setdefault(record.name, []).append(record)
    excused = exceptions().keys()
    differing = known_differences() | excused
    lines: list[str] = []
    for name, found in sorted(by_name.items()):
        agreeing = [record for record in found if record.place not in differing]
        passes = [step.name for step in PASSES[name](found[0].options)]
        counts = {
            "records": [len(agreeing), len(found)],
            "changed": [len(_changed(agreeing)), len(_changed(found))],
            "exceptions": sum(record.place in excused for record in found),
        }
        texts = (f"{key} = {value}" for key, value in counts.items())
        names = ", ".join(f'"{each}"' for each in passes)
        lines.append(f"{name} = {{ passes = [{names}], {', '.join(texts)} }}\n")
    return HEADER + "".join(lines)


def _changed(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.before != record.after]


if __name__ == "__main__":
    FILE.write_text(parity(all_records()))
