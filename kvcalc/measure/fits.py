"""Laws fitted to measured times: a cost and a bandwidth, or a constant, a slope and a curvature, with their errors.

Times are fitted by relative error, so that a small copy counts as much as a large one. No coefficient is below zero: of
all choices of terms the one that fits best with coefficients above zero is taken.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

from kvcalc.errors import UserError
from kvcalc.frozen import frozen

Term = Callable[[float], float]


@frozen
class Line:
    """`t = fixed_s + bytes / bytes_per_s`."""

    fixed_s: float
    bytes_per_s: float
    mean_error: float  # of the relative residuals' sizes
    worst_error: float
    points: int

    def seconds(self, size: float) -> float:
        """The law's time for a copy of so many bytes."""
        return self.fixed_s + size / self.bytes_per_s


@frozen
class Curve:
    """`t = fixed_s + per_token_s * S + per_square_s * S^2`. As many points as terms say nothing of the error."""

    fixed_s: float
    per_token_s: float
    per_square_s: float
    mean_error: float
    worst_error: float
    points: int
    terms: int

    def seconds(self, tokens: float) -> float:
        """The law's time for so many tokens."""
        return self.fixed_s + self.per_token_s * tokens + self.per_square_s * tokens * tokens


def line(points: Sequence[tuple[float, float]]) -> Line:
    """Of (bytes, seconds). Raises UserError where fewer than two sizes were measured or times don't grow."""
    (fixed, slope), errors = _fitted(points, (lambda _: 1.0, lambda size: size))
    if slope <= 0:
        raise UserError("the times do not grow with the size, so they give no bandwidth; measure longer")
    return Line(fixed, 1 / slope, *_of(errors), len(points))


def curve(points: Sequence[tuple[float, float]], square: bool = True) -> Curve:
    """Of (tokens, seconds); without `square` a straight line. Raises UserError where too few lengths were measured."""
    terms: tuple[Term, ...] = (lambda _: 1.0, lambda tokens: tokens, lambda tokens: tokens * tokens)
    found, errors = _fitted(points, terms if square else terms[:2])
    fixed, slope, square_s = (*found, 0.0)[:3]
    return Curve(fixed, slope, square_s, *_of(errors), len(points), len(found))


def _of(errors: Sequence[float]) -> tuple[float, float]:
    return sum(errors) / len(errors), max(errors)


def _fitted(points: Sequence[tuple[float, float]], terms: Sequence[Term]) -> tuple[list[float], list[float]]:
    """Coefficients of the terms, and the size of each point's relative residual."""
    if len({x for x, _ in points}) < len(terms):
        raise UserError(f"{len(points)} points do not fix {len(terms)} coefficients; measure more sizes")
    best: tuple[float, list[float], list[float]] | None = None
    for count in range(len(terms), 0, -1):
        for chosen in combinations(range(len(terms)), count):
            found = _least_squares([([terms[place](x) / t for place in chosen], 1.0) for x, t in points])
            if found is None or min(found) < 0:
                continue
            whole = [0.0] * len(terms)
            for place, value in zip(chosen, found, strict=True):
                whole[place] = value
            errors = [abs(sum(c * term(x) for c, term in zip(whole, terms, strict=True)) / t - 1) for x, t in points]
            squares = sum(error * error for error in errors)
            if best is None or squares < best[0]:
                best = squares, whole, errors
    assert best is not None  # one term alone always has a coefficient above zero
    return best[1], best[2]


def _least_squares(rows: Sequence[tuple[list[float], float]]) -> list[float] | None:
    """The coefficients that bring the rows nearest to their values; None where they are not fixed."""
    columns = [sum(row[place] ** 2 for row, _ in rows) ** 0.5 for place in range(len(rows[0][0]))]
    scaled = [([cell / size for cell, size in zip(row, columns, strict=True)], value) for row, value in rows]
    width = range(len(columns))
    system = [[sum(r[i] * r[j] for r, _ in scaled) for j in width] + [sum(r[i] * v for r, v in scaled)] for i in width]
    for place in width:
        pivot = max(range(place, len(columns)), key=lambda row: abs(system[row][place]))
        if abs(system[pivot][place]) < 1e-13:
            return None
        system[place], system[pivot] = system[pivot], system[place]
        for row in width:
            if row != place:
                factor = system[row][place] / system[place][place]
                system[row] = [a - factor * b for a, b in zip(system[row], system[place], strict=True)]
    return [system[place][-1] / system[place][place] / columns[place] for place in width]
