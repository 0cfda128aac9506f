"""Update rules, a file each: what a method does with its gradients."""

from compbo.maximizers.rules.base import Move, Rule, apply, average, average_square, decayed

__all__ = ["Move", "Rule", "apply", "average", "average_square", "decayed"]
