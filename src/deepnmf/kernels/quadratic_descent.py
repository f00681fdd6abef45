"""Coordinate descent on ½<H G, H> - <F, H> over H >= 0: the inner loop of almost every fit.

The rows of H are independent problems. Blocks of 96 rows are stored transposed, so that the innermost loops run over
rows and the compiler vectorizes them. Two coordinates are updated together: their slopes F - G h are computed from the
same codes, so that each code is loaded once for two products. The slope of the second coordinate is then corrected for
the change of the first one, so that the result is that of updating one coordinate after the other.
"""

from functools import partial
from typing import Literal

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop

BLOCK = 96  # rows; with 40 components, their codes in double precision just fit into the L1 cache
LANES = 16  # rows in a vector register in single precision; blocks are padded to a multiple of it
COLUMNS = 4  # columns of G per step of the innermost loop; G is padded to a multiple of it


def descend_rows(H: Array, G: Array, F: Array, n_passes: int, tol: float = 0.0) -> tuple[Array, float]:
    """Lower ½<H G, H> - <F, H> over H >= 0, row by row, by passes over the entries of the row.

    A row stops after a pass that changes it by less than `tol` times its target. The result for a row does not depend
    on the other rows. Returns the new rows, in the memory order of H, and Σ_k (G_kk · change)² of the first pass.
    """
    n_rows, order = H.shape
    memory_order: Literal["C", "F"] = "F" if H.flags.f_contiguous else "C"
    new, F = np.array(H, order=memory_order), np.asarray(F, dtype=H.dtype, order=memory_order)
    gram = np.zeros((order + -order % COLUMNS,) * 2, H.dtype)
    gram[:order, :order] = G
    steps = (1, n_rows) if memory_order == "F" else (order, 1)
    flat = new.ravel(memory_order), F.ravel(memory_order)
    violation = descend_in_place(*flat, gram, n_rows, order, *steps, n_passes, tol**2)
    return new, violation


def descend_rows_plainly(H: Array, G: Array, F: Array, n_passes: int, tol: float = 0.0) -> tuple[Array, float]:
    """`descend_rows`, one coordinate after the other, for all rows that have not stopped."""
    new, moving = H.copy(), np.arange(len(H))
    violation = 0.0
    for number in range(n_passes):
        rows, moved = new[moving], np.zeros(len(moving))
        for k, curvature in enumerate(np.diag(G)):
            if curvature > 0:
                entry = np.maximum(rows[:, k] + (F[moving, k] - rows @ G[k]) / curvature, 0)
                moved += np.square(curvature * (entry - rows[:, k]), dtype=np.float64)
            else:  # the entry does not change the fit, and becomes zero if it is penalized
                entry = np.where(F[moving, k] < 0, 0, rows[:, k])
            rows[:, k] = entry
        new[moving] = rows
        violation += 0.0 if number else moved.sum()
        moving = moving[moved > tol**2 * np.square(F[moving], dtype=np.float64).sum(axis=1)]
    return new, violation


@partial(
    CompiledLoop, fastmath={"contract"}, inline=True
)  # other options could make the bits of a row depend on its position
def descend_in_place(H, F, gram, n_rows, order, row_step, entry_step, n_passes, square_tol):
    """Run all passes block by block, in place; entry k of row i of H is at position i row_step + k entry_step."""
    padded = len(gram) - len(gram) % COLUMNS  # the remainder is 0; written so that the compiler knows it
    codes, targets = np.zeros((padded, BLOCK), H.dtype), np.zeros((padded, BLOCK), H.dtype)
    slope, next_slope = np.empty(BLOCK, H.dtype), np.empty(BLOCK, H.dtype)
    moved, limit, stopped = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.bool_)
    violation = 0.0
    for start in range(0, n_rows, BLOCK):
        count = min(BLOCK, n_rows - start)
        width = count + -count % LANES  # the results of padding rows are not used
        for k in range(order):
            for s in range(count):
                codes[k, s] = H[(start + s) * row_step + k * entry_step]
                targets[k, s] = F[(start + s) * row_step + k * entry_step]
        for s in range(count):
            limit[s] = 0
            stopped[s] = False
            if square_tol > 0:
                for k in range(order):
                    limit[s] += square_tol * np.float64(targets[k, s]) ** 2
        n_moving = count
        for number in range(n_passes):
            measured = number == 0 or square_tol > 0
            for s in range(width):
                moved[s] = 0
            for k in range(0, order + order % 2 - 1, 2):
                coupling = gram[k + 1, k]
                for s in range(width):
                    slope[s] = targets[k, s]
                    next_slope[s] = targets[k + 1, s] + coupling * codes[k, s]
                for j in range(0, padded, COLUMNS):
                    a0, a1, a2, a3 = gram[k, j], gram[k, j + 1], gram[k, j + 2], gram[k, j + 3]
                    b0, b1, b2, b3 = gram[k + 1, j], gram[k + 1, j + 1], gram[k + 1, j + 2], gram[k + 1, j + 3]
                    for s in range(width):
                        c0, c1, c2, c3 = codes[j, s], codes[j + 1, s], codes[j + 2, s], codes[j + 3, s]
                        slope[s] -= a0 * c0 + a1 * c1 + a2 * c2 + a3 * c3
                        next_slope[s] -= b0 * c0 + b1 * c1 + b2 * c2 + b3 * c3
                for entry in range(k, k + 2):
                    curvature = gram[entry, entry]
                    if curvature <= 0:
                        for s in range(width):
                            if targets[entry, s] < 0:
                                codes[entry, s] = 0
                    elif measured:
                        for s in range(width):
                            old = codes[entry, s]
                            new = old + slope[s] / curvature
                            new = new if new > 0 else new * 0
                            codes[entry, s] = new
                            move = np.float64(curvature * (new - old))
                            moved[s] += move * move
                    else:
                        for s in range(width):
                            new = codes[entry, s] + slope[s] / curvature
                            codes[entry, s] = new if new > 0 else new * 0
                    for s in range(width):
                        slope[s] = next_slope[s] - coupling * codes[k, s]
            if number == 0:
                for s in range(count):
                    violation += moved[s]
            if square_tol > 0:
                for s in range(count):
                    if not stopped[s] and not moved[s] > limit[s]:
                        stopped[s] = True
                        n_moving -= 1
                        for k in range(order):
                            H[(start + s) * row_step + k * entry_step] = codes[k, s]
                if n_moving == 0:
                    break
        for s in range(count):
            if not stopped[s]:
                for k in range(order):
                    H[(start + s) * row_step + k * entry_step] = codes[k, s]
    return violation
