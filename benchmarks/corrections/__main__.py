"""Print the tables of one correction: `python -m benchmarks.corrections NAME`."""

import argparse
import warnings

from benchmarks.corrections import code_scale, dying_parts, explained, inner_scale, row_order, weights
from benchmarks.page import described
from sklearn.exceptions import ConvergenceWarning

PAGES = {
    "weights": weights,
    "inner-scale": inner_scale,
    "dying-parts": dying_parts,
    "code-scale": code_scale,
    "explained": explained,
    "row-order": row_order,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corrections", description=__doc__)
    parser.add_argument("name", choices=PAGES)
    warnings.simplefilter("ignore", ConvergenceWarning)
    name = parser.parse_args().name
    print(described(), end="\n\n", flush=True)
    print(PAGES[name].page(), flush=True)


if __name__ == "__main__":
    main()
