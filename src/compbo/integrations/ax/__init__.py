"""compbo inside Ax.

    client.set_generation_strategy(generation_strategy(batch_size=4))

Import this module before an experiment that used it is loaded: it makes the class known to Ax's JSON and SQL storage.
"""

from compbo.extras import load_optional

load_optional("ax", "ax")

from ax.storage.botorch_modular_registry import register_acquisition  # noqa: E402

from compbo.integrations.ax.acquisition import CompBOAcquisition  # noqa: E402
from compbo.integrations.ax.strategy import generation_strategy  # noqa: E402

register_acquisition(CompBOAcquisition)

__all__ = ["CompBOAcquisition", "generation_strategy"]
