"""HTML pages about fitted models: their features, codes, samples and scores."""

from deepnmf.report.comparison import write_comparison
from deepnmf.report.document import Report
from deepnmf.report.evaluation import LayerScore, layer_scores
from deepnmf.report.page import write_report

__all__ = ["LayerScore", "Report", "layer_scores", "write_comparison", "write_report"]
