"""The choice of layer sizes by the error of models at hidden entries."""

from deepnmf.selection.comparison import Candidate
from deepnmf.selection.consensus import Consensus
from deepnmf.selection.layers import select_layers
from deepnmf.selection.result import Selection

__all__ = ["Candidate", "Consensus", "Selection", "select_layers"]
