"""Measure the time, the size and the speed of reports of large data: `python -m benchmarks.report_pages`.

PIE has 2856 faces of 32 x 32 pixels, with layers of 100 and 50; `many` has 25,000 noisy digits with layers of 40 and 10,
of which the map shows 20,000. The speed is the median time of 20 frames of the map while zooming, in
chromium (the extra `browser`).
"""

import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.page import described
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from deepnmf import DeepNMF, HierarchyWarning
from deepnmf.datasets import load

FRAMES = """() => {
  const times = [];
  for (let frame = 0; frame < 20; frame += 1) {
    sampleMap.zoomBy(frame < 10 ? 1.05 : 1 / 1.05);
    const began = performance.now();
    sampleMap.draw();
    times.push(performance.now() - began);
  }
  return times.sort((one, other) => one - other)[10];
}"""


def problems() -> Iterator[tuple[str, DeepNMF, Any, Any, tuple[int, int]]]:
    """Yield name, model, data, labels and image shape."""
    faces = load("pie_pose27")
    yield "PIE", DeepNMF((100, 50), random_state=0, max_iter=30), faces.data / 255, faces.target, (32, 32)
    rng, digits = np.random.default_rng(0), load_digits()
    rows = rng.integers(0, len(digits.data), 25_000)
    X = digits.data[rows] / 16 + 0.1 * rng.random((25_000, 64))
    yield "many", DeepNMF((40, 10), random_state=0, max_iter=20), X, digits.target[rows], (8, 8)


def frame_milliseconds(page: Path) -> float:
    """Return the median time of one frame of the map."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page()
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        taken = float(tab.evaluate(FRAMES))
        browser.close()
    return taken


def main() -> None:
    """Print one row for each problem."""
    for category in (ConvergenceWarning, HierarchyWarning):
        warnings.simplefilter("ignore", category)
    print(described(), end="\n\n")
    print("| data | samples | seconds | processor seconds | MB | points | ms per frame |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, model, X, y, image_shape in problems():
        model.fit(X)
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            began, worked = time.perf_counter(), time.process_time()
            model.report(page, X, y, image_shape=image_shape)
            seconds, work = time.perf_counter() - began, time.process_time() - worked
            size, frame = page.stat().st_size / 1e6, frame_milliseconds(page)
        points = min(len(X), 20_000)
        print(f"| {name} | {len(X)} | {seconds:.1f} | {work:.1f} | {size:.1f} | {points} | {frame:.1f} |", flush=True)


if __name__ == "__main__":
    main()
