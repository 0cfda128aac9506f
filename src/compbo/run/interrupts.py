"""Remember Ctrl-C: Python drops a KeyboardInterrupt raised in a destructor or in the callback of a weak reference."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def remembered_interrupts() -> Iterator[threading.Event]:
    """An event that is set when SIGINT or SIGTERM arrives, even if the exception that its handler raises is dropped.

    A signal that is ignored, or ends the process without a Python handler, stays as it is. Outside of the main thread
    nothing is changed, and the event is not set.
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
