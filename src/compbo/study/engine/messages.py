"""Messages between launcher and worker process: a cell with its limits there, a row back, each with its length first.

Nothing heavy is imported here: a Dask worker needs this file and stays small.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import IO

_HEADER = struct.Struct(">Q")


@dataclass(frozen=True)
class Limits:
    """What a cell may use; seconds or memory (bytes) None: no limit."""

    threads: int = 1
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        for name in ("threads", "seconds", "memory"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"Limits: {name} must be positive, got {value}.")


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Write the length of the data, then the data."""
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next message, or None where the stream ends."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None


def encode_request(definition: str, limits: Limits) -> bytes:
    """A cell, by its definition, and its limits, as a message."""
    return json.dumps({"cell": definition, "limits": asdict(limits)}).encode()


def decode_request(message: bytes) -> tuple[str, Limits]:
    """The inverse of `encode_request`."""
    request = json.loads(message)
    return request["cell"], Limits(**request["limits"])
