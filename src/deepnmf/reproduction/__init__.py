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
    gdnmf,
    gdnmf_layers,
    gdnmf_parts,
    gdnmf_runtime,
    gdnmf_sensitivity,
    genes,
    network,
    nsnmf_layers,
    semi_depth,
    sparse_deep_nmf,
    sparse_orl,
    sparse_structure,
    topics,
    unmixing,
)
from deepnmf.reproduction.experiment import Data, Experiment, Plan
from deepnmf.reproduction.running import Kept, OtherResultsError, run
from deepnmf.reproduction.writing import write_page

__all__ = ["EXPERIMENTS", "Data", "Experiment", "Kept", "OtherResultsError", "Plan", "run", "write_page"]

MODULES = (
    deep_nsnmf,
    nsnmf_layers,
    sparse_deep_nmf,
    sparse_orl,
    sparse_structure,
    deep_semi_nmf,
    semi_depth,
    deep_wsf,
    attributes,
    network,
    gdnmf,
    gdnmf_layers,
    gdnmf_parts,
    gdnmf_sensitivity,
    gdnmf_runtime,
    unmixing,
    topics,
    genes,
)
EXPERIMENTS = {experiment.name: experiment for module in MODULES for experiment in module.EXPERIMENTS}
