from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    """A function of several arrays: its value, and its gradient in each of them, under the same keys."""

    arrays: dict[str, np.ndarray]
    value: Callable[[dict[str, np.ndarray]], float]
    gradients: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]
