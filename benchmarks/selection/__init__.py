"""How well layer sizes are chosen: `python -m benchmarks.selection PART`, from the root of the repository.

A part is one of `single-layers-100`, `single-layers-500`, `single-layers-2000` (planted ranks, by the number of rows),
`counts`, `count-limits`, `hierarchies`, `real` and `cost`, a file each. Every choice is kept in `docs/benchmarks/.selection.jsonl` as
soon as it is made (see `benchmarks.parts`); `python -m benchmarks.selection.picture` draws searches that are kept.

`rules` has the rules that are compared with `select_layers`. The real data are read from the folder DEEPNMF_DATA.
"""
