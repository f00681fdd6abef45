from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar

from deepnmf.models.network_classifier import NetworkClassifier, ReadoutName
from deepnmf.models.parameters import Constraints, Init, KeepCodes, RandomStateLike, one_of
from deepnmf.solvers.network_problem import NetworkProblem
from deepnmf.solvers.problem import Layerwise


class DeepNMFNetwork(NetworkClassifier):
    """Layers of NMF with sliding maxima between them and labels on top (Flenner & Hunter).

    Every layer fits the layer below, not the data: with X_0 = X and X_l = p(H_l), all nonnegative, it minimizes

        E = ½ Σ_l ‖W_l∘(X_{l-1} - H_l Z_l)‖² + (λ/2) ‖L∘(Y - H_m B)‖²

    p replaces each code by its maximum over a window of neighboring rows of the same group: frames of one
    recording, paragraphs of one document. W masks unobserved entries of X (NaN), L unknown labels. Rows of every
    Z_l have unit norm.

    Parameters
    ----------
    layer_sizes : sequence of int, default=(30, 30)
        r_1..r_m, from the data upwards; they may be equal.
    pool_size : int or sequence of int, default=0
        Width w of the window, rows i-⌊(w-1)/2⌋ .. i+⌊w/2⌋ of row i's own group; one number, or one for each of
        the m - 1 poolings. 0 and 1 pool nothing.
    backprop : bool, default=True
        Whether codes also fit the layer above (the paper's Algorithm 3) or only their own input (Algorithm 2, in which
        labels affect the last layer only). The paper's Algorithm 1, one layer after the other without pooling or
        labels, is `MultilayerNMF`.
    label_weight : float, default=1e-3
        λ, the weight of the labels relative to the squared error of the data. It shapes the codes of labeled rows; with
        ``readout="logistic"`` predictions hardly depend on it.
    readout : {"logistic", "head"}, default="logistic"
        How labels are predicted from the codes of the top layer. "logistic" is a logistic regression, trained on the
        codes that labeled rows get without their labels. "head" is B itself, as published; keep `label_weight` small
        then, because a large weight gives labeled rows codes that no other row has, and predictions become poor.
    {init}
    {max_iter}
    tol : float, default=1e-4
        Stop when the relative decrease of the energy per sweep, averaged over five sweeps, is below `tol`.
    {pretraining}
    {output}
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
        Whether `fit` starts from the factors of the previous fit, if there is one, instead of `init`. The codes of all
        layers are then kept and used where they are better than newly computed codes. They are not saved to files.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels that occur, sorted; empty without labels.
    transduction_ : array of shape (n_samples,)
        Labels of the training rows: the known labels, and predictions from the fitted codes for the other rows. -1 if
        the model was fitted without labels.
    label_factor_ : array of shape (r_m, n_classes)
        B.
    factors_ : list of arrays
        Z_1..Z_m, with rows of unit norm.
    features_ : list of arrays
        Z_l ··· Z_1 for each layer, every layer's features in input space, scaled to rows of unit norm.
    components_ : array of shape (r_m, n_features)
        Features of the top layer.
    codes_ : list of arrays
        H_m, or H_1..H_m, of the training rows as fitted: shaped by feedback and, in labeled rows, by the label.
    reconstruction_err_ : float
        ‖X - H_m Z_m ··· Z_1‖_F over the observed entries. With pooling the model is not a reconstruction of X, because
        the maxima belong to neighboring rows, and this error is large.
    loss_curve_ : array of shape (n_iter_,)
        E after each sweep. With ``backprop=False``, codes are updated for their own layer only, with steps short enough
        that E does not rise; with the published steps it would.
    {history}
    {hierarchy}
    {n_features}

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf import DeepNMFNetwork
    >>> rng = np.random.default_rng(0)
    >>> calls = rng.random((2, 12)) ** 4  # two spectra, heard in a third of the frames of a recording
    >>> truth = np.repeat([0, 1] * 10, 20)
    >>> recordings = np.repeat(np.arange(20), 20)
    >>> X = calls[truth] * (rng.random((400, 1)) < 0.3) + 0.1 * rng.random((400, 12))
    >>> y = np.where(np.isin(recordings, [0, 1]), truth, -1)  # only the first two recordings have labels
    >>> model = DeepNMFNetwork((4, 4), pool_size=15, random_state=0).fit(X, y, groups=recordings)
    >>> float(np.mean(model.transduction_ == truth)) > 0.95
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "pool_size": ["array-like", Integral],
        "backprop": ["boolean"],
        "readout": [one_of("logistic", "head")],
    }

    def __init__(
        self,
        layer_sizes: tuple[int, ...] = (30, 30),
        *,
        pool_size: int | Sequence[int] = 0,
        backprop: bool = True,
        label_weight: float = 1e-3,
        readout: ReadoutName = "logistic",
        init: Init = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        pretrain_max_iter: int = 50,
        pretrain_tol: float = 1e-4,
        output_layer: int = -1,
        keep_codes: KeepCodes = "top",
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.layer_sizes = layer_sizes
        self.pool_size = pool_size
        self.backprop = backprop
        self.label_weight = label_weight
        self.readout = readout
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.pretrain_max_iter = pretrain_max_iter
        self.pretrain_tol = pretrain_tol
        self.output_layer = output_layer
        self.keep_codes = keep_codes
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _problem(self) -> NetworkProblem:
        return NetworkProblem(
            sizes=self.layer_sizes,
            pool_size=self.pool_size,
            feedback=self.backprop,  # Algorithm 3, or Algorithm 2
            label_weight=self.label_weight,
            readout=self.readout,
            init=self.init,
            random_state=self.random_state,
            pretraining=Layerwise(self.pretrain_max_iter, self.pretrain_tol),
            max_iter=self.max_iter,
            tol=self.tol,
            output_layer=self.output_layer,
            keep_codes=self.keep_codes,
            keeps_training_codes=self.warm_start,
        )
