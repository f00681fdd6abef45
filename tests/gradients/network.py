"""The energy of Flenner & Hunter's network as a function of each of its arrays."""

import numpy as np

from deepnmf.engines import HoledDense, RowsInMemory
from deepnmf.objective.network_energy import Network, NetworkEnergy, Pooling
from deepnmf.objective.terms import Labels
from deepnmf.solvers.rows_input import rows_input
from gradients.case import Case

N_ROWS, N_FEATURES, SIZES, N_CLASSES = 12, 7, (5, 4, 4, 3), 3
GROUPS = np.repeat([0, 1, 2], [5, 4, 3])


def case(depth: int, pool_size: int, holes: bool) -> Case:
    rng = np.random.default_rng(depth)
    X = rng.random((N_ROWS, N_FEATURES))
    X[rng.random(X.shape) < (0.3 if holes else 0)] = np.nan
    poolings = [Pooling.centered(pool_size, GROUPS)] * (depth - 1)
    labels = Labels(np.array([0, 3, 7, 11]), np.eye(N_CLASSES)[[0, 1, 2, 0]], weight=0.7)
    widths = (N_FEATURES, *SIZES[:depth])
    arrays = {f"H_{k + 1}": rng.random((N_ROWS, SIZES[k])) for k in range(depth)}
    arrays |= {f"Z_{k + 1}": rng.random((widths[k + 1], widths[k])) for k in range(depth)}
    arrays["B"] = rng.random((SIZES[depth - 1], N_CLASSES))

    engine = RowsInMemory(HoledDense(X) if holes else X, OneThread())
    energy = NetworkEnergy(rows_input(engine), poolings, labels)

    def value(arrays: dict[str, np.ndarray]) -> float:
        return energy.value(network(arrays))

    def gradients(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        at = network(arrays)
        codes = {f"H_{k + 1}": gradient(energy.on_codes(at, k), H) for k, H in enumerate(at.codes)}
        factors = {f"Z_{k + 1}": gradient(energy.on_factor(at, k), Z.T).T for k, Z in enumerate(at.factors)}
        return codes | factors | {"B": gradient(energy.on_head(at), at.head.T).T}

    def network(arrays: dict[str, np.ndarray]) -> Network:
        codes, factors = (tuple(arrays[f"{name}_{k + 1}"] for k in range(depth)) for name in "HZ")
        return Network(codes, factors, arrays["B"])

    return Case(arrays, value, gradients)


class OneThread:
    """Workers with one thread, for small problems."""

    map = staticmethod(map)


def gradient(term, V: np.ndarray) -> np.ndarray:
    up, down = term.pulls(V)
    return down - up


NETWORK_CASES = {
    f"network, depth {depth}, pool {pool_size}{', holes' if holes else ''}": case(depth, pool_size, holes)
    for depth in (1, 2, 3, 4)
    for pool_size in (0, 3)
    for holes in (False, True)
}
