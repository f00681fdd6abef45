"""What the pages of the benchmarks have in common."""

import os
import platform
import subprocess
import time

import numpy as np
import scipy
import sklearn

import deepnmf


def described() -> str:
    """Say on what this was run."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return (
        f"Commit {commit.stdout.strip()}, deepnmf {deepnmf.__version__}, Python {platform.python_version()}, "
        f"{versions}, {os.cpu_count()} cores."
    )


def fitted(model, X, *args, **kwargs):
    """Fit and time."""
    began = time.perf_counter()
    model.fit(X, *args, **kwargs)
    return model, time.perf_counter() - began


def spread(values, digits=3) -> str:
    """Mean and deviation of what there is."""
    return f"{np.nanmean(values):.{digits}f} ± {np.nanstd(values):.{digits}f}"
