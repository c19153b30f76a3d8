"""The flags of the newest release, which most launch tests read and write commands for."""

from __future__ import annotations

import pytest

from configurator.catalog import NEWEST
from configurator.catalog.flag_table import flag_table


@pytest.fixture(scope="session")
def table():
    return flag_table(NEWEST)
