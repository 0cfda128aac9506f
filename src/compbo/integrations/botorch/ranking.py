"""The values of raw batches, by which BoTorch chooses start points, through compbo's posterior where it applies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from botorch.optim.initializers import gen_batch_initial_conditions

from compbo.integrations.botorch.fast import plain_problem
from compbo.integrations.botorch.own_sample import own_sample_oracle, own_values
from compbo.integrations.botorch.samplers import with_fixed_samples

if TYPE_CHECKING:
    from torch import Tensor


def ranked_initial_conditions(acq_function: Any, bounds: Tensor, q: int, **arguments: Any) -> Tensor:
    """BoTorch's `gen_batch_initial_conditions` of a plain kind of acquisition function: see `fast.is_plain_kind`.

    acq_function, bounds, q: as in BoTorch.

    The other arguments are BoTorch's. Raw batches are ranked by compbo's posterior if the model is plain as well.
    """
    problem = plain_problem(acq_function) if bool(torch.isfinite(bounds).all()) else None
    if problem is not None:
        apart = torch.arange(1, q + 1).to(bounds)[:, None] / (q + 1)
        x = torch.lerp(bounds[0], bounds[1], apart).unsqueeze(0)
        if acq_function.sampler is None:  # BoTorch chooses one at the first evaluation, and it stays
            with torch.no_grad():
                acq_function(x)
        twin = with_fixed_samples(acq_function, 0)
        own = own_sample_oracle(twin, problem, x)
        if own is not None:
            twin.forward = partial(own_values, own)
            acq_function = twin
    starts: Tensor = gen_batch_initial_conditions(acq_function, bounds=bounds, q=q, **arguments)
    return starts
