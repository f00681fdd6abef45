"""MATLAB's files, such as the face data of Deng Cai with ``fea`` and ``gnd``."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Matrix
from deepnmf.reading.arrays import described
from deepnmf.reading.dataset import Dataset, Request
from deepnmf.reading.errors import ReadingError, closest


def read_mat(request: Request) -> Dataset:
    """The matrix under ``fea``, that of `key`, or the only one; labels under ``gnd``."""
    content = _variables(request.path)
    X = content[_key(content, request)]
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    return described(X, content, request, default_labels="gnd")


def _variables(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path)
    except NotImplementedError as error:
        raise ReadingError(f"{path} is in MATLAB's 7.3 form: expected one saved by save(..., '-v7').") from error
    except (MatReadError, ValueError, TypeError, KeyError, IndexError, EOFError, MemoryError) as error:
        raise ReadingError(f"{path} is not a whole MATLAB file: {error}.") from error
    return {name: _plain(value) for name, value in content.items() if not name.startswith("__")}


def _plain(value: Any) -> Any:
    """A row of characters is names; MATLAB pads them with blanks."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return np.char.rstrip(value)
    return value


def _key(content: dict[str, Any], request: Request) -> str:
    if request.key is not None:
        if request.key not in content:
            raise ReadingError(
                f"{request.path} has no variable {request.key!r}: closest are {closest(request.key, content)}."
            )
        return request.key
    matrices = [name for name, value in content.items() if _is_matrix(value)]
    if "fea" in matrices or len(matrices) == 1:
        return "fea" if "fea" in matrices else matrices[0]
    raise ReadingError(
        f"{request.path} holds {len(matrices)} matrices among {', '.join(content) or 'nothing'}: "
        "expected one, or fea, or --key to say which."
    )


def _is_matrix(value: Matrix) -> bool:
    return sparse.issparse(value) or (
        isinstance(value, np.ndarray) and value.ndim == 2 and 1 not in value.shape and value.dtype.kind in "biuf"
    )
