"""What a user can fix, as one exception."""


class UserError(ValueError):
    """One line: what was wrong, where, and what to do next.

    A ValueError, so that pydantic keeps the place in the file when a validator raises it.
    """


def shown(value: object) -> str:
    """How a message quotes what a user wrote: no longer than fits on a line, however large it is."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**60:
        return "a number of more than 60 digits"
    text = repr(value) if isinstance(value, str | int | float) else _bounded(value)
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-10:]}"


def printable(text: str) -> str:
    """A text as a terminal may show it: escape, control and direction characters are spelled out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _bounded(value: object) -> str:
    from reprlib import repr as bounded  # of nested YAML a few levels, a few members each

    return bounded(value)
