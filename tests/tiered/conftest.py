"""Makes `tiered_store` importable from the tests of this room: a state machine can't be given fixtures."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from tiered_store import Store


@pytest.fixture
def store() -> Store:
    return Store()
