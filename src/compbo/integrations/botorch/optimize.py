"""`optimize_acqf` with a maximizer of compbo's catalogue."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import botorch.optim
from botorch.optim.initializers import gen_batch_initial_conditions

from compbo.acquisition.samples import DEFAULT_K
from compbo.errors import OptionError
from compbo.integrations.botorch.fast import is_plain_kind
from compbo.integrations.botorch.generate import DEFAULT_STEPS, CandidateGenerator, chosen_maximizer
from compbo.integrations.botorch.ranking import ranked_initial_conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from compbo.maximizers import Maximizer


def optimize_acqf(
    acq_function: Any,
    bounds: Tensor,
    q: int,
    num_restarts: int,
    raw_samples: int | None = None,
    options: Mapping[str, Any] | None = None,
    inequality_constraints: list[tuple[Tensor, Tensor, float]] | None = None,
    equality_constraints: list[tuple[Tensor, Tensor, float]] | None = None,
    nonlinear_inequality_constraints: list[tuple[Callable[[Tensor], Tensor], bool]] | None = None,
    fixed_features: Mapping[int, float | Tensor] | None = None,
    post_processing_func: Callable[[Tensor], Tensor] | None = None,
    batch_initial_conditions: Tensor | None = None,
    return_best_only: bool = True,
    gen_candidates: Callable[..., tuple[Tensor, Tensor]] | None = None,
    sequential: bool = False,
    acq_function_sequence: list[Any] | None = None,
    *,
    ic_generator: Callable[..., Tensor] | None = None,
    timeout_sec: float | None = None,
    return_acq_values: bool = True,
    return_full_tree: bool = False,
    retry_on_optimization_warning: bool = True,
    maximizer: str | Maximizer | Callable[..., Any] = "CAdam-ME",
    minibatch: int = DEFAULT_K,
    seed: int = 0,
    **more: Any,
) -> tuple[Tensor, Tensor | None]:
    """`botorch.optim.optimize_acqf` with one more argument: `maximizer`, a name of the catalogue or a value.

    Its hyperparameters are further keyword arguments; `options={"maxiter": T}` sets the steps. minibatch: samples of a
    step. seed: the source of everything random. All other arguments and the return value are as for
    `botorch.optim.optimize_acqf`, but gen_candidates is refused. Unknown keyword arguments go to the `ic_generator`.
    The joint batch of q > 1 points needs `sequential=False`, the default.
    """
    if gen_candidates is not None:
        raise ValueError("gen_candidates and maximizer exclude each other; leave gen_candidates out here.")
    chosen = chosen_maximizer(maximizer, {})
    known_numbers = chosen.hyperparameters
    hyperparameters = {name: value for name, value in more.items() if name in known_numbers}
    for_initial_conditions = {name: value for name, value in more.items() if name not in known_numbers}
    for name in for_initial_conditions:
        if ic_generator is None and name not in inspect.signature(gen_batch_initial_conditions).parameters:
            raise OptionError(
                name,
                "optimize_acqf has no argument {name!r}; the hyperparameters of {maximizer_name} are {known}.",
                name=name,
                maximizer_name=chosen.name,
                known=", ".join(known_numbers),
            )
    chosen_options = dict(options or {})
    if nonlinear_inequality_constraints is not None:  # BoTorch's SLSQP takes one restart at a time, compbo takes all
        chosen_options.setdefault("batch_limit", num_restarts)
    elif ic_generator is None and is_plain_kind(acq_function):
        ic_generator = ranked_initial_conditions
    optional: dict[str, Any] = {"return_acq_values": return_acq_values}
    known = inspect.signature(botorch.optim.optimize_acqf).parameters
    candidates, values = botorch.optim.optimize_acqf(
        acq_function,
        bounds,
        q,
        num_restarts,
        raw_samples=raw_samples,
        options=chosen_options or None,
        inequality_constraints=inequality_constraints,
        equality_constraints=equality_constraints,
        nonlinear_inequality_constraints=nonlinear_inequality_constraints,
        fixed_features=fixed_features,
        post_processing_func=post_processing_func,
        batch_initial_conditions=batch_initial_conditions,
        return_best_only=return_best_only,
        gen_candidates=CandidateGenerator(chosen_maximizer(chosen, hyperparameters), DEFAULT_STEPS, minibatch, seed),
        sequential=sequential,
        acq_function_sequence=acq_function_sequence,
        ic_generator=ic_generator,
        timeout_sec=timeout_sec,
        return_full_tree=return_full_tree,
        retry_on_optimization_warning=retry_on_optimization_warning,
        **{name: value for name, value in optional.items() if name in known},  # from BoTorch 0.18 on
        **for_initial_conditions,
    )
    return candidates, values if return_acq_values else None
