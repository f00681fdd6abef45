"""What a report is about: a fitted model, data, and the names of everything."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.plotting.groups import ClassNames, Groups, groups_of, labelled, recorded
from deepnmf.plotting.shapes import ImageShape, check_image_shape
from deepnmf.report.display import Curves, Display, Pictures, Words
from deepnmf.report.rows import Rows, squared_errors
from deepnmf.report.scores import LayerScore, encoded_layers, scores_of


@dataclass(frozen=True)
class Subject:
    """A model at work on data: its codes, what they are worth, and what samples are grouped by."""

    model: Factorization
    rows: Rows
    codes: list[Array]
    scores: list[LayerScore]
    explained: float
    groups: Groups
    labels: Groups | None

    @classmethod
    def of(
        cls, model: Factorization, X: Matrix, y: Any = None, class_names: ClassNames = None, groups: Any = None
    ) -> "Subject":
        """Encode and score X once, for all that is shown."""
        checked_model(model)
        codes, rows = encoded_layers(model, X, groups), Rows(X)
        errors, sqnorm = squared_errors(model, rows, codes)
        labels, recordings = labelled(y, rows.n_samples, class_names), recorded(groups, rows.n_samples)
        return cls(
            model=model,
            rows=rows,
            codes=codes,
            scores=scores_of(model, codes, errors, labels),
            explained=1 - float(errors[-1]) / sqnorm if sqnorm > 0 else 1.0,
            groups=labels or recordings or groups_of(None, codes[-1]),
            labels=labels,
        )

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.codes)


def checked_model(model: Any) -> Factorization:
    """Refuse what has no layers to show."""
    if not isinstance(model, Factorization):
        raise TypeError(f"model is of type {type(model).__name__}: expected a fitted model of deepnmf.")
    check_is_fitted(model)
    return model


def display_of(
    model: Factorization,
    image_shape: ImageShape | None = None,
    feature_names: Sequence[str] | None = None,
    axis: Any = None,
) -> Display:
    """Pictures where there is a shape, curves where there is an axis, words where inputs have names, else curves."""
    n_inputs = model.features_[0].shape[1]
    check_image_shape(image_shape, n_inputs)
    if image_shape is not None:
        return Pictures(tuple(map(int, image_shape)))  # type: ignore[arg-type]
    if axis is not None:
        return Curves(_checked_axis(axis, n_inputs))
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    if names is not None:
        return Words(checked_names(names, n_inputs, "feature_names", "input feature"))
    return Curves(np.arange(n_inputs, dtype=np.float64))


def checked_names(names: Sequence[str], count: int, parameter: str, what: str) -> list[str]:
    """Names as text, one each."""
    texts = [str(name) for name in names]
    if len(texts) != count:
        raise ValueError(f"{parameter} has {len(texts)} names, but there are {count}: one a {what} is expected.")
    return texts


def _checked_axis(axis: Any, n_inputs: int) -> Array:
    values = np.asarray(axis, dtype=np.float64)
    if values.shape != (n_inputs,) or not np.isfinite(values).all():
        raise ValueError(
            f"axis has shape {values.shape}: expected {n_inputs} finite numbers, the place of each input feature."
        )
    return values
