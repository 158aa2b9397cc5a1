"""
Tuning records: how long implementations of operators took on a machine.

    {"schema": 1,
     "machine": {"cpu": "cascadelake", "cores": 2, "system": "Linux x86_64"},
     "records": {"relay.nn.conv2d(…) -> (…) {…} on x86-64-v4, 2 threads": {"blocked": 1.2e-04}}}

A record is the shortest time that was measured for its operator and implementation, in seconds, in
the kernel into which the operator was fused. Keys are those of `Site.key`; they name the target, so
that records of one processor do not decide for another. The machine is written for the reader, and
so that times of two machines do not get into one file.

Source: the tuning logs of TVM's AutoTVM, where records override priority levels as well.
"""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from xdsl.utils.exceptions import DiagnosticException

from xrelay.runtime.reading import read_source

SCHEMA = 1

MOST_SECONDS = 1e9
"""No operator takes so long."""

MachineLabel = dict[str, str | int]
Measured = Mapping[str, Mapping[str, float]]


class TuningError(DiagnosticException):
    """A file of tuning records cannot be used."""


@dataclass(frozen=True)
class TuningRecords:
    """Seconds by key of the site and name of the implementation."""

    measured: Measured = field(default_factory=dict[str, Mapping[str, float]])

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """Equal for equal records."""
        return sha256(json.dumps(self.measured, sort_keys=True).encode()).hexdigest()

    def with_record(self, key: str, implementation: str, seconds: float) -> "TuningRecords":
        """The records and one more. A shorter time that is there already stays."""
        known = self.measured.get(key, {})
        best = min(seconds, known.get(implementation, seconds))
        return TuningRecords({**self.measured, key: {**known, implementation: best}})


NO_RECORDS = TuningRecords()


def read_records(path: Path, cpu: str | None = None) -> TuningRecords:
    """
    The records in a file; with the name of this machine's processor, only of this machine.

    Raises TuningError for a file that cannot be read, or holds something else.
    """
    try:
        data: Any = json.loads(read_source(path))
    except OSError as error:
        raise TuningError(f"cannot read '{path}': {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise TuningError(f"'{path}' holds no tuning records: {error}") from error
    if not isinstance(data, dict):
        raise TuningError(f"'{path}' holds no tuning records: expected a JSON object")
    content = cast(dict[str, Any], data)
    if content.get("schema") != SCHEMA:
        found = content.get("schema", "missing")
        raise TuningError(f"'{path}': 'schema' is {found}, this version reads {SCHEMA}")
    if cpu is not None and content.get("machine") != this_machine(cpu):
        raise TuningError(
            f"'{path}' was measured on another machine: {_described(content.get('machine'))}; "
            f"this is {_described(this_machine(cpu))}"
        )
    records = content.get("records")
    if not isinstance(records, dict):
        raise TuningError(f"'{path}': 'records' is no JSON object")
    measured: dict[str, dict[str, float]] = {}
    for key, times in cast(dict[str, Any], records).items():
        if not isinstance(times, dict):
            raise TuningError(f"'{path}': the record of '{key}' is no JSON object")
        measured[key] = {
            name: _seconds(path, key, name, seconds)
            for name, seconds in cast(dict[str, Any], times).items()
        }
    return TuningRecords(measured)


def _seconds(path: Path, key: str, name: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < MOST_SECONDS:
        raise TuningError(
            f"'{path}': the time of '{name}' for '{key}' is {json.dumps(value)}, "
            "expected a number of seconds above 0"
        )
    return float(value)


def _described(machine: object) -> str:
    """A machine in one phrase of what is known about it."""
    if not isinstance(machine, dict):
        return "not described"
    return ", ".join(f"{name} {value}" for name, value in cast(MachineLabel, machine).items())


def records_text(records: TuningRecords, cpu: str) -> str:
    """The content of a file of tuning records of this machine, whose processor is `cpu`."""
    content = {"schema": SCHEMA, "machine": this_machine(cpu), "records": records.measured}
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def this_machine(cpu: str) -> MachineLabel:
    """What records of this machine are labelled with."""
    system = f"{platform.system()} {platform.machine()}"
    return {"cpu": cpu, "cores": os.cpu_count() or 1, "system": system}
