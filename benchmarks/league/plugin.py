"""The methods and tasks of the league, for the study: `compbo study run --plugin benchmarks.league.plugin ...`."""

from __future__ import annotations

from benchmarks.league.peers.process import HEBO, SMAC, make_peer
from benchmarks.league.peers.turbo import TurboMethod
from benchmarks.league.tasks import TASKS
from compbo.study.methods.peers import BoTorchMethod
from compbo.study.methods.registry import MethodKind, register_method
from compbo.study.tasks import register


class BoTorchSequential(BoTorchMethod):
    """qLogEI, the points of a batch one after the other, as BoTorch recommends for large batches."""

    sequential = True


_BOTORCH = ("botorch.acquisition.logei", "botorch.fit", "botorch.models", "botorch.optim")
register_method("botorch-qlogei-sequential", MethodKind(BoTorchSequential, inner=True, modules=_BOTORCH))
register_method("turbo", MethodKind(TurboMethod, modules=_BOTORCH))
register_method("hebo", MethodKind(make_peer, options=(("version", HEBO),)))
register_method("smac", MethodKind(make_peer, options=(("version", SMAC),)))

for name, make in TASKS.items():
    register(make, name)
