"""Element-wise maps between layers, named by the map in the reconstruction."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array


@dataclass(frozen=True)
class Activation:
    """f with its inverse on the nonnegatives: ``H_{l-1} = f(H_l Z_l)``, so f⁻¹(H_{l-1}) feeds layer l."""

    function: Callable[[Array], Array]
    inverse: Callable[[Array], Array]


ACTIVATIONS = {
    "identity": Activation(lambda H: H, lambda H: H),
    "square": Activation(np.square, np.sqrt),
}
