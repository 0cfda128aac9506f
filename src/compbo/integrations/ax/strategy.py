"""A generation strategy: Sobol points, then compbo."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ax.adapter.registry import Generators
from ax.core.trial_status import TrialStatus
from ax.generation_strategy.generation_strategy import GenerationNode, GenerationStrategy
from ax.generation_strategy.generator_spec import GeneratorSpec
from ax.generation_strategy.transition_criterion import MinTrials

from compbo.inputs import whole_number
from compbo.integrations.ax.acquisition import CompBOAcquisition, Options

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_COUNTED = [TrialStatus.FAILED, TrialStatus.ABANDONED]  # among the initial trials


def generation_strategy(
    *,
    maximizer: str = "CAdam-ME",
    hyperparameters: Mapping[str, Any] | None = None,
    batch_size: int = 1,
    initial_trials: int = 8,
    seed: int = 0,
    botorch_acqf_class: Any = None,
    steps: int = 64,
    minibatch: int = 128,
    num_restarts: int = 20,
    raw_samples: int = 1024,
) -> Any:
    """A generation strategy for Ax: Sobol points first, then compbo.

    Args:
        maximizer: a name of the catalogue.
        hyperparameters: of the maximizer; the others keep their defaults.
        batch_size: how many trials `get_next_trials` will ask for; they are chosen as one joint batch.
        initial_trials: number of Sobol points.
        seed: of the Sobol points and of the maximizer.
        botorch_acqf_class: the acquisition function; None: Ax chooses (qLogNEI for one objective).
        steps: of the maximizer.
        minibatch: number of samples per step.
        num_restarts: start points of the maximizer.
        raw_samples: random batches among which the start points are chosen.

    Returns:
        A `GenerationStrategy` for `Client.set_generation_strategy`. It is plain data: the experiment can be stored.

    Raises:
        OptionError: a ValueError that names the option.

    >>> generation_strategy(batch_size=4, maximizer="CAdam-ME").name
    'Sobol+compbo:CAdam-ME'
    """
    whole_number("initial_trials", initial_trials)
    options = Options(
        maximizer, dict(hyperparameters or {}), batch_size, seed, steps, minibatch, num_restarts, raw_samples
    )
    generator: dict[str, Any] = {"acquisition_class": CompBOAcquisition}
    if botorch_acqf_class is not None:
        generator["botorch_acqf_class"] = botorch_acqf_class
    nodes = [_sobol_node(initial_trials, seed), _compbo_node(options, generator)]
    return GenerationStrategy(name=f"Sobol+compbo:{maximizer}", nodes=nodes)


def _sobol_node(initial_trials: int, seed: int) -> Any:
    """Sobol points, until `initial_trials` were made and half of them have values."""
    made = MinTrials(
        threshold=initial_trials, transition_to="compbo", use_all_trials_in_exp=True, not_in_statuses=NOT_COUNTED
    )
    observed = MinTrials(
        threshold=max(1, initial_trials // 2),
        transition_to="compbo",
        use_all_trials_in_exp=True,
        only_in_statuses=[TrialStatus.COMPLETED],
        count_only_trials_with_data=True,
    )
    spec = GeneratorSpec(generator_enum=Generators.SOBOL, generator_kwargs={"seed": seed})
    return GenerationNode(
        name="Sobol", generator_specs=[spec], transition_criteria=[made, observed], should_deduplicate=True
    )


def _compbo_node(options: Options, generator: dict[str, Any]) -> Any:
    spec = GeneratorSpec(
        generator_enum=Generators.BOTORCH_MODULAR,
        generator_kwargs=generator,
        generator_gen_kwargs={"model_gen_options": {"optimizer_kwargs": asdict(options)}},
    )
    return GenerationNode(name="compbo", generator_specs=[spec], should_deduplicate=True)
