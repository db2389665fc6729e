"""What is printed of an address."""

import pytest

from kvcalc.measure.addresses import masked


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("redis://:secret@host:6379/0", "redis://***@host:6379/0"),
        ("redis://user:se/c@ret://@host", "redis://***@host"),  # nothing is escaped
        ("user:secret@host", "***@host"),
        ("redis://host?db=1&password=secret&timeout=2", "redis://host?db=1&password=***&timeout=2"),
        ("http://host:8000/v1", "http://host:8000/v1"),
        ("file:///a@b", "file:///a@b"),
    ],
)
def test_a_password_is_never_shown(address: str, printed: str):
    assert masked(address) == printed
