"""Are the hierarchies real: `python -m benchmarks.hierarchy PART`, from the root of the repository.

A part is one of `planted`, `real`, `leplat`, `levels`, `stability`, a file each with its cases, what is measured of one
fit, and the table. Every fit is kept in `docs/benchmarks/.hierarchy.jsonl` as soon as it is made (see
`benchmarks.parts`).

`contenders` has the models: every deep one of the package at its defaults, and variants, a line each. The real data are
read from the folder DEEPNMF_DATA.
"""
