"""One service for all tests. `PYTHON_HALFSPACE_PROGRAM` names the program."""

import os
from collections.abc import Generator, Iterator

import halfspace
import pytest

# With HALFSPACE_TESTS_COMPLETE=1 a skipped test is a failure. The program under test refuses variables that it does not know.
IS_COMPLETE = os.environ.pop("HALFSPACE_TESTS_COMPLETE", "0") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and IS_COMPLETE:
        report.outcome = "failed"
        report.longrepr = f"HALFSPACE_TESTS_COMPLETE=1, but this test was skipped: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def client() -> Iterator[halfspace.Client]:
    with halfspace.local() as client:
        yield client
