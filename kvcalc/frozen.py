"""Frozen dataclasses that are cheap to define.

The standard library writes and compiles six methods for each frozen class, about 1 ms; the program has some seventy
such classes and would spend a third of its start on them. Here all classes share one set of methods.
"""

from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def frozen(made: type[T]) -> type[T]:
    """Make a class a frozen dataclass: fields, equality, hash and repr as `dataclass(frozen=True)` gives them."""
    made = dataclass(init=False, repr=False, eq=False)(made)
    made.__fields__ = tuple((field.name, field.default, field.default_factory) for field in fields(made))  # type: ignore
    made.__names__ = tuple(name for name, _, _ in made.__fields__)  # type: ignore
    made.__every__ = frozenset(made.__names__)  # type: ignore
    for method in (__init__, __setattr__, __delattr__, __eq__, __hash__, __repr__):
        setattr(made, method.__name__, method)
    return made


def __init__(self: Any, *given: object, **named: object) -> None:
    held, known = self.__dict__, self.__fields__
    if len(given) == len(known) and not named:
        held.update(zip(self.__names__, given, strict=True))
        return
    if not given and named.keys() == self.__every__:
        held.update(named)
        return
    if len(given) > len(known):
        raise TypeError(f"{type(self).__name__} takes {len(known)} values, not {len(given)}")
    for (name, _, _), value in zip(known, given, strict=False):
        held[name] = value
    for name, default, factory in known[len(given) :]:
        if name in named:
            held[name] = named.pop(name)
        elif default is not MISSING:
            held[name] = default
        elif factory is not MISSING:
            held[name] = factory()
        else:
            raise TypeError(f"{type(self).__name__} needs {name!r}")
    if named:
        raise TypeError(f"{type(self).__name__} has no {next(iter(named))!r}, or has it twice")


def __setattr__(self: object, name: str, _: object) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be set")


def __delattr__(self: object, name: str) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be deleted")


def __eq__(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def __hash__(self: Any) -> int:
    return hash((type(self), *_values(self)))


def __repr__(self: Any) -> str:
    held = ", ".join(f"{name}={value!r}" for name, value in zip(self.__names__, _values(self), strict=True))
    return f"{type(self).__name__}({held})"


def _values(self: Any) -> tuple[object, ...]:
    """Those of the fields; a cached property is beside them."""
    held = self.__dict__
    return tuple([held[name] for name in self.__names__])
