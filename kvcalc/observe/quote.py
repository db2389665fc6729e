"""Text of a log or of metrics, safe to show."""


def printable(text: str) -> str:
    """Text whose control characters and marks of writing direction show as escapes: a terminal would obey them."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
