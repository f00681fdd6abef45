"""Fifty kills (signal 9) at random moments of fits with checkpoints, each resumed: `pytest -m slow -n 0 -s` runs it."""

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from deepnmf.persistence import read
from deepnmf.solvers.checkpoints import FORMAT

KILLS = 50
MODELS = {
    "DeepNSNMF": "deepnmf.DeepNSNMF((40, 8), random_state=0, tol=0, max_iter=150, pretrain_tol=0)",
    "DeepSemiNMF": "deepnmf.DeepSemiNMF((40, 8), activation='square', random_state=0, tol=0, max_iter=60)",
    "GDNMF": "deepnmf.GDNMF((30, 8), random_state=0, tol=0, max_iter=60)",
    "DeepNMFNetwork": "deepnmf.DeepNMFNetwork((30, 8), pool_size=3, random_state=0, tol=0, max_iter=60)",
}
PROGRAM = """
import sys, warnings, numpy as np, deepnmf
warnings.simplefilter("ignore")
X = np.random.default_rng(0).random((1500, 120))
model = {model}
print("started", flush=True)
model.fit(X, np.arange(1500) % 3, checkpoint=sys.argv[1], checkpoint_seconds=0.02)
np.savez(sys.argv[2], components=model.components_, codes=model.codes_[-1], losses=model.loss_curve_)
"""


class Fit:
    """A fit in a separate process."""

    def __init__(self, model, checkpoint, result):
        program = PROGRAM.format(model=MODELS[model])
        self.command = [sys.executable, "-c", program, str(checkpoint), str(result)]
        self.result = result

    def start(self):
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE)
        with process.stdout as output:
            assert output.readline() == b"started\n"
        return process

    def arrays(self):
        with np.load(self.result) as file:
            return {name: file[name] for name in file.files}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_kills_at_random_moments_do_not_change_the_result(model, tmp_path):
    checkpoint = tmp_path / "fit.checkpoint"
    undisturbed = Fit(model, tmp_path / "other.checkpoint", tmp_path / "undisturbed.npz")
    process, started = undisturbed.start(), time.perf_counter()
    assert process.wait() == 0
    seconds = time.perf_counter() - started
    moments, kills, readable = random.Random(model), 0, 0
    while kills < KILLS // len(MODELS) + 1:
        fit = Fit(model, checkpoint, tmp_path / "killed.npz")
        process = fit.start()
        while process.poll() is None:
            time.sleep(moments.uniform(0, seconds))  # part of it may pass before the first checkpoint
            process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                break
            kills += 1
            if checkpoint.exists():
                read(checkpoint, (FORMAT,))
                readable += 1
            process = fit.start()
        assert process.returncode == 0
        for name, array in undisturbed.arrays().items():
            assert np.array_equal(fit.arrays()[name], array), name
        assert not checkpoint.exists()
    print(
        f"{model}: {kills} kills of fits that take {seconds:.1f} s, {readable} checkpoints found, all of them readable"
    )
