"""Unknown devices that are unified, and what is taken back where they cannot be."""

import pytest

from xrelay.analysis.facts.device_domains import UNKNOWN, Device, Domain, Unification

ONE, OTHER = Device(1, 0), Device(2, 0)


def function(*devices: Device) -> Domain:
    """The domain of a function: of its parameters, then of its result."""
    return Domain(parts=tuple(map(Domain, devices)))


def state(*domains: Domain) -> list[tuple[Device, int, bool]]:
    """The device, the size and whether it is a root, of domains and their parts."""
    every = [part for domain in domains for part in (domain, *domain.parts)]
    return [(each.device, each.size, each.parent is None) for each in every]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((UNKNOWN, ONE), (ONE, OTHER)),
        ((ONE, UNKNOWN), (OTHER, ONE)),
        ((UNKNOWN, UNKNOWN), (ONE,)),
        ((ONE, ONE, ONE), (ONE, OTHER, ONE)),
    ],
)
def test_what_contradicts_stays_as_it_was(
    left: tuple[Device, ...], right: tuple[Device, ...]
) -> None:
    """All that was joined on the way is apart again, and equations from before hold."""
    equations, before = Unification(), (Domain(), Domain(ONE))
    assert equations.unify(*before)
    one, other = function(*left), function(*right)
    found = state(one, other)
    assert not equations.unify(one, other)
    assert state(one, other) == found
    assert before[0].root() is before[1].root()
    assert len(equations.changes) == 1


def test_what_agrees_has_one_root() -> None:
    """The smaller part hangs below the larger one, and says what it knew."""
    equations = Unification()
    one, two, three = Domain(), Domain(), Domain(ONE)
    assert equations.unify(one, two)
    assert equations.unify(three, one)
    root = one.root()
    assert {each.root() for each in (one, two, three)} == {root}
    assert root is not three
    assert (root.size, root.device) == (3, ONE)
    assert not equations.unify(Domain(OTHER), two)
    assert (root.size, root.device) == (3, ONE)
    assert equations.unify(one, two)
    assert root.size == 3


def test_functions_are_joined_part_by_part() -> None:
    equations, one, other = Unification(), function(UNKNOWN, ONE), function(OTHER, UNKNOWN)
    assert equations.unify(one, other)
    assert [part.root().device for part in one.parts] == [OTHER, ONE]
    assert [part.root().device for part in other.parts] == [OTHER, ONE]
    assert one.result().device == ONE
    assert [leaf.device for leaf in other.leaves()] == [OTHER, ONE]
    assert not equations.collapse(one, other)
    assert equations.collapse(function(UNKNOWN, ONE), function(ONE, UNKNOWN))
