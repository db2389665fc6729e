"""Units of time, found by the rate that they would give."""

import numpy as np
import pytest

from kvcalc.errors import UserError
from kvcalc.traces import clock
from kvcalc.traces.clock import Arrival


def test_seconds_that_would_be_milliseconds_are_read_as_seconds():
    """Mooncake's conversation trace has 12,031 requests in 3,537 s; its seconds as milliseconds give 3,400 a second."""
    unit, (note,) = clock.unit(np.linspace(0, 3537, 12_031), "ms", None)
    assert unit == "s"
    assert note == (
        "read as milliseconds its times give 3.4e+03 requests/s, so they were read as seconds; --time-unit ms overrides"
    )


def test_nanoseconds_since_1970_are_found():
    times = 1_753_780_607_550_317_897 + np.linspace(0, 3537e9, 12_031)
    assert clock.unit(times, "ms", None)[0] in ("us", "ns")


def test_a_likely_rate_is_left_alone():
    assert clock.unit(np.linspace(0, 3_537_000, 12_031), "ms", None) == ("ms", ())
    assert clock.unit(np.linspace(0, 604_603, 7_106), "s", None) == ("s", ())


def test_what_is_asked_for_is_done_and_the_doubt_is_said():
    unit, (note,) = clock.unit(np.linspace(0, 3537, 12_031), "ms", "ms")
    assert unit == "ms"
    assert "--time-unit s would give 3.4" in note


@pytest.mark.parametrize(("usual", "gap", "other"), [("s", 500, "ms"), ("ms", 300_000, "us")])
def test_a_rate_that_services_seldom_have_is_doubted_and_kept(usual, gap, other):
    """Bailian's 2 requests/s in milliseconds, read as seconds; Mooncake's 3.3 in microseconds, read as milliseconds."""
    unit, (note,) = clock.unit(np.arange(200.0) * gap, usual, None)
    assert unit == usual
    assert f"--time-unit {other} would give" in note


def test_one_time_that_stands_apart_changes_no_unit_and_is_named():
    times = np.append(np.arange(500.0) * 330, 1e12)
    unit, (note,) = clock.unit(times, "ms", None)
    assert unit == "ms"
    assert note.startswith("nothing arrives for 1e+09 s")


def test_requests_at_the_same_time_count_for_the_rate():
    """Mooncake has ten at once, every 3 s."""
    assert clock.unit(np.repeat(np.arange(100.0) * 3000, 10), "ms", None) == ("ms", ())


def test_turns_that_are_days_apart_are_doubted():
    session = np.zeros(3, np.int32)
    assert clock.idle(np.array([0.0, 1_500.0, 3_075.0]), session, "s") == ()
    (note,) = clock.idle(np.array([0.0, 1_500_000.0, 3_075_000.0]), session, "s")
    assert "--time-unit ms" in note


def test_few_requests_have_no_rate():
    assert clock.unit(np.array([0.0, 1e-6]), "ms", None) == ("ms", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recorded", Arrival()),
        ("stagger=60s", Arrival("stagger", every_s=60)),
        ("stagger=500 ms", Arrival("stagger", every_s=0.5)),
        ("concurrency=8", Arrival("concurrency", sessions=8)),
    ],
)
def test_arrival_is_read_from_text(text, expected):
    assert clock.arrival(text) == expected


@pytest.mark.parametrize("text", ["", "stagger", "concurrency=0", "concurrency=-1", "poisson=3", "stagger=5"])
def test_other_arrivals_are_refused(text):
    with pytest.raises(UserError):
        clock.arrival(text)
