"""The papers' tables and figures, each with its command: ``deepnmf reproduce --list``.

An experiment is a list of trials, which run in any order and are kept as they end, and a page made of what they gave.

Examples
--------
>>> from deepnmf.reproduction import EXPERIMENTS
>>> EXPERIMENTS["dnsnmf-yale"].title
'Deep nsNMF, Table III: clustering Yale faces'
"""

from deepnmf.reproduction import (
    attributes,
    deep_nsnmf,
    deep_semi_nmf,
    deep_wsf,
    semi_depth,
    sparse_deep_nmf,
    sparse_orl,
    sparse_structure,
)
from deepnmf.reproduction.experiment import Data, Experiment, Plan
from deepnmf.reproduction.running import Kept, OtherResultsError, run
from deepnmf.reproduction.writing import write_page

__all__ = ["EXPERIMENTS", "Data", "Experiment", "Kept", "OtherResultsError", "Plan", "run", "write_page"]

PAPERS = (deep_nsnmf, deep_semi_nmf, semi_depth, deep_wsf, attributes, sparse_deep_nmf, sparse_orl, sparse_structure)
EXPERIMENTS = {experiment.name: experiment for paper in PAPERS for experiment in paper.EXPERIMENTS}
