"""Locks across `os.fork`: a child inherits the locks of all threads, but only the thread that forked."""

import os
from typing import Any, Protocol


class ReentrantLock(Protocol):
    """A lock that its own thread may acquire again, such as `threading.RLock`: a signal may fork within."""

    def acquire(self) -> Any:
        """Wait until no other thread has it."""
        ...

    def release(self) -> Any:
        """Give it back."""
        ...


def free_in_children(lock: ReentrantLock) -> None:
    """Fork only while no other thread holds the lock: in the child, that thread could never give it back."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
