"""Fits to AnnData objects, single-cell data with annotations, and to one modality of MuData objects."""

from typing import Any

import numpy as np

from deepnmf.arrays import Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.version import __version__


def fit_anndata(
    model: Factorization,
    adata: Any,
    y: Any = None,
    *,
    layer: str | None = None,
    modality: str | None = None,
    key: str | None = None,
) -> Any:
    """Fit a model to an AnnData object, and store codes and features where single-cell tools expect them.

    The matrix may be sparse or dense; float32 and float64 data are not copied. The results have the layout that scverse
    tools use for embeddings:

    - ``obsm["X_key"]``: codes of the top layer; ``obsm["X_key_1"]``: those of the lowest layer, and so on;
    - ``varm["key"]``: features of the top layer, one column each; ``varm["key_1"]``: those of the lowest layer;
    - ``uns["key"]``: the name of the model, its parameters, the layer of the data, layer sizes, loss, the shares
      explained, and the version of deepnmf.

    The model keeps the names of the genes (``var_names``) and uses them in `top_features`, `report` and model files.

    Parameters
    ----------
    model : any model of deepnmf
        The model is fitted in place.
    adata : AnnData or MuData
        The object is changed in place.
    y : str or array-like, optional
        Labels for models that learn from them: a column of ``obs``, or one label per cell.
    layer : str, optional
        Fit ``adata.layers[layer]`` instead of ``adata.X``.
    modality : str, optional
        The modality of a MuData object, which gets the results.
    key : str, optional
        The key of the results; by default the name of the model's class in lower case.

    Returns
    -------
    AnnData or MuData
        The same object.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> from deepnmf import DeepNMF, fit_anndata
    >>> adata = AnnData(np.random.default_rng(0).random((50, 20)))  # doctest: +SKIP
    >>> model = DeepNMF((8, 4), random_state=0)
    >>> adata = fit_anndata(model, adata)  # doctest: +SKIP
    >>> adata.obsm["X_deepnmf"].shape, adata.varm["deepnmf_1"].shape  # doctest: +SKIP
    ((50, 4), (20, 8))

    With scanpy, ``sc.pp.neighbors(adata, use_rep="X_deepnmf")`` and ``sc.tl.umap(adata)`` embed the codes, and
    ``sc.pl.embedding(adata, "umap", color="cell_type")`` draws them. ``model.report("cells.html", adata, "cell_type")``
    writes the report.
    """
    cells = adata if modality is None else _modality(adata, modality)
    X, name = matrix(cells, layer), type(model).__name__.lower() if key is None else key
    model.fit(X, _labels(cells, y))
    depth = len(model.features_)
    for number, features in enumerate(model.features_, start=1):
        under = name if number == depth else f"{name}_{number}"
        cells.obsm[f"X_{under}"] = np.asarray(model.encode(X, number - 1))
        cells.varm[under] = np.ascontiguousarray(features.T)
    cells.uns[name] = _provenance(model, layer)
    model.input_names_ = np.array(cells.var_names, dtype=object)
    return adata


def page_content(cells: Any, y: Any, content: dict[str, Any]) -> tuple[Matrix, Any, dict[str, Any]]:
    """Return the data, the labels and the names of a report, whose labels may be a column of ``obs``."""
    layer = content.pop("layer", None)
    names = {"feature_names": list(cells.var_names), "sample_names": list(cells.obs_names)}
    return matrix(cells, layer), _labels(cells, y), names | content


def is_annotated(X: Any) -> bool:
    """Whether X is an AnnData object. This does not import anndata, which is already imported if X is one."""
    return type(X).__module__.partition(".")[0] == "anndata"


def matrix(cells: Any, layer: str | None) -> Matrix:
    """Return X or a layer."""
    if layer is None:
        return cells.X
    if layer not in cells.layers:
        raise ValueError(
            f"layer is {layer!r}: expected {'one of ' + ', '.join(cells.layers) if len(cells.layers) else 'None'}."
        )
    return cells.layers[layer]


def _modality(mdata: Any, modality: str) -> Any:
    if modality not in mdata.mod:
        raise ValueError(f"modality is {modality!r}: expected one of {', '.join(mdata.mod)}.")
    return mdata.mod[modality]


def _labels(cells: Any, y: Any) -> Any:
    """Return a column of ``obs`` by its name, with text instead of categories; other labels as they are."""
    if not isinstance(y, str):
        return y
    if y not in cells.obs:
        raise ValueError(f"y is {y!r}: expected a column of obs, one of {', '.join(map(str, cells.obs.columns))}.")
    return np.asarray(cells.obs[y].astype(object))


def _provenance(model: Factorization, layer: str | None) -> dict[str, Any]:
    """Return the origin of the results as text and numbers that AnnData files can store."""
    return {
        "model": type(model).__name__,
        "params": {name: str(value) for name, value in model.get_params(deep=False).items()},
        "layer": layer or "X",
        "layer_sizes": np.array([len(C) for C in model.features_]),
        "loss": model._learned.divergence.name,
        "reconstruction_err": float(model.reconstruction_err_),
        "explained": np.array(model._explained if model._explained is not None else []),
        "stop_reason": model.stop_reason_,
        "version": __version__,
    }
