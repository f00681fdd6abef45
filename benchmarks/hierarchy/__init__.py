"""Measure whether hierarchies are real: `python -m benchmarks.hierarchy PART`, from the root of the repository.

A part is one of `planted`, `real`, `leplat`, `levels` and `stability`. Each part is one file, which defines its cases,
the values that are measured for one fit, and the table. Every result is saved in `docs/benchmarks/.hierarchy.jsonl` as
soon as it is available (see `benchmarks.parts`).

`contenders` contains the models: every deep model of the package with default parameters, and variants, one per line.
The real data are read from the folder DEEPNMF_DATA.
"""
