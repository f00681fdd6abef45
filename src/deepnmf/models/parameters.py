"""Parameters that several models share: what each one means, once, and which values it takes.

A docstring shows a shared text where a line is its name in braces. The rules that values are checked by are found by
the names in a model's constructor; a model states only those that are its own.
"""

from numbers import Integral, Real
from typing import Any, Literal

from numpy.random import RandomState
from sklearn.utils._param_validation import Interval, StrOptions  # scikit-learn's own rules have no public name

from deepnmf.checks import NNDSVD
from deepnmf.solvers.steps import SOLVERS

Init = Literal["nndsvd", "nndsvda", "nndsvdar", "random", "custom"] | None
FreeInit = Literal["svd", "kmeans", "random", "custom"]
SolverName = Literal["hals", "apg", "pg", "mu"]
KeepCodes = Literal["top", "all"]
CodeScale = Literal["norm", "rms"]
RandomStateLike = int | RandomState | None

Constraints = dict[str, list[Any]]


def at_least(low: float, kind: type = Real) -> Any:
    """Numbers from `low` on."""
    return Interval(kind, low, None, closed="left")


def between(low: float, high: float, closed: Literal["both", "left", "right"] = "both", kind: type = Real) -> Any:
    """Numbers from `low` to `high`."""
    return Interval(kind, low, high, closed=closed)


def one_of(*names: str) -> Any:
    """One of some words."""
    return StrOptions(set(names))


COUNT, WEIGHT = at_least(1, Integral), at_least(0)

CONSTRAINTS: Constraints = {
    "n_components": [COUNT],
    "layer_sizes": ["array-like", COUNT],
    "theta": [Real, "array-like"],
    "layer_weights": ["array-like", None],
    "beta_loss": [one_of("frobenius", "kullback-leibler", "itakura-saito"), Real],
    "init": [one_of(*NNDSVD, "random", "custom"), None],
    "solver": [one_of(*SOLVERS)],
    "max_iter": [COUNT],
    "tol": [WEIGHT],
    "pretrain_max_iter": [at_least(0, Integral)],
    "pretrain_tol": [WEIGHT],
    "output_layer": [Integral],
    "keep_codes": [one_of("top", "all")],
    "code_scale": [one_of("norm", "rms")],
    "graph_weights": [Real, "array-like"],
    "label_graph": [one_of("binary", "rbf", "dot")],
    "label_weight": [WEIGHT],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
}

TEXTS = {
    "n_components": """
        n_components : int, default=10
            Number of features.
        """,
    "layer_sizes": """
        layer_sizes : sequence of int, default=(100, 10)
            r_1..r_m, from the data upwards.
        """,
    "layer_weights": """
        layer_weights : sequence of float or None, default=None
            λ_1..λ_m in Σ_l λ_l d(X | H_l D_l), where every layer with a weight above 0 has codes of its own and
            explains the data. None is the published model, in which the top layer alone does: (0, ..., 0, 1).
            Without penalty and activation only.
        """,
    "init": """
        init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
            Start of each layer. None is "nndsvd", with random components above the rank. "custom" starts from the
            `factors` given to `fit`.
        """,
    "solver": """
        solver : {"hals", "apg", "pg", "mu"}, default="hals"
            How a block is updated: "hals" is coordinate descent (Cichocki & Zdunek), "apg" Nesterov's projected
            gradient (NeNMF), "pg" projected gradient with a line search (PgNMF), "mu" multiplicative (Lee & Seung).
            Above layer 1, where the columns of a factor depend on each other, "hals" makes steps of "apg".
        """,
    "beta_loss": """
        beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}, default="frobenius"
            The loss, a beta divergence: "frobenius" or 2 is squared error, "kullback-leibler" or 1 suits counts,
            "itakura-saito" or 0 suits power spectra and needs X > 0. Under losses other than squared error
            ``solver="mu"`` is the multiplicative update, and every other name stands for the fastest method there is.
        """,
    "max_iter": """
        max_iter : int, default=200
            At most so many iterations (sweeps over all factors) of the fine-tuning.
        """,
    "tol": """
        tol : float, default=1e-4
            Stop when the loss falls by less than this part of itself a sweep, on average over five sweeps. 0 disables
            every stopping test.
        """,
    "pretraining": """
        pretrain_max_iter : int, default=50
            At most so many sweeps of pre-training a layer.
        pretrain_tol : float, default=1e-4
            Tolerance of the pre-training.
        """,
    "output": """
        output_layer : int, default=-1
            The layer whose codes `transform` gives.
        keep_codes : {"top", "all"}, default="top"
            Whether `codes_` holds the top layer's codes or every layer's.
        """,
    "code_scale": """
        code_scale : {"norm", "rms"}, default="norm"
            "norm": features have unit norm, and codes carry the scale. "rms": codes have unit root mean square over the
            rows of the last fit, and features carry the scale; below the top layer of a linear chain these are the
            chain's own codes, H_m Z_m ··· Z_{l+1}, and below an activation only the top layer is scaled.
        """,
    "run": """
        random_state : int, RandomState or None, default=None
        verbose : int, default=0
            1 prints every tenth sweep, 2 each one.
        warm_start : bool, default=False
            Whether `fit` starts from the factors of the fit before instead of `init`, when there was one.
        """,
    "history": """
        n_iter_ : int
            Sweeps of the fine-tuning.
        stop_reason_ : {"decrease", "optimality", "max_iter", "interrupted", "on_sweep"}
        """,
    "hierarchy": """
        hierarchy_ : list of LayerSummary
            What each layer is like: the share it explains alone, dead features, copies of single features below, and
            how many parts a feature is made of. Not for a single layer.
        """,
    "fixed_attribute": """
        fixed_components_ : array of shape (n_fixed, n_features) or None
            The components that `fit` was told to keep, NaN where an entry was learned.
        """,
    "n_features": """
        input_names_ : array of str
            Names of the input features where `fit_anndata` or the command line knew them beside the data.
        n_features_in_, feature_names_in_
        """,
    "X": """
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed.
        """,
    "rows": """
        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        """,
    "layer": """
        layer : int
            Index into `features_`; -1 is the top layer.
        """,
    "entry_weight": """
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            What each entry counts, from 0 to 1, the largest at least 0.001. "stored" leaves out what a sparse X does
            not store, as in ratings, and so do sparse weights with what they do not store; None reads it as zero.
        """,
    "sample_weight": """
        sample_weight : array of shape (n_samples,), optional
            What each row counts, at least 0: its loss and the penalty of its codes are multiplied by it, and the sum of
            the weights stands for the number of samples. A weight of 2 is as good as the row twice, a weight of 0 as
            none, but for its codes.
        """,
    "fixed_components": """
        fixed_components : array of shape (n_fixed, n_features), optional
            Known components, such as spectra or ``features_[0]`` of another model. They are the first rows of Z_1, in
            this order and with these values, and the other components are learned around them; the size of the first
            layer counts them. NaN is an entry that is learned. Components with fixed entries keep the scale that they
            are given in, and penalties skip what is fixed. `fixed_components_` has them after the fit.
        """,
    "guide": """
        guide : array of shape (n_guided, n_features) or list of arrays, optional
            Targets that pull components of the first layer, or of each layer, without fixing them: those after the
            fixed ones, in this order. None in a list is a layer without targets, NaN an entry without one. Only the
            direction of a target counts, and components come out with unit norm.
        guide_weight : float, default=0.01
            What a component pays that is orthogonal to its target, as a share of ½‖X‖²; in general this share times
            half the squared distance between both at unit norm. Under Kullback-Leibler a target adds as many counts as
            this share of all counts. 0 is no guide; a large weight approaches fixed components.
        """,
    "factors": """
        factors : sequence of arrays, optional
            Z_1..Z_k to start from whatever `init` says, k at most the number of layers; layers above are
            pre-trained. Required by ``init="custom"``.
        """,
    "codes": """
        codes : array of shape (n_samples, r_m), optional
            Codes of the top layer to start from; by default they are solved for.
        """,
    "labels": """
        y : array-like of shape (n_samples,), optional
            Labels, numbers or text; -1, None and NaN are unknown ones.
        """,
    "run_control": """
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)``, called after each sweep of the fine-tuning; returning True stops.
        checkpoint : path, optional
            A file that keeps where the fit is, every `checkpoint_seconds` and when it is interrupted. The same call
            goes on from it, to the same bits; it is removed when the fit is over.
        checkpoint_seconds : float, default=30
        """,
    "path": """
        path : str or path
            The file; it is written beside and moved into place, so that it is never half there.
        """,
    "baseline": """
        The baseline of squared error is the column means of X, so that this is R² over all entries. Under
        Kullback-Leibler it is row total times column share, and this is the deviance explained; under other losses the
        column means again. X̂ is the reconstruction from the codes of `transform`.
        """,
    "returns_score": """
        Returns
        -------
        float
            1 is a perfect reconstruction; 0 is as good as the baseline, and a negative score is worse. If X is its own
            baseline, such as rows that are all equal, it is 1 or 0: whether the model reconstructs X or not.

        See Also
        --------
        share_of_squares : the same beyond 0 instead of the column means.
        """,
    "returns_self": """
        Returns
        -------
        self
        """,
    "returns_codes": """
        Returns
        -------
        array of shape (n_samples, n_features_out)
        """,
    "returns_layer_codes": """
        Returns
        -------
        array of shape (n_samples, size of the layer)
        """,
    "returns_data": """
        Returns
        -------
        array of shape (n_samples, n_features)
        """,
}
