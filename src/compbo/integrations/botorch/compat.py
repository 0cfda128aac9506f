"""The parts of BoTorch that are not in its public interface, in one place, checked when they are imported."""

from __future__ import annotations

from typing import Any

SUPPORTED = "0.15.1 to 0.18.1"

# Class -> names that compbo calls or replaces on its instances.
PRIVATE_NAMES = {
    "botorch.acquisition.monte_carlo:SampleReducingMCAcquisitionFunction": (
        "_non_reduced_forward",
        "_sample_forward",
        "_log",
    ),
    "botorch.acquisition.acquisition:MCSamplerMixin": ("_default_sample_shape", "get_posterior_samples"),
    "botorch.sampling.normal:NormalMCSampler": (
        "_get_collapsed_shape",
        "_get_extended_base_sample_shape",
        "_construct_base_samples",
    ),
    "botorch.posteriors.posterior_list:PosteriorList": ("_reshape_and_cat",),
}


def incompatible(what: str) -> ImportError:
    """The error for a BoTorch that lacks something; what: the name of it."""
    import botorch

    return ImportError(f"BoTorch {botorch.__version__} has no {what}; compbo supports BoTorch {SUPPORTED}.")


def check_private_names() -> None:
    """Raise ImportError, naming the versions that work, if BoTorch has moved something compbo relies on."""
    import importlib

    for owner, names in PRIVATE_NAMES.items():
        module, _, attribute = owner.partition(":")
        try:
            cls = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            raise incompatible(owner) from None
        for name in names:
            if not hasattr(cls, name):
                raise incompatible(f"{attribute}.{name}")


def reductions(acqf: Any) -> tuple[Any, Any]:
    """The q-reduction and the sample reduction of `acqf`, a sample-reducing acquisition function."""
    try:
        return acqf._q_reduction, acqf._sample_reduction
    except AttributeError as error:
        raise incompatible(f"{type(acqf).__name__}.{error.name}") from None
