"""Of networks becomes what `networks.txt` says."""

import pytest
from code_records import networks
from code_records.reading import entries

KNOWN = entries(networks.FILE.read_text().splitlines())


def test_all_networks_are_on_record() -> None:
    assert list(KNOWN) == [name for name, *_ in networks.entries()], "run `make pages`"


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_networks_are_compiled_as_on_record(name: str) -> None:
    """Where the new lines are better, `make pages` writes them."""
    model, options = next((m, o) for found, m, o in networks.entries() if found == name)
    assert networks.entry(model, options) == KNOWN[name]
