"""GDNMF: every activation, depths 1 to 4 on both sides, with and without the shallow path, with labels."""

import numpy as np

from deepnmf.objective import ACTIVATIONS
from deepnmf.objective.layer_stack import LayerStack
from deepnmf.objective.two_sided_model import CodesProblem, TwoSided, TwoSidedSums
from gradients.case import Case

N_SAMPLES, N_FEATURES, N_CLASSES = 7, 6, 3
SIZES = {1: (4,), 2: (5, 3), 3: (5, 4, 3), 4: (5, 4, 4, 3)}
MAPS = {
    name: ACTIVATIONS[name].through_zero() if name in ("sigmoid", "softplus") else ACTIVATIONS[name]
    for name in ("square", "identity", "relu", "tanh", "sigmoid", "softplus")
}
LABEL_WEIGHT = 0.7


def case(activation, depth, basis_depth, shallow=True, labels=True):
    """A small random problem; `arrays` are the codes and every factor, by name."""
    rng = np.random.default_rng(0)
    X, known = rng.random((N_SAMPLES, N_FEATURES)), rng.random((N_SAMPLES, 1)) < 0.6
    Y = known * np.eye(N_CLASSES)[rng.integers(N_CLASSES, size=N_SAMPLES)][:, : N_CLASSES if labels else 0]
    sizes, basis_sizes = SIZES[depth], SIZES[basis_depth]
    n_shallow = sizes[-1] if shallow else 0
    arrays = {"G": rng.random((N_SAMPLES, sizes[-1])), "S": rng.random((sizes[0], basis_sizes[0]))}
    arrays |= numbered("R", factors(rng, sizes)) | numbered("L", factors(rng, basis_sizes))
    arrays["F"] = rng.random((basis_sizes[-1], N_FEATURES))
    if shallow:
        arrays["W"] = rng.random((n_shallow, N_FEATURES))
    if labels:
        arrays["P"] = rng.random((sizes[0] + n_shallow, N_CLASSES))

    def model(a):
        features, basis = (
            LayerStack(tuple(a[key] for key in sorted(a) if key[0] == side), activation) for side in "RL"
        )
        none = np.zeros((0, N_FEATURES))
        head = a.get("P", np.zeros((sizes[0] + n_shallow, 0)))
        return TwoSided(features, a["S"], basis, a["F"], a.get("W", none), head)

    def sums(a):
        B = model(a).stacked(a["G"])
        return TwoSidedSums(B.T @ X, B.T @ B, B.T @ Y, B.T @ (known * B), np.sum(X**2), np.sum(Y**2))

    def value(a):
        return sums(a).value(model(a), LABEL_WEIGHT)

    def gradients(a):
        return of_codes(a) | of_factors(a)

    def of_codes(a):
        problem = CodesProblem.of(model(a), LABEL_WEIGHT, np.float64)
        rows = problem.rows(X, Y, known)
        point = problem.at(a["G"], rows)
        found = problem.backward(point, point.pull - rows.target)
        return {"G": found.top} | numbered("R", problem.features.factor_gradients(point.trace, found))

    def of_factors(a):
        m, s = model(a), sums(a)
        basis = m.basis.backward(m.basis_trace, gradient_of_block(s.basis_block(m), m.basis_trace.bottom.T).T)
        found = {"S": gradient_of_block(s.middle_block(m), a["S"]), "F": basis.top.T}
        found |= numbered("L", m.basis.factor_gradients(m.basis_trace, basis))
        if shallow:
            found["W"] = gradient_of_block(s.shallow_block(m), a["W"])
        if labels:
            found["P"] = LABEL_WEIGHT * gradient_of_block(s.head_block(), a["P"])
        return found

    return Case(arrays, value, gradients)


def factors(rng, sizes):
    """S^R_2..S^R_m or the transposes of S^L_2..S^L_m; columns sum to about 1, or squares would explode."""
    return [2 * rng.random(shape) / shape[0] for shape in zip(sizes[1:], sizes, strict=False)]


def numbered(side, arrays):
    return {f"{side}{i}": array for i, array in enumerate(arrays)}


def gradient_of_block(block, Z):
    return block.curvature(Z) - block.linear


CASES = {
    **{
        f"two-sided, {name}, depths {depth} and {basis_depth}": case(activation, depth, basis_depth)
        for name, activation in MAPS.items()
        for depth in SIZES
        for basis_depth in SIZES
    },
    **{
        f"two-sided, {name}, no shallow path": case(activation, 2, 3, shallow=False)
        for name, activation in MAPS.items()
    },
    **{f"two-sided, {name}, no labels": case(activation, 3, 2, labels=False) for name, activation in MAPS.items()},
}
