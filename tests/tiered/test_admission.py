"""Which blocks are worth a place below."""

from kvcalc.tiered.admission import Always, OnSecondUse


def test_always_admits_what_it_has_never_seen():
    assert Always().admits("a")


def test_the_second_use_admits():
    admission = OnSecondUse(10)
    admission.use("a")
    assert not admission.admits("a")
    admission.use("a")
    assert admission.admits("a")


def test_a_use_longer_ago_than_is_remembered_does_not_count():
    admission = OnSecondUse(2)
    for key in "abca":
        admission.use(key)
    assert not admission.admits("a")
