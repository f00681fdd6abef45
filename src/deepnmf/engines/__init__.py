"""WHERE the rows are: passes over the data, block by block, on a thread pool."""

from deepnmf.engines.holes import RowsWithHoles
from deepnmf.engines.memory import RowsInMemory
from deepnmf.engines.protocol import Engine, Step, Sums
from deepnmf.engines.threads import Workers

__all__ = ["Engine", "RowsInMemory", "RowsWithHoles", "Step", "Sums", "Workers"]
