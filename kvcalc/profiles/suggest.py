"""Did you mean: the known name that looks most like one that is not known."""

from kvcalc.errors import shown

ALIKE = 0.68  # by difflib's ratio


def unknown(word: str, name: str, known: list[str], command: str) -> str:
    """What to say of a name that is not known, with the way out."""
    hint = closest(name, known)
    more = f"did you mean {hint!r}?" if hint else f"'kvcalc {command} list' lists them"
    return f"no {word} {shown(name)}; {more}"


def closest(word: str, known: list[str]) -> str | None:
    """The known word that begins like `word` or looks most like it, if any does."""
    from difflib import get_close_matches

    plain, wanted = {_plain(each): each for each in reversed(known)}, _plain(word)
    longer = sorted((each for each in plain if wanted and each.startswith(wanted)), key=len)
    found = longer[:1] or get_close_matches(wanted, list(plain), n=1, cutoff=ALIKE)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
