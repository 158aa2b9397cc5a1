"""
On which devices values may be: unknowns that are unified.

    D ::= a device, as far as it is decided    of tensors, tuples, references and data types
        | (D, …) -> D                          of functions

Source: Relay's DeviceDomains.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute

from xrelay.dialects.core.device import UNDECIDED, VirtualDeviceAttr
from xrelay.dialects.core.functional import FnType, ForallType


class Device(NamedTuple):
    """A device, as far as it is decided (see `VirtualDeviceAttr`)."""

    device_type: int = UNDECIDED
    device_id: int = UNDECIDED
    memory_scope: str = ""
    target: Attribute = UnitAttr()

    @classmethod
    def of(cls, attribute: VirtualDeviceAttr) -> "Device":
        """The device that an attribute states."""
        return cls(
            attribute.device_type.value.data,
            attribute.device_id.value.data,
            attribute.memory_scope.data,
            attribute.target,
        )

    def attribute(self) -> VirtualDeviceAttr:
        """The attribute that states the device."""
        return VirtualDeviceAttr(
            self.device_type, self.device_id, StringAttr(self.memory_scope), self.target
        )

    @property
    def is_decided(self) -> bool:
        """Whether it is known which device it is."""
        return self.device_type != UNDECIDED and self.device_id != UNDECIDED

    def joined(self, other: "Device") -> "Device | None":
        """What both say together, None where they contradict each other."""
        whole = self._filled(other)
        agrees = all(
            part in (open_, all_) for part, open_, all_ in zip(other, UNKNOWN, whole, strict=True)
        )
        return whole if agrees else None

    def or_else(self, default: "Device") -> "Device":
        """What is undecided, from a default device if it is of the same type."""
        is_same = self.device_type in (UNDECIDED, default.device_type)
        return self._filled(default) if is_same else self

    def _filled(self, other: "Device") -> "Device":
        return Device(
            other.device_type if self.device_type == UNDECIDED else self.device_type,
            other.device_id if self.device_id == UNDECIDED else self.device_id,
            self.memory_scope or other.memory_scope,
            other.target if isinstance(self.target, UnitAttr) else self.target,
        )

    def __str__(self) -> str:
        scope = f" in {self.memory_scope}" if self.memory_scope else ""
        return f"device {self.device_type}:{self.device_id}{scope}"


UNKNOWN = Device()
"""Nothing is decided."""


@dataclass(eq=False)
class Domain:
    """An unknown; equal ones share a root."""

    device: Device = UNKNOWN
    parts: tuple["Domain", ...] = ()
    """Of a function: the domains of its parameters, then that of its result."""
    parent: "Domain | None" = None
    size: int = 1

    def root(self) -> "Domain":
        """What stands for all that are equal to it."""
        found: Domain = self
        while found.parent is not None:
            found = found.parent
        return found

    def leaves(self) -> Iterator["Domain"]:
        """The domains of values that are no functions in it, its own or those of its parts."""
        pending: list[Domain] = [self]
        while pending:
            domain = pending.pop().root()
            if domain.parts:
                pending.extend(reversed(domain.parts))
            else:
                yield domain

    def result(self) -> "Domain":
        """The domain of what is left when a function, and what it returns, is called."""
        domain = self.root()
        while domain.parts:
            domain = domain.parts[-1].root()
        return domain


def domain_of(type_: Attribute, device: Device = UNKNOWN) -> Domain:
    """A new domain for values of a type; a device is that of the result of functions."""
    if isinstance(type_, ForallType):
        type_ = type_.body
    if isinstance(type_, FnType):
        params = tuple(domain_of(each) for each in type_.inputs)
        return Domain(parts=(*params, domain_of(type_.output, device)))
    return Domain(device)


@dataclass
class Unification:
    """Equations between domains, some of which may be taken back."""

    changes: list[tuple[Domain, Domain, Device]] = field(
        default_factory=list[tuple[Domain, Domain, Device]]
    )
    """What was joined to which root, and the device of that before."""

    def unify(self, one: Domain, other: Domain) -> bool:
        """Whether two domains can be equal; they are from now on if so, else nothing is changed."""
        before = len(self.changes)
        pending = [(one, other)]
        while pending:
            left, right = (each.root() for each in pending.pop())
            if left is right:
                continue
            joined = left.device.joined(right.device)
            if joined is None or len(left.parts) != len(right.parts):
                self._undo(before)
                return False
            if left.size > right.size:
                left, right = right, left
            self.changes.append((left, right, right.device))
            left.parent, right.device = right, joined
            right.size += left.size
            pending.extend(zip(left.parts, right.parts, strict=True))
        return True

    def collapse(self, one: Domain, other: Domain) -> bool:
        """Whether all that two domains consist of can be on one device, as it is from now on if so."""
        first, *rest = (*one.leaves(), *other.leaves())
        return all(self.unify(first, each) for each in rest)

    def _undo(self, count: int) -> None:
        while len(self.changes) > count:
            left, right, device = self.changes.pop()
            left.parent, right.device = None, device
            right.size -= left.size


def set_default(domain: Domain, device: Device) -> None:
    """Decides what is open in a domain: for the result of a function first, then for the parameters."""
    result = domain.result()
    result.device = result.device.or_else(device)
    for leaf in domain.leaves():
        leaf.device = leaf.device.or_else(result.device)
