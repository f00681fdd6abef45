"""Mutated data files are read or refused in one sentence, whatever the format; see `fuzz.data_child` for the rules.

The long run is ``pytest -m slow tests/fuzz``.
"""

import json
import sys

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from scipy.io import wavfile

from deepnmf.reading import SUFFIXES
from fuzz.reports import report_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
ROWS = 12
FOREIGN = (".mat", ".h5ad", ".h5mu")  # some damaged files crash SciPy, or make HDF5 run forever
FORMATS = [suffix for suffix in SUFFIXES if suffix not in FOREIGN]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A small file of every format."""
    folder = tmp_path_factory.mktemp("data")
    X, y = np.random.default_rng(0).random((ROWS, 4)).round(3), np.arange(ROWS) % 3
    names = ["iron", "oak", "rain", "salt"]
    paths = {suffix: folder / f"original{suffix}" for suffix in FORMATS}
    np.save(paths[".npy"], X)
    np.savez(paths[".npz"], X=X, y=y)
    for suffix, delimiter in ((".csv", ","), (".tsv", "\t")):
        np.savetxt(paths[suffix], X, delimiter=delimiter, header=delimiter.join(names), comments="", fmt="%.3f")
    parquet.write_table(pyarrow.table(dict(zip(names, X.T, strict=True))), paths[".parquet"])
    lines = [{"text": f"oak and iron in the rain {i} salt", "label": int(label)} for i, label in enumerate(y)]
    paths[".jsonl"].write_text("\n".join(map(json.dumps, lines)))
    wavfile.write(paths[".wav"], 8000, (1000 * np.sin(np.arange(4000) / 5)).astype(np.int16))
    return folder


def test_a_few_hundred_mutated_data_files_are_read_or_refused(files):
    report = report_of("data_child", files, "short", "600")
    assert report["failures"] == []
    assert {case.split()[0] for case in report["outcomes"]} == set(FORMATS)


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(5))
def test_ten_thousand_mutated_data_files_are_read_or_refused(files, piece):
    report = report_of("data_child", files, f"piece {piece}", "2000")
    assert report["failures"] == []
