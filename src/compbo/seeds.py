"""Named random streams: what a stream is for decides its numbers, not what was drawn before it."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import torch


def derive_seed(seed: int, *path: object) -> int:
    """A 63-bit seed that depends on `seed` and on the path of names and numbers, stable across machines."""
    text = json.dumps([seed, *path], separators=(",", ":"), sort_keys=True, default=str)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(seed: int, *path: object) -> torch.Generator:
    """A torch generator of its own for this seed and path of names: what it is for."""
    return torch.Generator().manual_seed(derive_seed(seed, *path))


def beside(generator: torch.Generator, *path: object) -> torch.Generator:
    """A stream of its own, named by the seed of another generator and a path; nothing is drawn from that generator."""
    return stream(generator.initial_seed(), *path)


def numpy_stream(seed: int, *path: object) -> np.random.Generator:
    """A NumPy generator of its own for this seed and path of names: what it is for."""
    return np.random.default_rng(derive_seed(seed, *path))


def next_seed(generator: torch.Generator) -> int:
    """A fresh seed drawn from a generator, to hand to a library that wants an integer."""
    return int(torch.randint(2**31 - 1, (1,), generator=generator).item())
