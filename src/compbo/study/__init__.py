"""The paper's study: many runs of Bayesian optimisation that can be stopped, resumed, repeated and extended.

`cell.py` says what a cell is: one run of one method on one task. Around it are the rooms

    tasks     black boxes: synthetic functions, Bayesmark's tuning tasks, your own
    methods   what suggests points: the maximizers of compbo, baselines, peers
    grid      which cells a study is made of
    results   the folder that keeps a row per cell, the table of all rows, scores
    engine    runs cells in processes or on a cluster, and watches them
    tuner     tunes the hyperparameters of the maximizers by running cells
    outputs   tables, figures, statistics and a page from the table of results
    cli       the commands of `compbo study`

A room imports only rooms that are above it in this list.
"""
