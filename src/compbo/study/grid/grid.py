"""A grid is a list of blocks, each the product of tasks, acquisition functions, optimisers and seeds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from compbo.study.cell import FIRST_TUNING_SEED, Cell, InnerSpec, MethodSpec, SurrogateSpec, maximizer_method
from compbo.study.methods.registry import KINDS
from compbo.study.tasks import get_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Block:
    """A product of axes.

    Args:
        tasks: specs of black boxes.
        optimisers: names of the catalogue, baselines and peers.
        acquisitions: names of acquisition functions, for the optimisers of the catalogue.
        seeds: below `FIRST_TUNING_SEED`.
        batch: q, points per acquisition step.
        steps: acquisition steps.
        initial: points of the initial design: a number, or a number per dimension like "2d".
        inner: what one maximisation may spend.
        kernel: of the Gaussian process.
        priors: of its hyperparameters.
        outputs: transform of the values before the fit.
        hyperparameters: of optimisers of the catalogue, by their names.

    >>> [cell.name for cell in Block(("levy-2",), ("CAdam", "bohb"), ("ei", "ucb")).cells()]
    ['levy-2/ei/CAdam/seed0', 'levy-2/ucb/CAdam/seed0', 'levy-2/bohb/seed0']
    """

    tasks: tuple[str, ...]
    optimisers: tuple[str, ...]
    acquisitions: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    batch: int = 16
    steps: int = 32
    initial: int | str = 3
    inner: InnerSpec = field(default_factory=InnerSpec)
    kernel: str = "matern52"
    priors: str = "paper"
    outputs: str = "none"
    hyperparameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse the seeds of tuning: what judged a configuration is not reported."""
        for seed in self.seeds:
            if seed >= FIRST_TUNING_SEED:
                raise ValueError(f"Grid: seed {seed} is kept for tuning; the seeds of a grid are below 10^9.")

    def cells(self) -> Iterator[Cell]:
        """The cells, seed after seed: a study that is stopped early has all methods at its first seeds.

        Returns:
            Every combination of the axes.
        """
        methods = list(self._methods())
        for seed, spec in product(self.seeds, self.tasks):
            task = get_task(spec, seed)
            for method in methods:
                kind = KINDS[method.kind]
                noise = "learned" if task.noisy else "fixed"
                surrogate = SurrogateSpec(self.kernel, self.priors, self.outputs, noise)  # type: ignore[arg-type]
                yield Cell(
                    task=spec,
                    dimension=task.space.dim,
                    method=method,
                    seed=seed,
                    batch=self.batch,
                    steps=self.steps,
                    initial=initial_points(self.initial, task.space.dim),
                    surrogate=surrogate if kind.surrogate else None,
                    inner=self.inner if kind.inner else None,
                )

    def _methods(self) -> Iterator[MethodSpec]:
        for name in self.optimisers:
            if name in KINDS:
                yield MethodSpec(name, hyperparameters=KINDS[name].options)
                continue
            if not self.acquisitions:
                raise ValueError(f"Grid: {name} maximises an acquisition function; name some under `acquisitions`.")
            for acquisition in self.acquisitions:
                yield maximizer_method(name, acquisition, self.hyperparameters.get(name))


def initial_points(rule: int | str, dimension: int) -> int:
    """How many points the initial design has.

    Args:
        rule: a number, or a number per dimension like "2d".
        dimension: d.

    Returns:
        The number.

    >>> initial_points(3, 16), initial_points("2d", 16)
    (3, 32)
    """
    if isinstance(rule, int):
        return rule
    if isinstance(rule, str) and rule.endswith("d") and rule[:-1].isdecimal():
        return int(rule[:-1]) * dimension
    raise ValueError(f'Grid: initial must be a whole number or points per dimension such as "2d", got {rule!r}.')


@dataclass(frozen=True)
class Grid:
    """A named list of blocks.

    Args:
        name: of the preset or of the file.
        about: what it is, in a sentence.
        blocks: their cells together are the study.

    >>> grid = Grid("small", "", (Block(("levy-2",), ("bohb",)), Block(("levy-2", "ackley-2"), ("bohb",))))
    >>> len(grid.cells()), len(grid.with_seeds(range(5)).cells())
    (2, 10)
    """

    name: str
    about: str
    blocks: tuple[Block, ...]

    def cells(self) -> list[Cell]:
        """The cells of all blocks.

        Returns:
            Every cell once, in order.
        """
        found: dict[str, Cell] = {}
        for block in self.blocks:
            for cell in block.cells():
                found.setdefault(cell.hash, cell)
        return list(found.values())

    def with_seeds(self, seeds: Sequence[int]) -> Grid:
        """The same grid with other seeds in every block.

        Args:
            seeds: instead of those of the blocks.

        Returns:
            Another grid.
        """
        return replace(self, blocks=tuple(replace(block, seeds=tuple(seeds)) for block in self.blocks))
