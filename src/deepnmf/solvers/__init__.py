"""HOW it is minimized: one loop, steps for blocks, starts, layer-wise pre-training."""

from deepnmf.solvers.activated_descent import ActivatedDescent, ActivatedState
from deepnmf.solvers.activated_encoding import ActivatedEncoder
from deepnmf.solvers.certificate import kkt_residual
from deepnmf.solvers.coupled_descent import CoupledDescent
from deepnmf.solvers.descent import ChainDescent, State
from deepnmf.solvers.encoding import decoded_residual_norm, encode_rows, residual_norm
from deepnmf.solvers.loop import Descent, History, OnSweep, Run, minimize
from deepnmf.solvers.pretraining import LayerwisePlan, Stack, pretrain
from deepnmf.solvers.starts import free_start, nonnegative_start, refitted
from deepnmf.solvers.steps import SOLVERS, Solver
from deepnmf.solvers.two_sided_descent import Labels, TwoSidedDescent, TwoSidedState
from deepnmf.solvers.two_sided_encoding import encode_two_sided
from deepnmf.solvers.two_sided_start import deep_start, shallow_start

__all__ = [
    "SOLVERS",
    "ActivatedDescent",
    "ActivatedEncoder",
    "ActivatedState",
    "ChainDescent",
    "CoupledDescent",
    "Descent",
    "History",
    "Labels",
    "LayerwisePlan",
    "OnSweep",
    "Run",
    "Solver",
    "Stack",
    "State",
    "TwoSidedDescent",
    "TwoSidedState",
    "decoded_residual_norm",
    "deep_start",
    "encode_rows",
    "encode_two_sided",
    "free_start",
    "kkt_residual",
    "minimize",
    "nonnegative_start",
    "pretrain",
    "refitted",
    "residual_norm",
    "shallow_start",
]
