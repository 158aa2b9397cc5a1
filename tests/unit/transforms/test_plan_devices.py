"""
Devices of values, against the programs of the original's own tests.

What the original infers types of, in order, is recorded: a program, what its PlanDevices makes of it, and what is expected
of that. The targets of devices come from its configuration, and are left out here.
"""

from collections import defaultdict

import pytest
from isomorphism import difference
from records import DATA, records
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.device import VirtualDeviceAttr
from xrelay.frontends.relay_text import read_relay_text
from xrelay.transforms.memory.plan_devices import PlanDevicesPass

TESTS = "test:test_pass_plan_devices::"
LOWERED, ALONE = "test_lowered", ("test_left_add_on_cpu_via_copy", "test_primitive")
"""One of lowered functions, which are no Relay; and those that are recorded without a result of their own."""
GPU = 2
"""The default device of the original's tests, as DLPack numbers it."""


def programs() -> dict[str, list[str]]:
    """The texts that the original's tests have, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for record in records(DATA / "InferType.tests.jsonl.xz"):
        if record.source.startswith(TESTS):
            found[record.source.removeprefix(TESTS)].append(record.before)
    return found


PROGRAMS = programs()
PLANNED = sorted(PROGRAMS.keys() - {LOWERED, *ALONE})


def without_target(attribute: Attribute) -> Attribute:
    """An attribute that says nothing of targets."""
    match attribute:
        case VirtualDeviceAttr():
            return VirtualDeviceAttr(
                attribute.device_type, attribute.device_id, attribute.memory_scope
            )
        case ArrayAttr():
            return ArrayAttr(map(without_target, attribute))
        case DictionaryAttr():
            return DictionaryAttr(
                {key: without_target(each) for key, each in attribute.data.items()}
            )
        case _:
            return attribute


def program(text: str) -> ModuleOp:
    """The module of a text, without targets."""
    module = read_relay_text(text)
    for op in walk(module):
        for held in (op.properties, op.attributes):
            held.update({name: without_target(each) for name, each in held.items()})
    return module


def planned(text: str) -> ModuleOp:
    module = program(text)
    PlanDevicesPass(default_device=GPU).apply(Context(), module)
    module.verify()
    return module


def is_planned(text: str) -> bool:
    """Whether a text has the devices of all functions."""
    functions = [op for op in program(text).ops if isinstance(op, func.FuncOp)]
    return all("virtual_device" in op.attributes for op in functions)


def test_there_are_programs():
    assert len(PLANNED) == 29
    assert all(is_planned(PROGRAMS[name][1]) for name in PLANNED)


@pytest.mark.parametrize("name", PLANNED)
def test_plans_are_those_of_the_original(name: str):
    first, *others = PROGRAMS[name]
    expected = program(others[0])
    assert difference(planned(first), expected) is None
    for number, text in enumerate(others):
        # Some tests have two programs.
        following = text if is_planned(text) else others[number + 1]
        assert difference(planned(text), program(following)) is None


def test_a_copy_is_planned_like_what_asks_for_one():
    copied, asked = (PROGRAMS[name][0] for name in (ALONE[0], "test_left_add_on_cpu"))
    assert difference(planned(copied), planned(asked)) is None


def test_primitive_functions_say_where_their_results_are():
    module = planned(PROGRAMS["test_primitive"][0])
    (main,) = module.ops
    assert main.attributes["virtual_device"] == VirtualDeviceAttr(GPU, 0, "global")
