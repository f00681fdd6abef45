"""Reports of child processes about the files that they have made and loaded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import deepnmf

TESTS = Path(__file__).parents[1]


def report_of(child, folder, *arguments):
    """Run `fuzz.child` or `fuzz.data_child`, and read its report."""
    paths = [str(TESTS), str(Path(deepnmf.__file__).parents[1])]
    command = [sys.executable, "-m", f"fuzz.{child}", str(folder), *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout)
    print(report["outcomes"], f"slowest {report['slowest']:.2f} s, peak {report['peak'] / 2**20:.0f} MB")
    return report
