"""Options that name operators."""

from collections.abc import Iterable

from xrelay.analysis.facts.suggestions import PassOptionError, did_you_mean
from xrelay.dialects.relay import Relay


def require_operators(option: str, names: Iterable[str]) -> None:
    """Raises PassOptionError for names in an option, without `relay.`, of which there is no operator."""
    known = {each.name.removeprefix("relay.") for each in Relay.operations}
    for name in names:
        if name not in known:
            raise PassOptionError(
                f"'{option}': there is no operator {name!r}{did_you_mean(name, known)}"
            )
