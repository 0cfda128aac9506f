"""The paper's first phase: tune the hyperparameters of every maximizer."""
