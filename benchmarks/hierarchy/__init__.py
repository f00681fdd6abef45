"""Are the hierarchies real: `python -m benchmarks.hierarchy PART`, from the root of the repository.

A part is one of `planted`, `real`, `leplat`, `levels`, `stability`, a file each with its cases, what is measured of one
fit, and the table. Every fit is kept in `docs/benchmarks/.hierarchy.jsonl` as soon as it is made, so a part may be
interrupted and goes on where it was; then `docs/benchmarks/hierarchy.md` is written from all that is kept.

`contenders` has the models: every deep one of the package at its defaults, and variants, a line each. The real data are
read from the folder DEEPNMF_DATA.
"""
