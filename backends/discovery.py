"""
Backends by name. A package offers one with an entry point of the group `xrelay.backends`:

    [project.entry-points."xrelay.backends"]
    rectifier = "rectifier.backend:Rectifier"
"""

from importlib.metadata import EntryPoint, entry_points
from inspect import isclass

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.backends.base import Backend, BackendError
from xrelay.backends.checked import CheckedBackend

GROUP = "xrelay.backends"


def backend_entries() -> dict[str, EntryPoint]:
    """
    The entry points of all installed backends, by name, in alphabetical order.

    Raises BackendError when two packages offer different ones of the same name.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise BackendError(
                f"two packages offer backend '{entry.name}': {other.value} and {entry.value}"
            )
    return found


def find_backend(text: str) -> Backend:
    """
    The backend `name` or `name:argument`.

    Raises BackendError when there is none of that name, or when it cannot be used here.
    """
    name, _, argument = text.partition(":")
    entries = backend_entries()
    entry = entries.get(name)
    if entry is None:
        known = ", ".join(entries) or "none"
        suggestion = did_you_mean(name, entries)
        raise BackendError(f"there is no backend '{name}', installed are {known}{suggestion}")
    try:
        found: object = entry.load()
    except Exception as error:
        raise BackendError(
            f"backend '{name}' cannot be loaded from {entry.value}: {error}"
        ) from error
    if not isclass(found) or not issubclass(found, Backend):
        raise BackendError(f"backend '{name}': {entry.value} is no subclass of xrelay's Backend")
    try:
        backend = found(argument)
    except BackendError:
        raise
    except Exception as error:
        raise BackendError(f"backend '{name}' cannot be used: {error}") from error
    if getattr(found, "name", None) != name:
        raise BackendError(f"backend '{name}' calls itself '{getattr(found, 'name', None)}'")
    return CheckedBackend(backend)
