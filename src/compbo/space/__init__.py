"""The search space: named parameters, and the way between their values and the unit cube."""

from compbo.space.parameters import Bool, Categorical, Constant, Ordinal, Parameter, Scalar
from compbo.space.ranges import Float, Int
from compbo.space.space import Space

__all__ = ["Bool", "Categorical", "Constant", "Float", "Int", "Ordinal", "Parameter", "Scalar", "Space"]
