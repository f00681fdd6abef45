"""Small problems with a value and gradients, gathered from every objective that has them."""

from gradients.case import Case

CASES: dict[str, Case] = {}
