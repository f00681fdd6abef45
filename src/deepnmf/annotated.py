"""Fits to AnnData objects: single-cell data with annotations."""

from typing import Any

import numpy as np

from deepnmf.models.factorization import Factorization


def fit_anndata(model: Factorization, adata: Any, *, layer: str | None = None, key: str | None = None) -> Any:
    """Fit a model to an AnnData object, and store codes and features where single-cell tools expect them.

    The matrix is used as it is, sparse or dense, and float32 or float64 data are not copied. The codes of the top layer
    are stored in ``obsm["X_key"]`` and its features in ``varm["key"]``; the names for lower layers end in the number of
    the layer, ``X_key_1`` and ``key_1`` for the lowest.

    Parameters
    ----------
    model : any model of deepnmf
        The model is fitted in place.
    adata : AnnData
        The object is changed in place.
    layer : str, optional
        Fit ``adata.layers[layer]`` instead of ``adata.X``.
    key : str, optional
        The key of the results; by default the name of the model's class in lower case.

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
