r"""Files and folders read as data for the models: one module per family of formats. Nothing is unpickled.

Examples
--------
>>> import tempfile, pathlib
>>> from deepnmf.reading import read
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "fruit.csv"
...     _ = path.write_text("sugar,water,kind\n1,8,plum\n2,7,fig\n1,9,plum\n")
...     data = read(path, labels="kind")
>>> data.description
"fruit.csv: 3 samples of 2 features, 2 classes in column 'kind'."
>>> data.X.shape, data.feature_names, data.y.tolist(), data.class_names
((3, 2), ('sugar', 'water'), [1, 0, 1], ('fig', 'plum'))
"""

from deepnmf.reading.counts import has_counts
from deepnmf.reading.dataset import Dataset, ReadingError, Recipe
from deepnmf.reading.formats import SUFFIXES, read
from deepnmf.reading.scales import SCALES, Scaling

__all__ = ["SCALES", "SUFFIXES", "Dataset", "ReadingError", "Recipe", "Scaling", "has_counts", "read"]
