"""Other portfolios than UCB and SR in turn: mixed batches, turns that are earned, drawn betas, marginal UCB."""
