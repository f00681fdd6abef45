"""Draw the first screen of a report, a picture of the README: `python -m benchmarks.report_picture`.

It needs the extra `browser`, and chromium.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from deepnmf import DeepNMF

FILE = Path("docs/images/report.png")
SCREEN = {"width": 1240, "height": 820}


def written(path: Path) -> None:
    """Fit a model to scikit-learn's digits, and write its report."""
    digits = load_digits()
    model = DeepNMF((30, 10), random_state=0).fit(digits.data / 16)
    model.report(path, digits.data / 16, digits.target, image_shape=(8, 8), title="Handwritten digits")


def photographed(page: Path, picture: Path) -> None:
    """Open a page in chromium, and save a picture of its first screen."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        view = browser.new_page(viewport=SCREEN)
        view.goto(page.as_uri())
        view.wait_for_timeout(1000)  # the map is drawn after the page has been loaded
        view.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "digits.html")
        written(page)
        photographed(page, FILE)
