"""Measure speed: `python -m benchmarks.speed NAME`, from the root of the repository.

This command writes `docs/benchmarks/speed_NAME.md`. The structure is that of benchopt, with one file for the
loss that is minimized (`objective`), one for the data (`problems`), and one for the contenders (`solvers`). `timing`
contains the rules for measuring times, and `plots` the figures. Every named benchmark is one file with a `page`
function: `shallow`, `families`, `defaults`, `small`, `sweep`, `deep`, `growth`, `startup`.

To add a problem, add a function to `problems.PROBLEMS`; to add a contender, add a `Solver` to `solvers.SOLVERS`.
The contenders are installed by `pip install deepnmf[bench]`. If one of them is missing, it is left out, and the page
says so. The real data are read from the folder DEEPNMF_DATA. Without this folder, their problems are left out.
"""
