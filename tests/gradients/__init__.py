"""Small problems with a value and gradients, gathered from every objective that has them."""

from gradients import activated
from gradients.case import Case

CASES: dict[str, Case] = activated.CASES
