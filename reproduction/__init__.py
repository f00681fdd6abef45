"""The experiments of the papers, one module each: ``python -m reproduction --list``.

An experiment has a list of trials, which can run in any order, and a page that is written from their result rows.

Examples
--------
>>> from reproduction import EXPERIMENTS
>>> EXPERIMENTS["dnsnmf-yale"].title
'Deep nsNMF, Table III: clustering Yale faces'
"""

from reproduction import (
    causes,
    depth,
    dnsnmf_faces,
    dnsnmf_layers,
    dsnmf_attributes,
    dsnmf_depth,
    dsnmf_errors,
    dsnmf_pie,
    dsnmf_xor,
    gdnmf_labels,
    gdnmf_layers,
    gdnmf_parts,
    gdnmf_runtime,
    gdnmf_sensitivity,
    genes,
    network_accuracy,
    sdnmf_orl,
    sdnmf_pie,
    sdnmf_structure,
    topics,
    unmixing,
)

__all__ = ["EXPERIMENTS"]

MODULES = (
    dnsnmf_faces,
    dnsnmf_layers,
    sdnmf_pie,
    sdnmf_orl,
    sdnmf_structure,
    dsnmf_errors,
    dsnmf_pie,
    dsnmf_depth,
    dsnmf_xor,
    dsnmf_attributes,
    network_accuracy,
    gdnmf_labels,
    gdnmf_layers,
    gdnmf_parts,
    gdnmf_sensitivity,
    gdnmf_runtime,
    unmixing,
    topics,
    genes,
    depth,
    causes,
)
EXPERIMENTS = {experiment.name: experiment for module in MODULES for experiment in module.EXPERIMENTS}
