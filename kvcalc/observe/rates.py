"""Gauges that state a fraction, which some engines write as a percentage."""

from kvcalc.observe.samples import Window


def fraction(window: Window, *names: str, percent: bool = False) -> float | None:
    """The largest value of a gauge as a fraction. Above 1 it can only be a percentage; below 0 it means unknown."""
    value = window.most(*names)
    if value is None or value < 0 or value > 100:
        return None
    if percent or value > 1:
        note = f"{names[0]} is {value:g}: read as a percentage"
        if note not in window.notes:
            window.notes.append(note)
        return value / 100
    return value
