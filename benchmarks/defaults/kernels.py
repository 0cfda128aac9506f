"""Other kernels that were tried: squared exponential, and Matern-3/2, which the library does not have.

A plugin of the study: `--plugin benchmarks.defaults.kernels --grid benchmarks/defaults/kernels.toml`.
"""

from __future__ import annotations

from benchmarks.defaults.trials import MATERN32
from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method
from compbo.surrogate import kernels as library

library.KERNELS[MATERN32.name] = MATERN32
register_method("kernels-se", MethodKind(DefaultMethod, options=settings_with(kernel="se")))
register_method("kernels-32", MethodKind(DefaultMethod, options=settings_with(kernel=MATERN32.name)))
