"""Numbers for ids."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvcalc.traces.interner import Interner

KEYS = st.lists(st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 50)), max_size=40), max_size=8)


def numbers(interner, ids):
    return interner.numbers(np.array(ids, np.uint64).view(np.int64)).tolist()


@given(batches=KEYS)
def test_numbers_count_ids_in_the_order_in_which_they_appear(batches):
    interner, known = Interner(), {}
    for ids in batches:
        assert numbers(interner, ids) == [known.setdefault(each, len(known)) for each in ids]
    assert interner.count == len(known)


def test_numbers_outlive_the_growth_of_the_table():
    interner = Interner()
    ids = [3 * number for number in range(20_000)]
    assert numbers(interner, ids) == list(range(20_000))
    assert numbers(interner, ids[::-1]) == list(range(19_999, -1, -1))


def test_a_fresh_namespace_goes_on_counting():
    interner = Interner()
    assert numbers(interner, [5, 6]) == [0, 1]
    interner.fresh()
    assert numbers(interner, [6, 5]) == [2, 3]


def test_ids_of_any_kind_share_one_count():
    interner = Interner()
    found = interner.mixed(["a", 7, -7, 2**70, "a", 7, "7"]).tolist()
    assert found[:2] == found[4:6]
    assert sorted(set(found)) == [0, 1, 2, 3, 4]
    assert numbers(interner, [7, 8]) == [found[1], 5]
