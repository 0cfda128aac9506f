"""Update rules: what history does to a gradient."""

from compbo.maximizers.rules.adadelta import adadelta
from compbo.maximizers.rules.adagrad import adagrad
from compbo.maximizers.rules.adam import adam
from compbo.maximizers.rules.adamos import adamos
from compbo.maximizers.rules.averaged import averaged
from compbo.maximizers.rules.base import Move, Rule
from compbo.maximizers.rules.rmsprop import rmsprop
from compbo.maximizers.rules.rprop import rprop
from compbo.maximizers.rules.sga import sga

__all__ = ["Move", "Rule", "adadelta", "adagrad", "adam", "adamos", "averaged", "rmsprop", "rprop", "sga"]
