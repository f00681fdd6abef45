"""A process that is forked while another thread fits: the child has all BLAS threads and can fit."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# Python 3.12 warns about a fork with several threads, so the forks run in a process that may warn.
PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from deepnmf import NMF
from deepnmf.engines import threads
from deepnmf.kernels import compilation
from numba.core.compiler_lock import global_compiler_lock

X = np.random.default_rng(0).random((3000, 120))  # more than one block of rows

def fitted(X=X, **known):
    return NMF(3, random_state=0, tol=0, max_iter=3).fit(X, **known)

def blas_threads():
    return {{library["filepath"]: library["num_threads"] for library in threadpool_info()}}

def check_child(child):
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # ends a child that waits forever
        try:
            child()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"the child ended with {{status}}"

threadpool_limits(2)
expected, before = fitted().transform(X), blas_threads()

def fit_in_child():
    assert blas_threads() == before, (blas_threads(), before)
    assert np.array_equal(fitted().transform(X), expected)
    assert blas_threads() == before, (blas_threads(), before)

{body}
assert blas_threads() == before, (blas_threads(), before)
"""


def run(body):
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(body=body)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_a_child_forked_during_a_fit_has_all_blas_threads_and_can_fit():
    run("""
within, forked = threading.Event(), threading.Event()
fit = threading.Thread(target=fitted, kwargs={"on_sweep": lambda *_: within.set() or forked.wait(60)})
fit.start()
within.wait(60)
check_child(fit_in_child)
forked.set()
fit.join()
""")


def test_a_child_never_waits_for_a_lock_that_another_thread_held_at_the_fork():
    run("""
acquired = threading.Event()
def hold(lock):
    with lock:
        acquired.set()
        time.sleep(0.2)
for lock in (threads._guard._lock, compilation.numba_lock, global_compiler_lock):
    acquired.clear()
    thread = threading.Thread(target=hold, args=[lock])
    thread.start()
    acquired.wait(60)
    check_child(lambda: fitted(X.astype(np.float32)).transform(X))  # compiles for another precision
    thread.join()
""")


def test_a_fit_that_forks_continues_in_both_processes():
    run("""
parent = os.getpid()
children = []
def fork(sweep, loss):
    if sweep == 2:
        children.append(os.fork())
        if children[0] == 0:
            signal.alarm(30)
codes = fitted(on_sweep=fork).codes_[-1]
same = np.array_equal(codes, fitted().codes_[-1]) and blas_threads() == before
if os.getpid() != parent:
    os._exit(0 if same else 1)
assert same
assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
""")
