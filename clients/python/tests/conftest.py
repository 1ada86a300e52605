"""One service for all tests. `PYTHON_HALFSPACE_PROGRAM` names the program."""

from collections.abc import Iterator

import halfspace
import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[halfspace.Client]:
    with halfspace.local() as client:
        yield client
