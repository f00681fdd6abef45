"""How fast: `python -m benchmarks.speed NAME`, from the root of the repository, writes `docs/benchmarks/speed_NAME.md`.

The shape is that of benchopt, and each of its three questions has one file: what is minimized (`objective`), on what
data (`problems`), by whom (`solvers`). `timing` has the rules of measuring, `plots` the pictures, and every named
benchmark is one file with a `page` function: `shallow`, `defaults`, `sweep`, `deep`, `growth`, `startup`.

To add a problem, add a function to `problems.PROBLEMS`; to add a contender, add a `Solver` to `solvers.SOLVERS`.
The contenders come with `pip install deepnmf[bench]`; one that is missing is left out, and its page says so. The
real data are read from the folder DEEPNMF_DATA; without it their problems are left out.
"""
