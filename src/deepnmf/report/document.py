"""A page as an object that can be saved to a file and displayed in a notebook."""

import html
import os
from pathlib import Path

from deepnmf.persistence import check_destination, replace_file

LARGEST_INLINE = 2_000_000  # bytes; a larger page would make the notebook slow
FRAME_HEIGHT = 760  # pixels


class Report:
    """An HTML page about fitted models.

    In a notebook, a page of up to 2 MB is displayed in a frame that is isolated from the notebook (sandboxed); for a
    larger page a link to its file is displayed.

    Parameters
    ----------
    html : str
        The page.
    path : path, optional
        The file that contains it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deepnmf import NMF
    >>> X = load_iris().data
    >>> page = NMF(2, random_state=0).fit(X).report(X=X, title="Irises")
    >>> "Irises" in page.html
    True
    """

    def __init__(self, html: str, path: Path | None = None) -> None:
        self.html, self.path = html, path

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, completely or not at all.

        Parameters
        ----------
        path : str or path
        """
        check_destination(path)
        replace_file(Path(os.path.realpath(path)), (self._bytes,))
        self.path = Path(path)

    @property
    def _bytes(self) -> bytes:
        return self.html.encode("utf-8", "backslashreplace")

    @property
    def _megabytes(self) -> str:
        return f"{len(self._bytes) / 1e6:.1f} MB"

    def __repr__(self) -> str:
        where = "not saved" if self.path is None else repr(os.fspath(self.path))
        return f"Report({where}, {self._megabytes})"

    def _repr_html_(self) -> str:
        if len(self._bytes) <= LARGEST_INLINE:
            # Without allow-same-origin, the page can read neither the notebook nor its cookies.
            attributes = f'width="100%" height="{FRAME_HEIGHT}" style="border:0" title="Report of the model"'
            return f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(self.html)}" {attributes}></iframe>'
        if self.path is None:
            return f"<p>The report has {self._megabytes}, which is too large for a notebook: use its method save.</p>"
        name = html.escape(os.fspath(self.path))
        return f'<p><a href="{name}" target="_blank" rel="noopener">{name}</a> ({self._megabytes})</p>'
