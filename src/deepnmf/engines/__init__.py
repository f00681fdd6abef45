"""Where the rows are: passes over the data, block by block, on a thread pool."""

from deepnmf.engines.blocks import Block, Dense, LowRankPlusSparse, Products, Sparse
from deepnmf.engines.choice import is_on_cluster, make_engine
from deepnmf.engines.holes import Holed, HoledDense
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.observed import has_holes
from deepnmf.engines.protocol import Engine, Step, Sums
from deepnmf.engines.sparse_holes import HoledSparse, PatternWeights
from deepnmf.engines.streaming import RowSource, is_streamed, row_source
from deepnmf.engines.threads import Workers

__all__ = [
    "Block",
    "Dense",
    "Engine",
    "Holed",
    "HoledDense",
    "HoledSparse",
    "LowRankPlusSparse",
    "PatternWeights",
    "Products",
    "RowSource",
    "RowsInMemory",
    "Sparse",
    "Step",
    "Sums",
    "Workers",
    "has_holes",
    "is_on_cluster",
    "is_streamed",
    "make_engine",
    "row_source",
]
