"""The loops of `deepnmf.kernels.layered_codes`."""

import numpy as np

from deepnmf.kernels.compilation import CompiledLoop, inlined_loop
from deepnmf.kernels.logarithms import log_of_parts, split_powers
from deepnmf.kernels.poisson_loops import LANES, gather

SMALLEST = 1e-30  # smallest code, because steps in the loss of the layer above can never leave 0
FLOOR = 1e-6  # ε; codes have a root mean square of one
BLOCK = 32  # rows
PULL, CURVATURE, CODE, CHANGED, LARGEST, MOVED = range(6)  # rows of the work array of a block


@CompiledLoop
def descend_all_layers(H, F, G, factors, sizes, weights, squared, n_passes, tol):
    """All passes under squared error, block by block; rows of a block are stored transposed, for loops over them."""
    first, width = sizes[0], H.shape[1]
    codes, models = np.ones((width, BLOCK), H.dtype), np.ones((width - sizes[-1], BLOCK), H.dtype)
    targets, room = np.zeros((first, BLOCK), H.dtype), np.empty((6, BLOCK), H.dtype)
    logs, stopped = np.empty((2, BLOCK)), np.empty(BLOCK, np.bool_)
    for start in range(0, len(H), BLOCK):
        count = min(BLOCK, len(H) - start)
        for s in range(count):
            stopped[s] = False
            for k in range(width):
                codes[k, s] = H[start + s, k]
            for k in range(first):
                targets[k, s] = F[start + s, k]
        _fill_models(codes, factors, sizes, models)
        for _ in range(n_passes):
            _begin_pass(room)
            _descend_quadratic(codes, targets, G, models, weights[0], squared[0], room, logs)
            _descend_upper(codes, factors, sizes, weights, squared, models, room, logs)
            if _written(H, start, count, codes, room, tol, stopped) == count:
                break
        _write(H, start, count, codes, stopped)


@CompiledLoop
def descend_all_layers_of_counts(
    H, indptr, columns, values, entry_weights, weighted, features, sums, epsilon, factors, sizes, weights, squared,
    n_passes, tol
):  # fmt: skip
    """The same for counts, where each row has its own stored entries."""
    first, width = sizes[0], H.shape[1]
    codes, models = np.ones((width, BLOCK), H.dtype), np.ones((width - sizes[-1], BLOCK), H.dtype)
    room, logs, stopped = np.empty((6, BLOCK), H.dtype), np.empty((2, BLOCK)), np.empty(BLOCK, np.bool_)
    longest = 0
    for i in range(len(H)):
        longest = max(longest, indptr[i + 1] - indptr[i])
    longest += -longest % LANES
    own, x, model = np.empty((first, longest), H.dtype), np.empty(longest, H.dtype), np.empty(longest, H.dtype)
    price, every = np.empty(first, H.dtype), np.arange(first)
    for start in range(0, len(H), BLOCK):
        count = min(BLOCK, len(H) - start)
        for s in range(count):
            stopped[s] = False
            for k in range(width):
                codes[k, s] = H[start + s, k]
        _fill_models(codes, factors, sizes, models)
        for _ in range(n_passes):
            _begin_pass(room)
            for s in range(count):
                if stopped[s]:
                    continue
                begin, end = indptr[start + s], indptr[start + s + 1]
                h, prior = codes[:first, s], models[:first, s]
                gather(columns[begin:end], features, every, own, model)
                padded = _fill_row(values[begin:end], h, sums, epsilon, x, own, model, price)
                if weighted:
                    _weigh(entry_weights[begin:end], x, own, price)
                _descend_row(h, prior, weights[0], squared[0], x[:padded], own, model, price, room, s)
            _end_layer(room)
            _descend_upper(codes, factors, sizes, weights, squared, models, room, logs)
            if _written(H, start, count, codes, room, tol, stopped) == count:
                break
        _write(H, start, count, codes, stopped)


@inlined_loop
def _fill_row(values, h, sums, epsilon, x, own, model, price):
    """The entries of a row and X̂ there, padded with zeros, and the contribution of a unit code to Σ X̂."""
    count = len(values)
    padded = count + -count % LANES
    for t in range(padded):
        x[t] = values[t] if t < count else 0
        model[t] = epsilon
    for k in range(len(h)):
        price[k] = sums[k]
        code, f = h[k], own[k]
        for t in range(padded):
            model[t] += code * f[t]
    return padded


@inlined_loop
def _weigh(entry_weights, x, own, price):
    """The same for entries with weights."""
    for t in range(len(entry_weights)):
        x[t] *= entry_weights[t]
    for k in range(len(price)):
        price[k] = 0
        for t in range(len(entry_weights)):
            price[k] += entry_weights[t] * own[k, t]


@inlined_loop
def _descend_row(h, prior, weight, squared, x, own, model, price, room, s):
    """One pass over h_1 of a row of counts, with the layer above; the change of a code is added to X̂ with the next."""
    count = len(x) - len(x) % LANES  # the remainder is 0; written so that the compiler knows it
    none = weight - weight
    change, before = none, 0
    for k in range(len(h)):
        pull = curvature = none
        f, last = own[k], own[before]
        for t in range(count):
            value = model[t] + change * last[t]
            model[t] = value
            ratio = f[t] / value
            part = x[t] * ratio
            pull += part
            curvature += part * ratio
        old = h[k]
        slope = price[k] - pull + weight * (old - prior[k] if squared else np.log(old / prior[k]))
        new = _moved(old, slope, curvature * old + weight * (old if squared else 1))
        h[k] = new
        change, before = new - old, k
        room[CHANGED, s] = max(room[CHANGED, s], abs(change))
        room[LARGEST, s] = max(room[LARGEST, s], new)


@inlined_loop
def _fill_models(codes, factors, sizes, models):
    """The predictions h_l Z_l + ε of each layer above the first."""
    at, start = 0, 0
    for layer in range(1, len(sizes)):
        below, size = sizes[layer - 1], sizes[layer]
        for j in range(below):
            for s in range(BLOCK):
                models[at + j, s] = FLOOR
            for k in range(size):
                z = factors[start + k * below + j]
                for s in range(BLOCK):
                    models[at + j, s] += z * codes[at + below + k, s]
        at += below
        start += below * size


@inlined_loop
def _descend_quadratic(codes, targets, G, models, weight, squared, room, logs):
    """One pass over h_1 under squared error, with the layer above."""
    order = len(targets)
    pull = room[PULL]
    for k in range(order):
        curvature = G[k, k]
        for s in range(BLOCK):
            pull[s] = targets[k, s] + curvature * codes[k, s]
        for j in range(0, order - 3, 4):
            g0, g1, g2, g3 = G[k, j], G[k, j + 1], G[k, j + 2], G[k, j + 3]
            for s in range(BLOCK):
                pull[s] -= g0 * codes[j, s] + g1 * codes[j + 1, s] + g2 * codes[j + 2, s] + g3 * codes[j + 3, s]
        for j in range(order - order % 4, order):
            g = G[k, j]
            for s in range(BLOCK):
                pull[s] -= g * codes[j, s]
        if squared:
            for s in range(BLOCK):
                _place(codes, k, s, (pull[s] + weight * models[k, s]) / (curvature + weight), room)
            continue
        for s in range(BLOCK):
            code = codes[k, s]
            if curvature > 0:  # the minimum is at least the smaller one of prediction and minimum without prior
                code = max(code, min(models[k, s], pull[s] / curvature))
            room[CODE, s] = code
            logs[0, s] = code / models[k, s]
        _take_logs(logs)
        for s in range(BLOCK):
            code = room[CODE, s]
            slope = curvature * code - pull[s] + weight * logs[0, s]
            _move(codes, k, s, code, slope, curvature * code + weight, room)
    _end_layer(room)


@inlined_loop
def _descend_upper(codes, factors, sizes, weights, squared, models, room, logs):
    """One pass over the codes of every layer above the first; predictions are kept up to date."""
    at, start = 0, 0
    pull, curvature, change, one = room[PULL], room[CURVATURE], room[CODE], codes.dtype.type(1)
    for layer in range(1, len(sizes)):
        below, size, weight, top = sizes[layer - 1], sizes[layer], weights[layer - 1], layer + 1 == len(sizes)
        above = weight - weight if top else weights[layer]
        own_squared, above_squared = squared[layer - 1], top or squared[layer]
        for k in range(size):
            row, own, price = start + k * below, at + below + k, codes.dtype.type(0)
            for s in range(BLOCK):
                pull[s] = 0
                curvature[s] = 0
            for j in range(below):
                z = factors[row + j]
                if own_squared:
                    for s in range(BLOCK):
                        pull[s] += z * (codes[at + j, s] - models[at + j, s])
                        curvature[s] += z * z
                    continue
                price += z
                if z > 0:
                    for s in range(BLOCK):
                        inverse = one / models[at + j, s]
                        ratio = z * codes[at + j, s] * inverse
                        pull[s] += ratio
                        curvature[s] += ratio * z * inverse
            if not above_squared:
                for s in range(BLOCK):
                    logs[0, s] = codes[own, s] / models[own, s]
                _take_logs(logs)
            for s in range(BLOCK):
                code = codes[own, s]
                slope, bend = weight * (price - pull[s]), weight * curvature[s]
                if not above_squared:
                    _move(codes, own, s, code, slope + above * logs[0, s], bend * code + above, room)
                    change[s] = codes[own, s] - code
                    continue
                if not top:
                    slope += above * (code - models[own, s])
                    bend += above
                if own_squared:
                    _place(codes, own, s, code - slope / bend if bend > 0 else code, room)
                else:
                    _move(codes, own, s, code, slope, bend * code, room)
                change[s] = codes[own, s] - code
            for j in range(below):
                z = factors[row + j]
                if z > 0:
                    for s in range(BLOCK):
                        models[at + j, s] += change[s] * z
        _end_layer(room)
        at += below
        start += below * size


@inlined_loop
def _move(codes, k, s, code, slope, step, room):
    """Update a code, and record the change."""
    _place(codes, k, s, _moved(code, slope, step), room)


@inlined_loop
def _place(codes, k, s, new, room):
    new = max(new, codes.dtype.type(SMALLEST))
    room[CHANGED, s] = max(room[CHANGED, s], abs(new - codes[k, s]))
    room[LARGEST, s] = max(room[LARGEST, s], new)
    codes[k, s] = new


@inlined_loop
def _moved(code, slope, step):
    """A Newton step with slope s and step = curvature times code, which never passes the minimum."""
    down = slope >= 0
    numerator, denominator = (step if down else step - slope), (step + slope if down else step)
    new = code * (numerator / denominator) if denominator > 0 else code
    return new if new > SMALLEST else code * 0 + SMALLEST


@inlined_loop
def _begin_pass(room):
    for s in range(BLOCK):
        room[CHANGED, s] = 0
        room[LARGEST, s] = 0
        room[MOVED, s] = 0


@inlined_loop
def _end_layer(room):
    """Record the largest change of a layer relative to its largest code."""
    for s in range(BLOCK):
        if room[LARGEST, s] > 0:
            room[MOVED, s] = max(room[MOVED, s], room[CHANGED, s] / room[LARGEST, s])
        room[CHANGED, s] = 0
        room[LARGEST, s] = 0


@inlined_loop
def _written(H, start, count, codes, room, tol, stopped):
    """Write the rows that have stopped, and count them; later changes of them are ignored."""
    n_stopped = 0
    for s in range(count):
        if not stopped[s] and room[MOVED, s] <= tol:
            stopped[s] = True
            for k in range(len(codes)):
                H[start + s, k] = codes[k, s]
        n_stopped += stopped[s]
    return n_stopped


@inlined_loop
def _write(H, start, count, codes, stopped):
    for s in range(count):
        if not stopped[s]:
            for k in range(len(codes)):
                H[start + s, k] = codes[k, s]


@inlined_loop
def _take_logs(logs):
    """Replace a row by its logarithms."""
    exponents = split_powers(logs[0], logs[1])
    for s in range(BLOCK):
        logs[0, s] = log_of_parts(logs[1, s], exponents[s])
