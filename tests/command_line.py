"""Commands run as a user runs them, and small inputs."""

import contextlib

import pandas as pd
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from deepnmf.cli import app, output


def run(*arguments):
    """Run a command; `output` has both streams, `stdout` and `stderr` one each."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeeded(*arguments):
    """Run a command that must succeed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def digits(n=60):
    """Pixels and labels of some digits."""
    data = load_digits()
    return data.data[:n] / 16, data.target[:n]


def write_digits(path, n=60, X=None):
    """Digits as a table with the columns id, p0..p63 and digit."""
    pixels, labels = digits(n)
    pixels = pixels if X is None else X
    lines = [",".join(["id", *(f"p{j}" for j in range(pixels.shape[1])), "digit"])]
    lines += [
        ",".join([f"d{i}", *map(str, row), str(y)]) for i, (row, y) in enumerate(zip(pixels, labels, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def interrupting(monkeypatch, sweep):
    """Interrupt the next fits in a sweep."""

    def on_sweep(count, loss):
        if count == sweep:
            raise KeyboardInterrupt

    monkeypatch.setattr(output.TerminalMessages, "fit_progress", lambda *_: contextlib.nullcontext(on_sweep))


def table(path):
    """A csv file as a frame."""
    return pd.read_csv(path)
