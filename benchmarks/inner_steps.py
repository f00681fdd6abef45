"""How many steps on a factor a sweep: `python benchmarks/inner_steps.py` (needs DEEPNMF_DATA)."""

import time

import numpy as np
from sklearn.preprocessing import normalize

from deepnmf import NMF, SparseDeepNMF
from deepnmf.datasets import load
from deepnmf.solvers import descent

RUN = {"random_state": 0, "tol": 0, "max_iter": 60}
MODELS = (
    NMF(160, **RUN),
    SparseDeepNMF((300, 160), pretrain_max_iter=20, **RUN),
    SparseDeepNMF((625, 40), pretrain_max_iter=10, **RUN),
)
SHARES = (100.0, 0.5, 0.2, 0.1)


def main():
    """Print the table."""
    X = normalize(load("pie_pose27").data.astype(float))
    NMF(5, max_iter=2, tol=0).fit(X[:50])  # compile
    print("| model | share | ms a sweep | error after 20 sweeps | after 60 |\n| --- | --- | --- | --- | --- |")
    for model in MODELS:
        name = f"{type(model).__name__} {getattr(model, 'layer_sizes', model.get_params().get('n_components'))}"
        for share in SHARES:
            descent.FACTOR_SHARE = share
            times = []
            model.fit(X, on_sweep=lambda *_, times=times: times.append(time.perf_counter()))
            each = 1e3 * (times[-1] - times[0]) / (len(times) - 1)
            after_20, after_60 = np.sqrt(2 * model.loss_curve_[[19, 59]])
            print(f"| {name} | {share:g} | {each:.0f} | {after_20:.3f} | {after_60:.3f} |", flush=True)


if __name__ == "__main__":
    main()
