"""Multiplicative steps on any term with a split gradient, with step lengths halved until they descend."""

from collections.abc import Callable

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.quadratic import inner
from deepnmf.objective.terms import Pulls, Term
from deepnmf.solvers.descent import relative
from deepnmf.solvers.steps import Moved

MOST_HALVINGS = 12


def lowered(V: Array, term: Term) -> Moved:
    """V∘(up/down)^η: η = 1 minimizes a majorizer of a quadratic; if the row of a maximum changes, η must be smaller."""
    pulls = term.pulls(V)
    ratio = _ratio(pulls)
    return Moved(_searched(V, term, lambda eta: V * ratio**eta), _relative_gradient(V, pulls))


def lowered_unit_columns(V: Array, term: Term) -> Moved:
    """The same with columns of unit norm (Eggert & Körner, 2004).

    The gradient of the energy at v/‖v‖ is split into up + <down, v>v and down + <up, v>v.
    """
    up, down = term.pulls(V)
    pulls = Pulls(up + V * _column_dots(down, V), down + V * _column_dots(up, V))
    ratio = _ratio(pulls)
    return Moved(_searched(V, term, lambda eta: unit_columns(V * ratio**eta)), _relative_gradient(V, pulls))


def unit_columns(V: Array) -> Array:
    """Divide each column by its norm; columns of zeros stay."""
    return V * inverse_norms(V.T)


def _searched(V: Array, term: Term, candidate: Callable[[float], Array]) -> Array:
    """Make the largest step of η = 1, ½, ¼, ... that does not raise the term; none if all do."""
    before = term.value(V)
    for halvings in range(MOST_HALVINGS):
        new = candidate(0.5**halvings)
        if term.value(new) <= before:
            return new
    return V


def _ratio(pulls: Pulls) -> Array:
    numbers = np.finfo(pulls.up.dtype)
    smallest = numbers.eps * max(float(pulls.up.max(initial=0)), float(numbers.tiny))
    return pulls.up / np.maximum(pulls.down, smallest)


def _column_dots(first: Array, second: Array) -> Array:
    return np.einsum("ij,ij->j", first, second)


def _relative_gradient(V: Array, pulls: Pulls) -> float:
    """‖V∘(up - down)‖ / ‖V∘up‖, which is 0 at a fixed point of the multiplicative step."""
    moving, size = V * (pulls.up - pulls.down), V * pulls.up
    return relative(inner(moving, moving), inner(size, size))
