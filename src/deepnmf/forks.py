"""Locks across `os.fork`: a child inherits the locks of all threads, but only the thread that forked."""

import os
from typing import Any, Protocol


class ReentrantLock(Protocol):
    """A lock that its own thread may acquire again, such as `threading.RLock`, because a signal handler may fork."""

    def acquire(self) -> Any:
        """Wait until no other thread has the lock."""
        ...

    def release(self) -> Any:
        """Release the lock."""
        ...


def free_in_children(lock: ReentrantLock) -> None:
    """Fork only while no other thread has the lock: in the child, that thread could never release it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
