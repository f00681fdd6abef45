"""Small problems with a value and gradients, gathered from every objective that has them."""

from gradients import two_sided
from gradients.case import Case

CASES: dict[str, Case] = {}
CASES |= two_sided.CASES
