"""Measure models of papers before and after a correction: `python -m benchmarks.corrections NAME`.

It needs the environment variable DEEPNMF_DATA, the folder of the data sets.
"""
