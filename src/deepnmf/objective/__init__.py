"""WHAT is minimised: the chain of factors, its blocks in Gram form, penalties, smoothing."""

from deepnmf.objective.activated import ActivatedObjective, ActivatedRows, Slope
from deepnmf.objective.activations import ACTIVATIONS, Activation
from deepnmf.objective.chain import Chain
from deepnmf.objective.coupled import NO_GRAPHS, FactorCoupling, GraphPenalty, Graphs
from deepnmf.objective.gram import FactoredGram, FormedGram, Gram
from deepnmf.objective.linear import Objective, Statistics
from deepnmf.objective.penalties import (
    CodePenalty,
    ElasticNet,
    FactorTerms,
    Penalty,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    TopScaleSquaredL1Codes,
    UnitScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from deepnmf.objective.quadratic import Quadratic
from deepnmf.objective.smoothing import smooth

__all__ = [
    "ACTIVATIONS",
    "NO_GRAPHS",
    "ActivatedObjective",
    "ActivatedRows",
    "Activation",
    "Chain",
    "CodePenalty",
    "ElasticNet",
    "FactorCoupling",
    "FactorTerms",
    "FactoredGram",
    "FormedGram",
    "Gram",
    "GraphPenalty",
    "Graphs",
    "Objective",
    "Penalty",
    "Quadratic",
    "RidgeCodes",
    "Slope",
    "SquaredL1Codes",
    "SquaredL1Features",
    "Statistics",
    "TopScaleSquaredL1Codes",
    "UnitScaleSquaredL1Codes",
    "UnitScaleSquaredL1Features",
    "smooth",
]
