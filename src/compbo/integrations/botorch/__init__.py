"""compbo's maximizers inside BoTorch.

    from botorch.optim import optimize_acqf
    from compbo.integrations.botorch import gen_candidates

    optimize_acqf(acqf, bounds, q=4, num_restarts=16, raw_samples=256, gen_candidates=gen_candidates("CAdam-ME"))

or, with the same signature and the maximizer as one more argument, `compbo.integrations.botorch.optimize_acqf`.
"""

from compbo.integrations.botorch.compat import check_private_names

check_private_names()

from compbo.integrations.botorch.generate import CandidateGenerator, gen_candidates  # noqa: E402
from compbo.integrations.botorch.optimize import optimize_acqf  # noqa: E402

__all__ = ["CandidateGenerator", "gen_candidates", "optimize_acqf"]
