"""Measure how well layer sizes are chosen: `python -m benchmarks.selection PART`, from the root of the repository.

A part is one of `single-layers-100`, `single-layers-500`, `single-layers-2000` (planted ranks, by the number of rows),
`counts`, `count-limits`, `hierarchies`, `real` and `cost`. Each kind of part has its own file. Every choice is saved in
`docs/benchmarks/.selection.jsonl` as soon as it is available (see `benchmarks.parts`), and
`python -m benchmarks.selection.picture` draws saved searches.

`rules` contains the rules that are compared with `select_layers`. The real data are read from the folder DEEPNMF_DATA.
"""
