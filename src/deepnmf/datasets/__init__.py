"""The benchmark data of the papers, and planted hierarchies.

Benchmark data are read from a folder of `.npz` files or Deng Cai's `.mat` files. Nothing is downloaded unless
requested, and no file is unpickled.

Examples
--------
>>> from deepnmf import datasets
>>> datasets.load_yale(data_home="nowhere")
Traceback (most recent call last):
    ...
FileNotFoundError: Data set 'yale_32x32': there is no file yale_32x32.npz or Yale_32x32.mat in nowhere. ...
"""

import os
from collections.abc import Callable

from sklearn.utils import Bunch

from deepnmf.datasets.hierarchies import make_hierarchy
from deepnmf.datasets.published import DATA_SETS, read

__all__ = [
    "load",
    "load_ar",
    "load_bbc",
    "load_birds",
    "load_cbcl",
    "load_coil20",
    "load_jaffe",
    "load_leukemia",
    "load_orl",
    "load_pbmc",
    "load_pie",
    "load_samson",
    "load_tdt2",
    "load_yale",
    "make_hierarchy",
]

Folder = str | os.PathLike[str] | None


def load(name: str, data_home: Folder = None) -> Bunch:
    """Load a benchmark data set.

    Parameters
    ----------
    name : str
        Name of the file without ``.npz``, such as ``"pie_pose27"``.
    data_home : path, optional
        The folder; by default the environment variable ``DEEPNMF_DATA``.

    Returns
    -------
    Bunch
        ``data`` (samples are rows, unscaled; CSR where the file is sparse), ``target`` if there are labels,
        and all other arrays of the file, by their names.

    Examples
    --------
    >>> load("mnist")
    Traceback (most recent call last):
        ...
    ValueError: There is no data set 'mnist': expected one of ar_faces, bbc_news, ...
    """
    if name not in DATA_SETS:
        raise ValueError(f"There is no data set {name!r}: expected one of {', '.join(DATA_SETS)}.")
    return read(DATA_SETS[name], data_home)


def load_orl(data_home: Folder = None, *, download_if_missing: bool = False) -> Bunch:
    """Load the ORL faces, 40 people, 10 images each.

    Parameters
    ----------
    data_home : path, optional
        The folder; by default the environment variable ``DEEPNMF_DATA``.
    download_if_missing : bool, default=False
        If the file is missing, use scikit-learn's Olivetti faces (the same images, 64 x 64, from 0 to 1), which
        `sklearn.datasets.fetch_olivetti_faces` downloads.

    Returns
    -------
    Bunch
        ``data``, ``target``, ``image_shape``.

    Examples
    --------
    >>> load_orl("nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: Data set 'orl_32x32': there is no file orl_32x32.npz or ORL_32x32.mat in nowhere. ...
    """
    try:
        return load("orl_32x32", data_home)
    except FileNotFoundError:
        if not download_if_missing:
            raise
    from sklearn.datasets import fetch_olivetti_faces  # noqa: PLC0415 - needed for downloads only

    faces = fetch_olivetti_faces()
    return Bunch(data=faces.data, target=faces.target, image_shape=faces.images.shape[1:])


def _loader(name: str) -> Callable[[Folder], Bunch]:
    def load_one(data_home: Folder = None) -> Bunch:
        return load(name, data_home)

    load_one.__doc__ = f"""Load {DATA_SETS[name].content}.

    Published by {DATA_SETS[name].origin}.

    Parameters
    ----------
    data_home : path, optional
        The folder of {" or ".join(DATA_SETS[name].files)}; by default the environment variable ``DEEPNMF_DATA``.

    Returns
    -------
    Bunch
        ``data``, ``target`` if there are labels, and all other arrays of the file, by their names.

    Examples
    --------
    >>> from deepnmf import datasets
    >>> datasets.load("{name}", data_home="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: Data set '{name}': there is no file ...
    """
    return load_one


load_ar = _loader("ar_faces")
load_bbc = _loader("bbc_news")
load_birds = _loader("esc50_birds")
load_cbcl = _loader("cbcl_faces_19x19")
load_coil20 = _loader("coil20_32x32")
load_jaffe = _loader("jaffe_32x32")
load_leukemia = _loader("leukemia_golub")
load_pbmc = _loader("pbmc68k_reduced")
load_pie = _loader("pie_pose27")
load_samson = _loader("samson_95x95")
load_tdt2 = _loader("tdt2_30")
load_yale = _loader("yale_32x32")
