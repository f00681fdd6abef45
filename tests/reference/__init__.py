"""The published algorithms, transcribed line by line in NumPy: slow and simple, the oracles of the library.

Samples are rows: X (n x p) ≈ H Z_m ··· Z_1, Z_l of shape r_l x r_{l-1} with r_0 = p. The papers have them as
columns, so each of their formulas stands here transposed.
"""
