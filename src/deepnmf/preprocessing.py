"""Transformers before a model: columns in different units, and image features of both signs for Semi-NMF models."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from deepnmf.masks import with_holes

__all__ = ["ColumnScaler", "ImageGradientOrientations"]

DIFFERENT_UNITS = 10.0  # the largest and the smallest maximum of columns in the same units differ by less


class ColumnScaler(MaxAbsScaler):
    """Divide each column by its largest magnitude, if the columns are in different units.

    Squared error is dominated by the columns with the largest numbers: in a table with milligrams of one substance and
    grams of another, a model would describe only the first. Columns are considered to be in different units if their
    largest magnitudes differ by more than `factor`. Zeros stay zeros, sparse data stay sparse, and NaN stays NaN.

    Parameters
    ----------
    factor : float, default=10
        Columns are scaled if the largest of their maxima is more than `factor` times the smallest; columns of zeros are
        ignored. With 0 they are always scaled, as by scikit-learn's `MaxAbsScaler`.
    copy : bool, default=True
        Whether `transform` leaves its argument unchanged.

    Attributes
    ----------
    scale_ : array of shape (n_features,)
        The divisor of each column; 1 if the columns are in the same units.
    max_abs_ : array of shape (n_features,)
        The largest magnitude of each column.
    n_samples_seen_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from deepnmf import NMF
    >>> from deepnmf.preprocessing import ColumnScaler
    >>> float(ColumnScaler().fit_transform(load_wine().data).max())  # columns had maxima from 0.66 to 1680
    1.0
    >>> float(ColumnScaler().fit_transform(load_iris().data).max())  # all columns are in centimeters
    7.9
    >>> make_pipeline(ColumnScaler(), NMF(3, random_state=0)).fit_transform(load_wine().data).shape
    (178, 3)
    """

    def __init__(self, factor: float = DIFFERENT_UNITS, *, copy: bool = True) -> None:
        super().__init__(copy=copy)
        self.factor = factor

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Update the largest magnitudes of the columns with a batch of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from deepnmf.preprocessing import ColumnScaler
        >>> X = load_wine().data
        >>> scaler = ColumnScaler().partial_fit(X[:100]).partial_fit(X[100:])
        >>> float(scaler.transform(X).max())
        1.0
        """
        super().partial_fit(X, y)
        if not in_different_units(self.max_abs_, self.factor):
            self.scale_ = np.ones_like(self.max_abs_)
        return self


def in_different_units(maxima: NDArray[Any], factor: float = DIFFERENT_UNITS) -> bool:
    """Whether the largest magnitudes of columns differ by more than a factor; columns of zeros are ignored."""
    known = maxima[maxima > 0]
    return len(known) > 0 and bool(known.max() > factor * known.min())


class ImageGradientOrientations(TransformerMixin, BaseEstimator):
    """Direction of the brightness gradient at each pixel, as cosine and sine of its angle.

    Orientations do not depend on contrast or on the strength of the light, which change from image to image of one
    face. The features have both signs, as `SemiNMF` and `DeepSemiNMF` allow.

    Parameters
    ----------
    image_shape : tuple of two ints or None, default=None
        Height and width of the images; a row of X contains the pixels row by row. None means images of height 1.

    Attributes
    ----------
    n_features_in_, feature_names_in_

    References
    ----------
    Tzimiropoulos, Zafeiriou & Pantic, "Subspace learning from image gradient orientations", 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from deepnmf import DeepSemiNMF, ImageGradientOrientations
    >>> model = make_pipeline(ImageGradientOrientations((8, 8)), DeepSemiNMF((40, 10), random_state=0))
    >>> model.fit_transform(load_digits().data).shape
    (1797, 10)
    """

    def __init__(self, image_shape: tuple[int, int] | None = None) -> None:
        self.image_shape = image_shape

    def fit(self, X: Any, y: object = None) -> Self:
        """Check that rows of X are images of the given shape.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import ImageGradientOrientations
        >>> X = load_digits().data
        >>> ImageGradientOrientations((8, 8)).fit(X).n_features_in_
        64
        """
        X = self._validated(X, reset=True)
        self._checked_shape(X.shape[1])
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the cosines of all pixels, then the sines; both are 0 where the image is constant.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)

        Returns
        -------
        array of shape (n_samples, 2 * height * width)

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import ImageGradientOrientations
        >>> X = load_digits().data
        >>> ImageGradientOrientations((8, 8)).fit(X).transform(X[:3]).shape
        (3, 128)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        images = X.reshape(-1, *self._checked_shape(X.shape[1]))
        down, right = _differences(images, axis=1), _differences(images, axis=2)
        steepness = np.hypot(right, down)
        flat = steepness == 0
        steepness[flat] = 1
        return np.hstack([(right / steepness).reshape(X.shape), (down / steepness).reshape(X.shape)])

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the output features: cos0, cos1, ..., sin0, sin1, ...

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import ImageGradientOrientations
        >>> transformer = ImageGradientOrientations((8, 8)).fit(load_digits().data)
        >>> print(transformer.get_feature_names_out()[63:65])
        ['cos63' 'sin0']
        """
        check_is_fitted(self)
        return np.array([f"{part}{i}" for part in ("cos", "sin") for i in range(self.n_features_in_)], dtype=object)

    def _validated(self, X: Any, *, reset: bool) -> NDArray[Any]:
        return np.asarray(validate_data(self, with_holes(X), reset=reset, dtype=[np.float64, np.float32]))

    def _checked_shape(self, n_features: int) -> tuple[int, int]:
        shape = (1, n_features) if self.image_shape is None else tuple(self.image_shape)
        if len(shape) != 2 or shape[0] < 1 or shape[0] * shape[1] != n_features:
            raise ValueError(
                f"image_shape is {self.image_shape!r}, but X has {n_features} features: "
                "expected a height and a width with that product."
            )
        return int(shape[0]), int(shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _differences(images: NDArray[Any], axis: int) -> NDArray[Any]:
    return np.asarray(np.gradient(images, axis=axis)) if images.shape[axis] > 1 else np.zeros_like(images)
