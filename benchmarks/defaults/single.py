"""Acquisition functions that were tried where one point is asked for at a time.

A plugin of the study: `--plugin benchmarks.defaults.single --grid benchmarks/defaults/single.toml`. Method `one-NAME`
is the default with another portfolio.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import compbo
from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method

if TYPE_CHECKING:
    from collections.abc import Mapping

TRIED: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "ucb2-sr": ("ucb", "sr"),  # as in batches of eight
        "ucb3-sr": (compbo.UCB(3.0), "sr"),
        "ucb5-sr": (compbo.UCB(5.0), "sr"),
        "ucb7-sr": (compbo.UCB(6.7), "sr"),
        "ucb8-sr": (compbo.UCB(8.0), "sr"),
        "ucb10-sr": (compbo.UCB(10.0), "sr"),
        "logei-sr": ("logei", "sr"),
        "ucb4-logei": (compbo.UCB(4.0), "logei"),
        "ucb10-logei": (compbo.UCB(10.0), "logei"),
    }
)

for name, members in TRIED.items():
    register_method(f"one-{name}", MethodKind(DefaultMethod, options=settings_with(acquisition=members)))
