"""Addresses of servers as they may be printed and kept: what only their owner knows is left out."""

import re

SECRET = re.compile(r"([?&][^=&]*(?:password|secret|token|key|username)[^=&]*=)[^&]*", re.IGNORECASE)


def masked(address: str) -> str:
    """An address without its user and password, and without secrets among its options.

    Everything between the scheme and the last @ goes: a password that was not escaped may hold any character.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        scheme, rest = "", address
    if scheme != "file" and "@" in rest:
        rest = f"***@{rest.rpartition('@')[2]}"
    return SECRET.sub(r"\1***", f"{scheme}{mark}{rest}")
