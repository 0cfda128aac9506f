"""The five synthetic functions (BoTorch's) at any dimension, plain or shifted, noiseless or noisy.

Shifted: f(x - s) on the same box, s chosen so that the minimiser x* + s is uniform in the box. The function is then
evaluated outside of its usual domain. Nothing is wrapped or clipped, because every one of the five has its smallest
value on all of R^d at the same place as on its box:

- Ackley, Levy, Powell, Dixon-Price are sums of non-negative terms (Ackley: its maximal cosine and exponential) that
  vanish together at x* only; Dixon-Price has a twin, because its last coordinate enters by its square;
- Styblinski-Tang is a sum over coordinates of one quartic, whose global minimum is at -2.9035.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch

from compbo.seeds import numpy_stream
from compbo.space import Float, Space
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor


class FunctionDefinition(NamedTuple):
    """One of the five functions.

    Args:
        botorch: its class in `botorch.test_functions`.
        optimum_per_dimension: f(x*) / d.
        multiple: what its dimension must be a multiple of.
    """

    botorch: str
    optimum_per_dimension: float = 0.0
    multiple: int = 1


def _styblinski_tang_minimum() -> tuple[float, float]:
    """Minimiser and minimum of (x^4 - 16 x^2 + 5 x) / 2 to machine precision (BoTorch rounds both)."""
    x = float(min(np.roots([4.0, 0.0, -32.0, 5.0]).real))
    return x, 0.5 * (x**4 - 16 * x**2 + 5 * x)


_STYBLINSKI_TANG_X, _STYBLINSKI_TANG_F = _styblinski_tang_minimum()

FUNCTIONS: dict[str, FunctionDefinition] = {
    "dixon-price": FunctionDefinition("DixonPrice"),
    "powell": FunctionDefinition("Powell", multiple=4),
    "levy": FunctionDefinition("Levy"),
    "ackley": FunctionDefinition("Ackley"),
    "styblinski-tang": FunctionDefinition("StyblinskiTang", optimum_per_dimension=_STYBLINSKI_TANG_F),
}
DIMENSIONS = (16, 40, 60, 80, 100, 120)  # of the paper

_SPEC = re.compile(rf"({'|'.join(FUNCTIONS)})-(\d+)(-shifted)?(?:-noise([0-9.eE+-]+))?")


@lru_cache(maxsize=64)
def _function(name: str, dimension: int, wide: bool = False) -> Any:
    """BoTorch's function; wide: defined up to a width of the box beyond its sides, as far as a shift can lead."""
    from botorch import test_functions

    make = getattr(test_functions, FUNCTIONS[name].botorch)
    if not wide:
        return make(dim=dimension)
    lower, upper = _function(name, dimension).bounds
    return make(dim=dimension, bounds=torch.stack([2 * lower - upper, 2 * upper - lower]).T.tolist())


@dataclass(frozen=True)
class SyntheticTask:
    """One function at one dimension; the parameters are x1 ... xd on BoTorch's box.

    Args:
        function: a key of `FUNCTIONS`.
        dimension: d.
        shifted: whether the optimum is at a random place of the box, the same for every seed.
        noise: standard deviation of Gaussian noise, in units of f.
        seed: of the noise.

    >>> task = SyntheticTask("levy", 4, shifted=True)
    >>> task.name, task.evaluate(task.minimizer) < 1e-12
    ('levy-4-shifted', True)
    """

    function: str
    dimension: int
    shifted: bool = False
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        if self.function not in FUNCTIONS:
            raise ValueError(f"Synthetic task: no function {self.function!r}; there are {', '.join(FUNCTIONS)}.")
        multiple = FUNCTIONS[self.function].multiple
        if self.dimension < 1 or self.dimension % multiple:
            need = f"a multiple of {multiple}" if multiple > 1 else "at least 1"
            raise ValueError(f"Task {self.function}: the dimension must be {need}, got {self.dimension}.")
        if not (np.isfinite(self.noise) and self.noise >= 0):
            raise ValueError(f"Task {self.function}: the noise must be a non-negative number, got {self.noise}.")

    @property
    def name(self) -> str:
        """The spec, for instance `levy-16-shifted-noise0.1`."""
        shifted = "-shifted" if self.shifted else ""
        noise = f"-noise{self.noise!r}" if self.noise else ""
        return f"{self.function}-{self.dimension}{shifted}{noise}"

    @property
    def direction(self) -> Literal["minimize"]:
        """A loss, as every task."""
        return "minimize"

    @property
    def noisy(self) -> bool:
        """Whether noise was asked for."""
        return self.noise > 0

    @property
    def optimum(self) -> float:
        """f(x*), without noise."""
        return FUNCTIONS[self.function].optimum_per_dimension * self.dimension

    @property
    def reference(self) -> None:
        """None: the optimum is known."""
        return None

    @cached_property
    def space(self) -> Space:
        """x1 ... xd on BoTorch's box."""
        lower, upper = _function(self.function, self.dimension).bounds.tolist()
        return Space({f"x{i + 1}": Float(lower[i], upper[i]) for i in range(self.dimension)})

    @cached_property
    def _plain_minimizer(self) -> Tensor:
        if self.function == "styblinski-tang":
            return torch.full((self.dimension,), _STYBLINSKI_TANG_X, dtype=DTYPE)
        return torch.as_tensor(_function(self.function, self.dimension).optimizers[0], dtype=DTYPE)

    @cached_property
    def _shift(self) -> Tensor:
        """s, the same for every seed: the place of the optimum belongs to the task."""
        if not self.shifted:
            return torch.zeros(self.dimension, dtype=DTYPE)
        lower, upper = _function(self.function, self.dimension).bounds
        place = torch.from_numpy(numpy_stream(0, "shift", self.function, self.dimension).random(self.dimension))
        shift: Tensor = lower + (upper - lower) * place - self._plain_minimizer
        return shift

    @property
    def minimizer(self) -> dict[str, float]:
        """x*, a point where f is smallest."""
        return dict(zip(self.space.names, (self._plain_minimizer + self._shift).tolist(), strict=True))

    def _coordinates(self, params: Mapping[str, Any]) -> list[float]:
        return list(self.space.validate(params).values())

    def true_value(self, params: Mapping[str, Any]) -> float:
        """f without noise: what regrets are made of.

        Args:
            params: a value for each of x1 ... xd.

        Returns:
            The loss.
        """
        x = torch.tensor(self._coordinates(params), dtype=DTYPE)
        return float(_function(self.function, self.dimension, wide=self.shifted).evaluate_true(x - self._shift))

    def evaluate(self, params: Mapping[str, Any]) -> float:
        """f, plus noise that depends on the seed and the point only.

        Args:
            params: a value for each of x1 ... xd.

        Returns:
            The loss.
        """
        value = self.true_value(params)
        if not self.noise:
            return value
        point = self._coordinates(params)
        return value + self.noise * float(numpy_stream(self.seed, "noise", self.name, point).standard_normal())

    def generalisation(self, params: Mapping[str, Any]) -> None:  # noqa: ARG002
        """None: there is no held-out data."""
        return


def parse_synthetic(spec: str, seed: int = 0) -> SyntheticTask | None:
    """The synthetic task of a spec.

    Args:
        spec: FUNCTION-DIMENSION[-shifted][-noiseSTD].
        seed: of the noise.

    Returns:
        The task, or None where the spec is not of that form.

    >>> parse_synthetic("ackley-40-shifted-noise0.1").noise
    0.1
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        return None
    function, dimension, shifted, noise = match.groups()
    try:
        level = float(noise) if noise else 0.0
    except ValueError:
        raise ValueError(f"Task {spec}: {noise!r} is not a number; write the noise as in noise0.1.") from None
    return SyntheticTask(function, int(dimension), bool(shifted), level, seed)
