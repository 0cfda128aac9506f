"""compbo as an optimizer of Bayesmark (and of the NeurIPS 2020 black-box challenge, which shares its interface).

Bayesmark itself is not needed: the class has everything its `AbstractOptimizer` asks for. In a submission file:

    from bayesmark.experiment import experiment_main
    from compbo.integrations.bayesmark import CompBO

    if __name__ == "__main__":
        experiment_main(CompBO)
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from compbo.bo.optimizer import Optimizer
from compbo.space import Space

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class CompBO:
    """Minimises by `suggest` and `observe`; api_config: the space, as Bayesmark describes it."""

    primary_import = "compbo"

    def __init__(
        self, api_config: Mapping[str, Mapping[str, Any]], *, seed: int | None = None, **settings: Any
    ) -> None:
        """Settings: the options of `compbo.Optimizer`, for instance acquisition, maximizer; seed None draws one."""
        if settings.get("direction", "minimize") != "minimize":
            raise ValueError("direction: Bayesmark minimises; leave it out.")
        self.api_config = api_config
        chosen = secrets.randbits(31) if seed is None else seed
        self.optimizer = Optimizer(Space.from_api_config(api_config), seed=chosen, **settings)

    @classmethod
    def get_version(cls) -> str:
        """The version of compbo."""
        from compbo.versions import VERSION

        return VERSION

    def suggest(self, n_suggestions: int = 1) -> list[dict[str, Any]]:
        """A joint batch of exactly that many points, all inside their ranges."""
        return [*self.optimizer.ask(n_suggestions)]

    def observe(self, X: Sequence[Mapping[str, Any]], y: Iterable[float]) -> None:
        """The values of some points, in any order, suggested or not; an infinite one is a failed evaluation."""
        self.optimizer.tell(list(X), [float(value) for value in y])
