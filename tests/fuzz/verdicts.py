"""Many cases in one process with limits on time and memory, and a report of their outcomes on the standard output."""

import json
import resource
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

SECONDS, BYTES = 5, 2**30  # per file; memory in addition to that of the loaded libraries


class Violation(Exception):
    """A case broke a rule."""


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise Violation(f"{what} of the loaded object is not valid")


def limit_memory() -> None:
    """Limit the address space to its present size and one gigabyte more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def too_slow(*_: object) -> None:
    raise Violation(f"more than {SECONDS} s")


def judge_all(cases: Iterable[tuple[str, Callable[[], str]]]) -> None:
    """Judge each case, which returns its outcome or raises, and print the counts and the failures."""
    limit_memory()
    signal.signal(signal.SIGALRM, too_slow)
    outcomes, failures, slowest = Counter(), [], 0.0
    for case, judge in cases:
        began = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            outcomes[judge()] += 1
        except BaseException as error:
            where = traceback.format_exception(error)[-3:]
            failures.append({"case": case, "error": f"{type(error).__name__}: {error}"[:500], "where": where})
        signal.setitimer(signal.ITIMER_REAL, 0)
        slowest = max(slowest, time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"outcomes": outcomes, "slowest": slowest, "peak": peak, "failures": failures}))
