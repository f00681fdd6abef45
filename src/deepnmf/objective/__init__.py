"""What is minimized: the chain of factors, its blocks in Gram form, penalties, smoothing."""

from deepnmf.objective.activated_objective import ActivatedObjective, ActivatedRows, Slope
from deepnmf.objective.activations import ACTIVATIONS, Activation
from deepnmf.objective.chain import Chain, Statistics, smooth
from deepnmf.objective.divergences import Divergence
from deepnmf.objective.fixed_entries import FixedEntries
from deepnmf.objective.gram import FactoredGram, FormedGram, Gram
from deepnmf.objective.graph_penalties import GraphPenalty, Graphs
from deepnmf.objective.guides import Guide
from deepnmf.objective.layer_penalties import (
    LayerPenalty,
    RidgeCodes,
    SquaredL1Codes,
    SquaredL1Features,
    TopScaleSquaredL1Codes,
    UnitScaleSquaredL1Codes,
    UnitScaleSquaredL1Features,
)
from deepnmf.objective.linear import Objective
from deepnmf.objective.penalties import (
    CodePenalty,
    ElasticNet,
    ElasticNetPerEntry,
    Known,
    Penalty,
    UnresolvedPenalty,
)
from deepnmf.objective.quadratic import FactorTerms, KroneckerTerm, Quadratic

__all__ = [
    "ACTIVATIONS",
    "ActivatedObjective",
    "ActivatedRows",
    "Activation",
    "Chain",
    "CodePenalty",
    "Divergence",
    "ElasticNet",
    "ElasticNetPerEntry",
    "FactorTerms",
    "FactoredGram",
    "FixedEntries",
    "FormedGram",
    "Gram",
    "GraphPenalty",
    "Graphs",
    "Guide",
    "Known",
    "KroneckerTerm",
    "LayerPenalty",
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
    "UnresolvedPenalty",
    "smooth",
]
