"""The methods of the league that are not part of the study: TuRBO, BoTorch point by point, HEBO and SMAC."""
