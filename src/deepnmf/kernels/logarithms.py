"""Logarithms by operations that a compiler can vectorize, in double precision.

x = 2^e m with √½ <= m < √2, and log m = 2 artanh t = 2 (t + t³/3 + t⁵/5 + ...), t = (m-1)/(m+1), |t| < 0.172. A loop
first splits its numbers, and then computes the logarithm of each from its parts.
"""

import numpy as np

from deepnmf.kernels.compilation import inlined_loop

ROOT_HALF_BITS = 0x3FE6A09E667F3BCD  # of √½ in double precision
LOG_2 = 0.6931471805599453


@inlined_loop
def split_powers(values, mantissas):
    """Write every m to `mantissas`, and return every e, in the memory of the values."""
    bits, mantissa_bits = values.view(np.int64), mantissas.view(np.int64)
    for t in range(len(bits)):
        exponent = (bits[t] - ROOT_HALF_BITS) >> 52
        mantissa_bits[t] = bits[t] - (exponent << 52)
        bits[t] = exponent
    return bits


@inlined_loop
def log_of_parts(mantissa, exponent):
    """The logarithm of a split number."""
    t = (mantissa - 1) / (mantissa + 1)
    q = t * t
    odd = 2 / 11 + q * (2 / 13 + q * (2 / 15 + q * (2 / 17 + q * (2 / 19))))
    odd = t * (2 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9 + q * odd)))))
    return odd + exponent * LOG_2
