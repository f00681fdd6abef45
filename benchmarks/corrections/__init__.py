"""Corrections of the papers' models, measured before and after: `python -m benchmarks.corrections NAME`.

Needs the environment variable DEEPNMF_DATA: the folder of the data sets.
"""
