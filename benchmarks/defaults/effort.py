"""How far an ascent goes and from how many starts: what fewer and more of them are worth.

A plugin of the study: `--plugin benchmarks.defaults.effort --grid benchmarks/defaults/effort.toml`. Method
`effort-NAME` is the default with these numbers changed.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from compbo import Budget, StartPolicy
from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method

if TYPE_CHECKING:
    from collections.abc import Mapping

TRIED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "steps-32": {"budget": Budget(steps=32)},
        "steps-16": {"budget": Budget(steps=16)},
        "steps-128": {"budget": Budget(steps=128)},
        "steps-256": {"budget": Budget(steps=256)},
        "restarts-16": {"starts": StartPolicy(restarts=16)},
        "restarts-8": {"starts": StartPolicy(restarts=8)},
        "half": {"budget": Budget(steps=32), "starts": StartPolicy(restarts=16)},
        "quarter": {"budget": Budget(steps=32), "starts": StartPolicy(restarts=8)},
    }
)

for name, changed in TRIED.items():
    register_method(f"effort-{name}", MethodKind(DefaultMethod, options=settings_with(**changed)))
