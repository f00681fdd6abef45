"""WHAT is minimized: the chain of factors, its blocks in Gram form, penalties, smoothing."""

from deepnmf.objective.activated_objective import ActivatedObjective, ActivatedRows, Slope
from deepnmf.objective.activations import ACTIVATIONS, Activation
from deepnmf.objective.chain import Chain, Statistics, smooth
from deepnmf.objective.gram import FactoredGram, FormedGram, Gram
from deepnmf.objective.graph_penalties import GraphPenalty, Graphs, of_layer
from deepnmf.objective.linear import Objective
from deepnmf.objective.penalties import (
    CodePenalty,
    ElasticNet,
    FactorTerms,
    KroneckerTerm,
    Penalty,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    TopScaleSquaredL1Codes,
    UnitScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from deepnmf.objective.quadratic import Quadratic

__all__ = [
    "ACTIVATIONS",
    "ActivatedObjective",
    "ActivatedRows",
    "Activation",
    "Chain",
    "CodePenalty",
    "ElasticNet",
    "FactorTerms",
    "FactoredGram",
    "FormedGram",
    "Gram",
    "GraphPenalty",
    "Graphs",
    "KroneckerTerm",
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
    "of_layer",
    "smooth",
]
