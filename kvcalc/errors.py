"""What a user can fix, as one exception."""


class UserError(ValueError):
    """One line: what was wrong, where, and what to do next.

    A ValueError, so that pydantic keeps the place in the file when a validator raises it.
    """
