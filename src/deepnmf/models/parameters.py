"""Parameters that several models share: their documentation and the values that they accept.

A line of a docstring that consists of a name in braces is replaced by the shared text of that name. The constraints of
a parameter are found by its name in the constructor; a model defines only the constraints of its own parameters.
"""

from numbers import Integral, Real
from typing import Any, Literal

from numpy.random import RandomState
from sklearn.utils._param_validation import Interval, StrOptions  # scikit-learn's constraints have no public name

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
    """Accept numbers of at least `low`."""
    return Interval(kind, low, None, closed="left")


def between(low: float, high: float, closed: Literal["both", "left", "right"] = "both", kind: type = Real) -> Any:
    """Accept numbers from `low` to `high`."""
    return Interval(kind, low, high, closed=closed)


def one_of(*names: str) -> Any:
    """Accept one of the given strings."""
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
            Number of components.
        """,
    "layer_sizes": """
        layer_sizes : sequence of int, default=(100, 10)
            r_1..r_m, from the data upwards.
        """,
    "layer_weights": """
        layer_weights : sequence of float or None, default=None
            λ_1..λ_m in Σ_l λ_l d(X | H_l D_l): every layer with a weight above 0 has its own codes and explains the
            data. None is the published model, (0, ..., 0, 1), in which only the top layer explains the data. Weights
            are supported only without penalty and activation.
        """,
    "init": """
        init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
            Initialization of each layer. None is "nndsvd", with random components beyond the rank. "custom" starts
            from the `factors` given to `fit`.
        """,
    "solver": """
        solver : {"hals", "apg", "pg", "mu"}, default="hals"
            How a block is updated: "hals" is coordinate descent (Cichocki & Zdunek), "apg" Nesterov's projected
            gradient (NeNMF), "pg" projected gradient with a line search (PgNMF), "mu" multiplicative (Lee & Seung).
            Above layer 1, where the columns of a factor are coupled, "hals" uses the steps of "apg".
        """,
    "beta_loss": """
        beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}, default="frobenius"
            The loss, a beta divergence: "frobenius" or 2 is squared error, "kullback-leibler" or 1 suits counts,
            "itakura-saito" or 0 suits power spectra and needs X > 0. Under losses other than squared error
            ``solver="mu"`` is the multiplicative update, and every other name stands for the fastest method available.
        """,
    "max_iter": """
        max_iter : int, default=200
            Maximum number of iterations of the fine-tuning. An iteration is one sweep over all factors.
        """,
    "tol": """
        tol : float, default=1e-4
            Stop when the relative decrease of the loss per sweep, averaged over five sweeps, is below `tol`. 0 disables
            all stopping tests.
        """,
    "pretraining": """
        pretrain_max_iter : int, default=50
            Maximum number of pre-training sweeps per layer.
        pretrain_tol : float, default=1e-4
            Tolerance of the pre-training.
        """,
    "output": """
        output_layer : int, default=-1
            The layer whose codes `transform` returns.
        keep_codes : {"top", "all"}, default="top"
            Whether `codes_` contains the codes of the top layer only or of every layer.
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
            1 prints every tenth sweep, 2 prints every sweep.
        warm_start : bool, default=False
            Whether `fit` starts from the factors of the previous fit, if there is one, instead of `init`.
        """,
    "history": """
        n_iter_ : int
            Number of sweeps of the fine-tuning.
        stop_reason_ : {"decrease", "optimality", "max_iter", "interrupted", "on_sweep"}
        """,
    "hierarchy": """
        hierarchy_ : list of LayerSummary
            A summary of each layer: the share that it explains alone, the numbers of dead features and of copies of
            single features below, and the mean number of parts of a feature. Only for two or more layers.
        """,
    "fixed_attribute": """
        fixed_components_ : array of shape (n_fixed, n_features) or None
            The fixed components given to `fit`, with NaN for learned entries.
        """,
    "n_features": """
        input_names_ : array of str
            Names of the input features, if `fit_anndata` or the command line got them from the data file.
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
            Weight of each entry, from 0 to 1, the largest at least 0.001. Entries that a sparse X does not store are
            zeros by default; "stored" treats them as missing, as in ratings. Entries that sparse weights do not store
            have weight 0.
        """,
    "sample_weight": """
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, at least 0. The loss of the row and the penalty of its codes are multiplied by it, and
            the sum of the weights replaces the number of samples. A weight of 2 has the effect of repeating the row; a
            row of weight 0 has no effect, but still gets codes.
        """,
    "fixed_components": """
        fixed_components : array of shape (n_fixed, n_features), optional
            Known components, such as spectra or ``features_[0]`` of another model. They become the first rows of Z_1,
            in this order and with these values, and the other components are learned; the size of the first layer
            includes them. NaN marks an entry to be learned. Components with fixed entries keep their scale, and
            penalties ignore fixed entries. After the fit they are in `fixed_components_`.
        """,
    "guide": """
        guide : array of shape (n_guided, n_features) or list of arrays, optional
            Targets that attract components of the first layer, or of each layer, without fixing them. They apply, in
            this order, to the components after the fixed ones. None in a list is a layer without targets, NaN an entry
            without a target. Only the direction of a target matters, and components have unit norm.
        guide_weight : float, default=0.01
            Penalty of a component that is orthogonal to its target, as a share of ½‖X‖²; in general, this share times
            half the squared distance between the two at unit norm. With Kullback-Leibler a target adds this share of
            all counts as pseudo-counts. 0 is no guide; a large weight approaches fixed components.
        """,
    "factors": """
        factors : sequence of arrays, optional
            Z_1..Z_k to start from, with k at most the number of layers; they override `init`, and the layers above are
            pre-trained. Required by ``init="custom"``.
        """,
    "codes": """
        codes : array of shape (n_samples, r_m), optional
            Codes of the top layer to start from; by default they are computed from the factors.
        """,
    "labels": """
        y : array-like of shape (n_samples,), optional
            Labels, numbers or text; -1, None and NaN mark unknown labels.
        """,
    "run_control": """
        on_sweep : callable, optional
            ``on_sweep(sweep, loss)`` is called after each sweep of the fine-tuning; the fit stops if it returns True.
        checkpoint : path, optional
            A file in which the state of the fit is saved every `checkpoint_seconds` and on an interruption. The same
            call of `fit` continues from it, with identical results; the file is removed at the end of the fit.
        checkpoint_seconds : float, default=30
        """,
    "path": """
        path : str or path
            The file. It is written under a temporary name and then renamed, so that it is never incomplete.
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
            1 is a perfect reconstruction, 0 is as good as the baseline, and a negative score is worse. If X equals its
            baseline, for example if all rows are equal, the score is 1 if the model reconstructs X, and 0 otherwise.

        See Also
        --------
        share_of_squares : the same with 0 instead of the column means as baseline.
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
