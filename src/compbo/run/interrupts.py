"""Ctrl-C is never lost: Python drops a KeyboardInterrupt that happens to hit a destructor or a weak reference."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def remembered_interrupts() -> Iterator[threading.Event]:
    """An event that is set when SIGINT or SIGTERM arrived, whatever became of the exception their handlers raise.

    Signals that end the process, or are ignored, stay as they are; in a thread nothing is changed.
    """
    seen = threading.Event()
    replaced: dict[int, Any] = {}

    def remember(number: int, frame: Any) -> None:
        seen.set()
        replaced[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                replaced[number] = handler
                signal.signal(number, remember)
    try:
        yield seen
    finally:
        for changed, handler in replaced.items():
            signal.signal(changed, handler)
