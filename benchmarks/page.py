"""Functions that the pages of the benchmarks share."""

import platform
import time

import numpy as np

import deepnmf
from reproduction.pages import commit, machine, table, versions

__all__ = ["commit", "described", "fitted", "named", "spread", "table", "versions"]


def described() -> str:
    """Return the machine, the commit (outside of git, none), and the versions."""
    known = f"Commit {commit()}, deepnmf" if commit() else "deepnmf"
    return f"{machine()}. {known} {deepnmf.__version__}, Python {platform.python_version()}, {versions()}."


def named(model) -> str:
    """Return the name of a model with its size, without other parameters."""
    sizes = getattr(model, "layer_sizes", None) or model.n_components
    return f"`{type(model).__name__}({sizes})`"


def fitted(model, X, *args, **kwargs):
    """Fit a model, and return it with the seconds of the fit."""
    began = time.perf_counter()
    model.fit(X, *args, **kwargs)
    return model, time.perf_counter() - began


def spread(values, digits=3) -> str:
    """Return the mean and the standard deviation of the values that are not NaN."""
    return f"{np.nanmean(values):.{digits}f} ± {np.nanstd(values):.{digits}f}"
