import os
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from deepnmf.arrays import Array, Matrix
from deepnmf.models.factorization import Factorization
from deepnmf.models.input_data import EntryWeight
from deepnmf.models.known_components import GivenComponents
from deepnmf.models.parameters import COUNT, Constraints, Init, RandomStateLike, one_of
from deepnmf.models.run_control import RunControl
from deepnmf.solvers.chain_problem import ChainProblem
from deepnmf.solvers.learned import TiedChain
from deepnmf.solvers.loop import OnSweep


class CNMF(Factorization, weighs_samples=False):
    """X ≈ A V Z, constrained NMF: labeled samples of one class share one code (Liu & Wu, 2010).

    A is the 0/1 indicator of classes and unlabeled samples, V and Z are nonnegative. Up to the scatter within the
    classes, which is constant, ½‖X - A V Z‖² is the loss of NMF on the group means with rows weighted by √count. This
    smaller problem is solved, so that a class takes as much time as one sample. If entries are missing, each mean is
    taken over the observed entries and weighted by their number. Without labels the model is `NMF`.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        Number of components. "auto" takes it from the `factors` given to `fit`; without them, and with None, it is
        n_features.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        Initialization. None is "nndsvda", with random components beyond min(n_groups, n_features), where n_groups is
        the number of classes plus the number of unlabeled samples.
    solver : {"cd", "hals", "apg", "pg", "mu"}, default="cd"
        As in `NMF`.
    {tol}
    {max_iter}
    {run}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels that occur, sorted; empty without labels.
    components_ : array of shape (n_components, n_features)
    n_components_ : int
    factors_, features_ : lists of arrays
        One array per layer; this model has one layer.
    codes_ : list of one array
        A V; rows of one class are equal. `transform` uses no labels and gives each row its own code.
    reconstruction_err_ : float
        ‖X - A V Z‖_F.
    loss_curve_ : array of shape (n_iter_,)
        ½‖X - A V Z‖² after each sweep.
    {history}
    kkt_residual_ : float
        How far from a stationary point V and Z are, as in `NMF`.
    {fixed_attribute}
    {n_features}

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import CNMF
    >>> X, digits = load_digits(return_X_y=True)
    >>> y = np.where(np.arange(len(digits)) < 90, digits, -1)  # 5 % of the labels
    >>> model = CNMF(16, random_state=0).fit(X, y)
    >>> sevens = model.codes_[-1][y == 7]
    >>> bool((sevens == sevens[0]).all())
    True
    >>> model.transform(X[:3]).shape
    (3, 16)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [COUNT, None, one_of("auto")],
        "solver": [one_of("cd", "hals", "apg", "pg", "mu")],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = "auto",
        *,
        init: Init = None,
        solver: Literal["cd", "hals", "apg", "pg", "mu"] = "cd",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: RandomStateLike = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(  # type: ignore[override]
        self,
        X: Matrix,
        y: object = None,
        *,
        entry_weight: EntryWeight = None,
        fixed_components: Array | None = None,
        factors: Sequence[Array] | None = None,
        on_sweep: OnSweep | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30,
    ) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), nonnegative
            NaN or a mask (`numpy.ma`) in a dense X marks an entry that was not observed.
        {labels}
        entry_weight : None, "stored", array or sparse matrix of the shape of X
            Weight of each entry, from 0 to 1, as in `NMF`.
        {fixed_components}
        factors : sequence of one array, optional
            [Z] to start from; it overrides `init`. Required by ``init="custom"``.
        {run_control}

        {returns_self}

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from deepnmf import CNMF
        >>> X, y = load_digits(return_X_y=True)
        >>> model = CNMF(16, random_state=0).fit(X, np.where(np.arange(len(y)) < 90, y, -1))
        >>> model.codes_[-1].shape
        (1797, 16)
        """
        given = (X, y, entry_weight, fixed_components, factors)
        control = RunControl(on_sweep, checkpoint, checkpoint_seconds, given)
        return self._fit(X, self._start(factors), control, entry_weight, GivenComponents(fixed_components), labels=y)

    def _problem(self) -> ChainProblem:
        return ChainProblem(
            sizes=self.n_components,
            ties_classes=True,
            init=self.init,
            default_init="nndsvda",
            random_state=self.random_state,
            solver="hals" if self.solver == "cd" else self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return len(self.components_)

    def _set_learned(self, learned: TiedChain) -> None:
        super()._set_learned(learned)
        self.classes_ = learned.classes
