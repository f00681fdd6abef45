"""The choice of a display: pictures, curves, words, or columns of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.models.factorization import Factorization
from deepnmf.models.saving import input_names
from deepnmf.plotting.image_shapes import ImageShape, check_image_shape
from deepnmf.report.display import Curves, Display, Pictures
from deepnmf.report.evaluation import Evaluation
from deepnmf.report.named_columns import Columns, Words

MOST_TABLE_COLUMNS = 60  # with more named columns, a feature is a list of words with the largest weights


@dataclass(frozen=True)
class ShownAs:
    """How features and samples are shown: pictures if there is a shape, curves if there is an axis, otherwise names.

    Parameters
    ----------
    image_shape, feature_names, axis, axis_label : see `deepnmf.report.write_report`
    """

    image_shape: ImageShape | None = None
    feature_names: Sequence[str] | None = None
    axis: Any = None
    axis_label: str | None = None

    def check(self, model: Factorization) -> None:
        """Raise an error if an argument does not fit the model, before anything is computed."""
        n_inputs = model.features_[0].shape[1]
        check_image_shape(self.image_shape, n_inputs)
        if self.axis is not None:
            _check_axis(self.axis, n_inputs)
        self.column_names(model)

    def column_names(self, model: Factorization) -> list[str] | None:
        """Return the names of the inputs: the given ones, or those of the data frame of the fit."""
        names = input_names(model) if self.feature_names is None else self.feature_names
        return (
            None if names is None else check_names(names, model.features_[0].shape[1], "feature_names", "input feature")
        )

    def display(self, evaluation: Evaluation) -> Display:
        """Choose the display; names of at most 60 columns that are not sparse are a table, other names are words."""
        self.check(evaluation.model)
        names, columns = self.column_names(evaluation.model), evaluation.columns
        if self.image_shape is not None:
            return Pictures(tuple(map(int, self.image_shape)))
        if self.axis is not None:
            return Curves(_check_axis(self.axis, len(columns.means)), self.axis_label or "axis")
        if names is None:
            return Curves(np.arange(1, len(columns.means) + 1, dtype=np.float64), self.axis_label or "input feature")
        if len(names) <= MOST_TABLE_COLUMNS and not evaluation.rows.is_sparse:
            return Columns(names, columns.means, columns.deviations)
        return Words(names, columns.shares)


def check_names(names: Sequence[str], count: int, parameter: str, what: str) -> list[str]:
    """Return the names as text; raise an error if their number is wrong."""
    texts = [str(name) for name in names]
    if len(texts) != count:
        raise ValueError(f"{parameter} has {len(texts)} names: expected {count}, one per {what}.")
    return texts


def _check_axis(axis: Any, n_inputs: int) -> Array:
    values = np.asarray(axis, dtype=np.float64)
    if values.shape != (n_inputs,) or not np.isfinite(values).all():
        raise ValueError(
            f"axis has shape {values.shape}: expected {n_inputs} finite numbers, the position of each input feature."
        )
    return values
