"""AnnData in and out: single-cell data with its annotations."""

from typing import Any

import numpy as np

from deepnmf.models.factorization import Factorization


def fit_anndata(model: Factorization, adata: Any, *, layer: str | None = None, key: str | None = None) -> Any:
    """Fit a model to annotated data and write codes and features where tools for single cells look for them.

    The matrix is used as it is, sparse or dense, without a copy where it holds float32 or float64. Codes of the top
    layer go into ``obsm["X_key"]``, its features into ``varm["key"]``; those of lower layers get the layer's number
    added, ``X_key_1`` and ``key_1`` for the lowest.

    Parameters
    ----------
    model : any model of deepnmf
        It is fitted in place.
    adata : AnnData
        It is written to in place.
    layer : str, optional
        The matrix ``adata.layers[layer]`` in place of ``adata.X``.
    key : str, optional
        The name to write under; by default the model's class in small letters.

    Returns
    -------
    AnnData
        The same object.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> from deepnmf import DeepNSNMF, fit_anndata
    >>> adata = AnnData(np.random.default_rng(0).random((50, 20)))  # doctest: +SKIP
    >>> adata = fit_anndata(DeepNSNMF((8, 4)), adata)  # doctest: +SKIP
    >>> adata.obsm["X_deepnsnmf"].shape, adata.varm["deepnsnmf_1"].shape  # doctest: +SKIP
    ((50, 4), (20, 8))
    """
    X = adata.X if layer is None else adata.layers[layer]
    name = type(model).__name__.lower() if key is None else key
    model.fit(X)
    depth = len(model.features_)
    for number, features in enumerate(model.features_, start=1):
        under = name if number == depth else f"{name}_{number}"
        adata.obsm[f"X_{under}"] = np.asarray(model.encode(X, number - 1))
        adata.varm[under] = np.ascontiguousarray(features.T)
    return adata
