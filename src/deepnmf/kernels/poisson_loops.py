"""The loops of `deepnmf.kernels.poisson`."""

import numpy as np

from deepnmf.kernels.compilation import CompiledLoop, inlined_loop
from deepnmf.kernels.logarithms import log_of_parts, split_powers

NEGLIGIBLE = 1e-14  # a component with a smaller share of the total of a row is set to 0
FILLED = 0.25  # share of positive entries of a dense row above which removing the zeros takes longer than it saves
LANES = 32  # entries that loops over a row process together; rows are padded with zeros to a multiple of it
TOGETHER = 16  # entries whose features are gathered together


@CompiledLoop
def descend_stored(
    indptr, columns, values, weights, weighted, features, sums, H, still, l1, l2, epsilon, n_passes, rounds, square_tol,
    M, measured, row_weights
):  # fmt: skip
    """Descend on rows of stored entries, with or without weights; sums are weighted by rows."""
    r = H.shape[1]
    longest = 0
    for i in range(len(H)):
        longest = max(longest, indptr[i + 1] - indptr[i])
    longest += -longest % LANES
    F, model, x = np.empty((r, longest), H.dtype), np.empty(longest, H.dtype), np.empty(longest, H.dtype)
    price, pull, active = np.empty(r, H.dtype), np.empty(r, H.dtype), np.empty(r, np.intp)
    room = np.empty((2, longest))
    violation = fit = 0.0
    for i in range(len(H)):
        begin, count = indptr[i], indptr[i + 1] - indptr[i]
        own = columns[begin : begin + count]
        if weighted:
            for k in range(r):
                price[k] = l1
            for t in range(count):
                w = weights[begin + t]
                x[t] = w * values[begin + t]
                for k in range(r):
                    price[k] += w * features[own[t], k]
        else:
            for k in range(r):
                price[k] = sums[k] + l1
            for t in range(count):
                x[t] = values[begin + t]
        padded = count + -count % LANES
        for t in range(count, padded):
            x[t] = 0
        total = _settled(x[:count], price, H[i], n_passes > 0, still, i)
        first = 0.0
        for number in range(max(rounds, 1)):
            _look_at_stored(own, x[:count], features, H[i], epsilon, model, pull, rounds > 0)
            if rounds == 0:
                break
            own_violation, n_active = _choose(price, pull, total, l2, H[i], active, still, i)
            if number == 0:
                first = own_violation
            if _rests(own_violation, price, n_passes, square_tol):
                break
            gather(own, features, active[:n_active], F, model)
            _descend_row(x[:padded], F, active[:n_active], price, total, l2, epsilon, n_passes, H[i], model)
        violation += row_weights[i] * first
        fit += row_weights[i] * _finish(
            own, x[:count], price, l1, epsilon, H[i], model, M, measured, room, row_weights[i]
        )
    return violation, fit


@CompiledLoop
def descend_dense(
    X, features, F, sums, H, still, l1, l2, epsilon, n_passes, rounds, square_tol, M, measured, row_weights
):  # fmt: skip
    """Descend on rows of an array; F contains the features with one row each."""
    p, r = features.shape
    width = F.shape[1]  # p, padded with features of 0
    model, x, ratio = np.zeros(width, H.dtype), np.zeros(width, H.dtype), np.zeros(width, H.dtype)
    columns, everywhere = np.empty(p, np.int32), np.arange(p).astype(np.int32)
    price, pull, active = np.empty(r, H.dtype), np.empty(r, H.dtype), np.empty(r, np.intp)
    F_there, room = np.empty((r, width), H.dtype), np.empty((2, width))
    for k in range(r):
        price[k] = sums[k] + l1
    violation = fit = 0.0
    for i in range(len(H)):
        count = 0
        for j in range(p):
            x[count] = X[i, j]
            columns[count] = j
            count += X[i, j] > 0
        filled = count > FILLED * p
        if filled:
            count = p
            for j in range(p):
                x[j] = X[i, j]
        padded = count + -count % LANES
        for t in range(count, padded):
            x[t] = 0
        own = everywhere if filled else columns[:count]
        total = _settled(x[:count], price, H[i], n_passes > 0, still, i)
        first = 0.0
        for number in range(max(rounds, 1)):
            if filled:
                _look_at_filled(x, F, H[i], epsilon, model, ratio, pull, rounds > 0)
            else:
                _look_at_stored(own, x[:count], features, H[i], epsilon, model, pull, rounds > 0)
            if rounds == 0:
                break
            own_violation, n_active = _choose(price, pull, total, l2, H[i], active, still, i)
            if number == 0:
                first = own_violation
            if _rests(own_violation, price, n_passes, square_tol):
                break
            if filled:
                _descend_row(x, F, active[:n_active], price, total, l2, epsilon, n_passes, H[i], model)
            else:
                gather(own, features, active[:n_active], F_there, model)
                _descend_row(x[:padded], F_there, active[:n_active], price, total, l2, epsilon, n_passes, H[i], model)
        violation += row_weights[i] * first
        fit += row_weights[i] * _finish(
            own, x[:count], price, l1, epsilon, H[i], model, M, measured, room, row_weights[i]
        )
    return violation, fit


@inlined_loop
def _settled(x, price, h, moves, still, i):
    """Return the total of the row; if x̂ is 0, where steps have no length, give free features equal shares of it."""
    total = above = price[0] - price[0]
    for t in range(len(x)):
        total += x[t]
    for k in range(len(h)):
        above = max(above, h[k])
    if moves and above == 0 and total > 0:
        for k in range(len(h)):
            if price[k] > 0 and not (len(still) and still[i, k]):
                h[k] = total / (len(h) * price[k])
    return total


@inlined_loop
def _look_at_stored(columns, x, features, h, epsilon, model, pull, with_pull):
    """x̂, and Σ x f/x̂ of every feature, at the entries of a row."""
    r = len(h)
    for k in range(r):
        pull[k] = epsilon - epsilon
    for t in range(len(x)):
        f = features[columns[t]]
        value = epsilon - epsilon
        for k in range(r):
            value += h[k] * f[k]
        model[t] = value
        if with_pull:
            ratio = x[t] / max(value, epsilon)
            for k in range(r):
                pull[k] += ratio * f[k]


@inlined_loop
def _look_at_filled(x, F, h, epsilon, model, ratio, pull, with_pull):
    """The same for a row without removed zeros, with features that have one row each, four of them at a time."""
    count, r = len(x) - len(x) % LANES, len(h)
    none = epsilon - epsilon
    for t in range(count):
        model[t] = none
    for k in range(0, r - r % 4, 4):
        a, b, c, d = h[k], h[k + 1], h[k + 2], h[k + 3]
        f, g, u, v = F[k], F[k + 1], F[k + 2], F[k + 3]
        for t in range(count):
            model[t] += a * f[t] + b * g[t] + c * u[t] + d * v[t]
    for k in range(r - r % 4, r):
        a, f = h[k], F[k]
        for t in range(count):
            model[t] += a * f[t]
    if not with_pull:
        return
    for t in range(count):
        ratio[t] = x[t] / max(model[t], epsilon)
    for k in range(0, r - r % 4, 4):
        a = b = c = d = none
        f, g, u, v = F[k], F[k + 1], F[k + 2], F[k + 3]
        for t in range(count):
            a += ratio[t] * f[t]
            b += ratio[t] * g[t]
            c += ratio[t] * u[t]
            d += ratio[t] * v[t]
        pull[k], pull[k + 1], pull[k + 2], pull[k + 3] = a, b, c, d
    for k in range(r - r % 4, r):
        a, f = none, F[k]
        for t in range(count):
            a += ratio[t] * f[t]
        pull[k] = a


@inlined_loop
def _choose(price, pull, total, l2, h, active, still, i):
    """Select the coordinates that may change, and return the squared violation of the optimality conditions of the row.

    These coordinates are positive or have a negative slope, and are not marked as still.

    A violation is the slope; a positive slope counts at most as the price times the share of the total that the
    coordinate explains, because a coordinate that is nearly 0 is nearly optimal.
    """
    violation, n_active = 0.0, 0
    for k in range(len(h)):
        if len(still) and still[i, k]:
            continue
        slope = price[k] + l2 * h[k] - pull[k]
        if slope < 0:
            violation += np.float64(slope) ** 2
        elif h[k] > 0:
            violation += np.float64(min(slope, h[k] * price[k] / total * price[k] if total > 0 else price[k])) ** 2
        if slope < 0 or h[k] > 0:
            active[n_active] = k
            n_active += 1
    return violation, n_active


@inlined_loop
def _rests(violation, price, n_passes, square_tol):
    scale = 0.0
    for k in range(len(price)):
        scale += np.float64(price[k]) ** 2
    return n_passes == 0 or (square_tol > 0 and violation <= square_tol * scale)


@inlined_loop
def gather(columns, features, active, F, model):
    """Gather the features at the entries of a row, contiguous for each feature, some entries at a time for the cache.

    The padding of the row has features of 0.
    """
    count = len(columns)
    for t in range(count, count + -count % LANES):
        model[t] = 0
        for a in range(len(active)):
            F[active[a], t] = 0
    for start in range(0, count, TOGETHER):
        stop = min(start + TOGETHER, count)
        for a in range(len(active)):
            k = active[a]
            for t in range(start, stop):
                F[k, t] = features[columns[t], k]


@inlined_loop
def _descend_row(x, F, active, price, total, l2, epsilon, n_passes, h, model):
    """Make passes over the active coordinates; the change of one is added to x̂ in the loop of the next."""
    count = len(x) - len(x) % LANES  # the remainder is 0; written so that the compiler knows it
    none = epsilon - epsilon  # 0 in the precision of the codes
    change, before = none, 0
    for _ in range(n_passes):
        for a in range(len(active)):
            k = active[a]
            gain = curvature = none
            f = F[k]
            if change != 0:
                last = F[before]
                for t in range(count):
                    value = model[t] + change * last[t]
                    model[t] = value
                    ratio = f[t] / max(value, epsilon)
                    part = x[t] * ratio
                    gain += part
                    curvature += part * ratio
            else:
                for t in range(count):
                    ratio = f[t] / max(model[t], epsilon)
                    part = x[t] * ratio
                    gain += part
                    curvature += part * ratio
            old = h[k]
            new = _step(old, price[k] + l2 * old - gain, curvature, l2)
            if new * price[k] < NEGLIGIBLE * total:
                new = none
            h[k] = new
            change, before = new - old, k
    if change != 0:
        last = F[before]
        for t in range(count):
            model[t] += change * last[t]


@inlined_loop
def _step(old, slope, curvature, l2):
    """The step of one coordinate; without curvature it becomes 0 if it is penalized."""
    if curvature <= 0:
        return old - old if slope > 0 else old
    steep = curvature + l2
    if slope <= 0:
        return old - slope / steep
    return old * (old * steep / (slope + old * steep))


@inlined_loop
def _finish(columns, x, price, l1, epsilon, h, model, M, measured, room, row_weight):
    """Compute the fit of the row, if requested, and add its weighted expected counts."""
    fit = 0.0
    if measured:
        fit -= _log_likelihood(x, model, epsilon, room[0], room[1])
        for k in range(len(h)):
            fit += np.float64(h[k]) * np.float64(price[k] - l1)
    if len(M):
        for t in range(len(x)):
            ratio = row_weight * (x[t] / max(model[t], epsilon))
            to = M[columns[t]]
            for k in range(len(h)):
                to[k] += ratio * h[k]
    return fit


@inlined_loop
def _log_likelihood(x, model, epsilon, values, mantissas):
    """Σ x log max(x̂, ε) in double precision."""
    count = len(x)
    for t in range(count):
        values[t] = max(model[t], epsilon)
    exponents = split_powers(values[:count], mantissas[:count])
    total = 0.0
    for t in range(count):
        total += x[t] * log_of_parts(mantissas[t], exponents[t])
    return total
