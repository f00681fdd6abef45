"""Functions that the pages of the benchmarks share."""

import os
import platform
import subprocess
import time
from importlib import metadata
from pathlib import Path

import numpy as np
import scipy
import sklearn

import deepnmf


def described() -> str:
    """Return commit, versions and number of cores."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return (
        f"Commit {commit.stdout.strip()}, deepnmf {deepnmf.__version__}, Python {platform.python_version()}, "
        f"{versions}, {os.cpu_count()} cores."
    )


def machine() -> str:
    """Return the processor and the memory."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{names[0] if names else platform.processor()}, {memory:.0f} GB of memory."


def versions(packages) -> str:
    """Return the installed versions of packages; missing packages are marked."""
    return ", ".join(f"{package} {_version(package) or '(not installed)'}" for package in packages)


def _version(package) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def table(head, rows) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


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
