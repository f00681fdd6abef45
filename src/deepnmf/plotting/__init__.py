"""Matplotlib figures of fitted models."""

from deepnmf.plotting.components_plot import plot_components
from deepnmf.plotting.fit_plots import plot_codes, plot_loss
from deepnmf.plotting.hierarchy_plot import plot_hierarchy

__all__ = ["plot_codes", "plot_components", "plot_hierarchy", "plot_loss"]
