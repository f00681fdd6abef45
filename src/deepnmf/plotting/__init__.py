"""Pictures of what was learnt, as matplotlib figures."""

from deepnmf.plotting.codes import plot_codes
from deepnmf.plotting.hierarchy import plot_hierarchy
from deepnmf.plotting.loss import plot_loss

__all__ = ["plot_codes", "plot_hierarchy", "plot_loss"]
