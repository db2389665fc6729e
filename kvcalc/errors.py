"""What a user can fix, as one exception."""


class UserError(ValueError):
    """One line: what was wrong, where, and what to do next.

    A ValueError, so that pydantic keeps the place in the file when a validator raises it.
    """


def shown(value: object) -> str:
    """How a message quotes what a user wrote: no longer than fits on a line."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-10:]}"
