"""Messages between launcher and worker process: a cell with its limits there, a row back, each with its length first.

Nothing heavy is imported here: a Dask worker needs this file and stays small.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, NamedTuple

from compbo.errors import OptionError
from compbo.inputs import real, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER = struct.Struct(">Q")


@dataclass(frozen=True)
class Limits:
    """What a cell may use.

    Args:
        threads: of BLAS and PyTorch.
        time_limit: seconds after which the cell is killed; None: no limit.
        memory_limit: of all its processes together, in GB (2^30 bytes); None: no limit.

    >>> Limits(time_limit=60.0)
    Limits(threads=1, time_limit=60.0, memory_limit=None)
    """

    threads: int = 1
    time_limit: float | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        whole_number("threads", self.threads)
        for name in ("time_limit", "memory_limit"):
            value = getattr(self, name)
            if value is not None and not real(value) > 0:
                raise OptionError(name, "{option} must be a positive number, got {given!r}.", given=value)


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Write the length of a message, then the message.

    Args:
        stream: to be read with `read_frame` at its other end.
        data: the message.

    >>> import io
    >>> stream = io.BytesIO()
    >>> write_frame(stream, b"a cell")
    >>> read_frame(io.BytesIO(stream.getvalue()))
    b'a cell'
    """
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Read the next message.

    Args:
        stream: written with `write_frame`.

    Returns:
        The message, or None where the stream ends.
    """
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None


class Request(NamedTuple):
    """What a worker process is asked to run.

    Args:
        definition: of the cell.
        limits: what it may use.
        plugins: what is to be loaded before it, with fingerprints, as `compbo.plugins.named_plugins` gives them.
    """

    definition: str
    limits: Limits
    plugins: Mapping[str, str]


def encode_request(request: Request) -> bytes:
    """A request as a message.

    Args:
        request: a cell with what it needs.

    Returns:
        The message.

    >>> decode_request(encode_request(Request("the cell", Limits(2), {}))).limits
    Limits(threads=2, time_limit=None, memory_limit=None)
    """
    return json.dumps({**request._asdict(), "limits": asdict(request.limits)}).encode()


def decode_request(message: bytes) -> Request:
    """The inverse of `encode_request`.

    Args:
        message: a request.

    Returns:
        The request.
    """
    request = json.loads(message)
    return Request(**{**request, "limits": Limits(**request["limits"])})
