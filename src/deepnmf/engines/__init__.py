"""WHERE the rows are: passes over the data, block by block, on a thread pool."""

from deepnmf.engines.choice import is_on_cluster, rows_of
from deepnmf.engines.holes import HoledBlock, LowRankPlusSparse, RowsWithHoles, SparseHoles, has_holes, is_holed
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.protocol import Engine, Step, Sums
from deepnmf.engines.streaming import RowSource, is_streamed, row_source
from deepnmf.engines.threads import Workers

__all__ = [
    "Engine",
    "HoledBlock",
    "LowRankPlusSparse",
    "RowSource",
    "RowsInMemory",
    "RowsWithHoles",
    "SparseHoles",
    "Step",
    "Sums",
    "Workers",
    "has_holes",
    "is_holed",
    "is_on_cluster",
    "is_streamed",
    "row_source",
    "rows_of",
]
