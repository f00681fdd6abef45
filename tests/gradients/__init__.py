"""Small problems with a value and gradients, gathered from every objective that has them."""

from gradients import activated, linear, two_sided
from gradients.case import Case
from gradients.network import NETWORK_CASES

CASES: dict[str, Case] = linear.CASES | activated.CASES | NETWORK_CASES | two_sided.CASES
