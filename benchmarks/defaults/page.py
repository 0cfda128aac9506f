"""docs/defaults.md and its figure, from results/defaults.parquet: what each choice is worth on the development tasks.

python -m benchmarks.defaults.page
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks import regrets
from benchmarks.defaults import many_workers
from benchmarks.defaults.variants import DEFAULT, labelled
from benchmarks.made_of import KEY, made_of
from compbo.study.outputs.compact import finished, from_bytes

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "defaults.parquet"
PAGE = ROOT / "docs" / "defaults.md"
RACING = ROOT / "docs" / "racing.md"
FIGURE = ROOT / "docs" / "defaults.svg"
LARGE = ROOT / "results" / "large.parquet"
SPECIAL = ROOT / "results" / "special.parquet"
BATCHES = ROOT / "results" / "batches.parquet"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
LARGE_BEGIN, LARGE_END = "<!-- large -->", "<!-- /large -->"
RACE_BEGIN, RACE_END = "<!-- race -->", "<!-- /race -->"
WORKERS_BEGIN, WORKERS_END = "<!-- workers -->", "<!-- /workers -->"
BATCHES_BEGIN, BATCHES_END = "<!-- batches -->", "<!-- /batches -->"
SPECIAL_BEGIN, SPECIAL_END = "<!-- special -->", "<!-- /special -->"
HIGH_BEGIN, HIGH_END = "<!-- high -->", "<!-- /high -->"
MIXED_TASKS, HIGH_TASKS = "benchmarks.defaults.special_tasks:", "benchmarks.defaults.tasks:"
BASE = 'acquisition="ucb", maximizer="CAdam-ME", outputs="none"'  # as `variants.words` names them
JOINT = "jointly"
BATCH_WORDS = {
    "compbo": JOINT,
    "compbo-sequential": "one point after the other",
    "thompson-decoupled": "Thompson sampling",
}
BEFORE = 'maximizer="CAdam-ME", outputs="yeo-johnson"'
NO_LEVELS = f"{BEFORE}, levels=False"
NO_RACE = 'outputs="yeo-johnson"'
RACES = ("race=True", "race=True, polish=True")  # beside that
RESAMPLES = 2000


class Effect(NamedTuple):
    """The regret of a variant in units of the base's: geometric mean over tasks, with its 95 % interval."""

    name: str
    ratio: float
    low: float
    high: float
    tasks: int
    pairs: int
    better: int  # tasks on which the mean over the seeds is better


def normalised_regrets(table: pd.DataFrame) -> pd.Series:
    """The normalised final regrets by task, seed and method.

    Args:
        table: of the cells; every task, seed and method once.

    Returns:
        As `benchmarks.regrets` has them.
    """
    rows = finished(table)
    index = pd.MultiIndex.from_frame(rows[["task", "seed", "optimiser"]])
    return pd.Series(regrets.normalised_regrets(rows), index=index)


def effects(regret: pd.Series, base: str = BASE) -> list[Effect]:
    """Every variant against the base, on the tasks and seeds that both ran.

    Args:
        regret: by task, seed and method.
        base: the method that the others are compared with.

    Returns:
        The best first.
    """
    logs = np.log(regret).unstack("optimiser")
    found = []
    for name in logs.columns:
        paired = (logs[name] - logs[base]).dropna()
        if paired.empty:
            continue
        by_task = [group.to_numpy() for _, group in paired.groupby("task")]
        low, high = interval(by_task)
        means = np.array([task.mean() for task in by_task])
        found.append(
            Effect(str(name), float(np.exp(means.mean())), low, high, len(means), len(paired), int((means < 0).sum()))
        )
    return sorted(found, key=lambda effect: effect.ratio)


def interval(by_task: list[np.ndarray]) -> tuple[float, float]:
    """The 95 % interval of a geometric mean over tasks, by a stratified bootstrap: the tasks stay.

    Args:
        by_task: logarithms of the ratios of every task, whose runs are drawn again.

    Returns:
        Its two ends.
    """
    generator = np.random.default_rng(0)
    draws = [task[generator.integers(len(task), size=(RESAMPLES, len(task)))].mean(1) for task in by_task]
    low, high = np.quantile(np.exp(np.mean(draws, axis=0)), [0.025, 0.975])
    return float(low), float(high)


def table_of(found: list[Effect], regret: pd.Series, base: str = BASE, unit: str = "the paper's method") -> str:
    """The effects in Markdown, and under them every task.

    Args:
        found: the effects.
        regret: by task, seed and method.
        base: the method that the others are compared with.
        unit: the same in words.

    Returns:
        Two tables.
    """
    lines = [f"| method | regret / {unit} | 95 % interval | better on | runs |", "|---|---|---|---|---|"]
    lines += [
        f"| {_coded(e.name)} | {e.ratio:.2f} | {e.low:.2f} to {e.high:.2f} | {e.better} of {e.tasks} tasks "
        f"| {e.pairs} |"
        for e in found
    ]
    logs = np.log(regret).unstack("optimiser")
    per_task = np.exp(logs.sub(logs[base], axis=0).groupby("task").mean())
    names = [e.name for e in found if e.name != base]
    tasks = [str(task).rpartition(":")[2].replace("_", " ") for task in per_task.index]
    lines += ["", "By task:", "", "| method | " + " | ".join(tasks) + " |", "|---|" + "---|" * len(tasks)]
    for name in names:
        cells = ["" if np.isnan(ratio) else f"{ratio:.2f}" for ratio in per_task[name]]
        lines.append(f"| {_coded(name)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _coded(name: str) -> str:
    """Options as code, words as words."""
    return f"`{name}`" if "=" in name else name


def special_table(table: pd.DataFrame) -> str:
    """What the search over levels is worth in mixed spaces, in Markdown.

    Args:
        table: of the cells of special.toml.

    Returns:
        Two tables.
    """
    regret = normalised_regrets(table[table["task"].str.startswith(MIXED_TASKS)])
    return table_of(effects(regret, NO_LEVELS), regret, NO_LEVELS, "without the search")


def high_table(table: pd.DataFrame) -> str:
    """What more raw batches around the incumbents are worth in 100 dimensions, in Markdown.

    Args:
        table: of the cells of special.toml.

    Returns:
        Two tables.
    """
    regret = normalised_regrets(table[table["task"].str.startswith(HIGH_TASKS)])
    return table_of(effects(regret, BEFORE), regret, BEFORE, "half of them")


def large_table(table: pd.DataFrame) -> str:
    """The last losses of the exact model and of a model of a part of the observations, in Markdown.

    Args:
        table: of the cells of large.toml.

    Returns:
        A row for every task and seed.
    """
    rows = finished(table)
    last = rows.assign(last=rows["best"].map(lambda curve: curve[-1])).pivot_table(
        "last", ["task", "seed"], "optimiser"
    )
    lines = ["| task | seed | all observations | 128 of them | ratio |", "|---|---|---|---|---|"]
    for (task, seed), row in last.dropna().iterrows():
        name, exact, part = str(task).rpartition(":")[2].replace("_", " "), row["compbo"], row["compbo-model-128"]
        lines.append(f"| {name} | {seed} | {exact:.4g} | {part:.4g} | {part / exact:.2f} |")
    return "\n".join(lines)


def batches_table(table: pd.DataFrame) -> str:
    """Large batches by how they were chosen, in Markdown.

    Args:
        table: of the cells of batches.toml.

    Returns:
        A row for every batch size and method: its regret in units of that of joint batches of 8, and of joint batches
        of its size, on the tasks and seeds that both ran.
    """
    rows = finished(table)
    named = rows.assign(
        optimiser=[f"{q} {BATCH_WORDS[m]}" for q, m in zip(rows["batch"], rows["optimiser"], strict=True)]
    )
    regret = normalised_regrets(named)
    ask = named["ask_seconds"].map(np.nanmedian).groupby(named["optimiser"]).median()
    by_eight = {effect.name: effect for effect in effects(regret, f"8 {JOINT}")}
    lines = [
        "| q | chosen | regret / joint 8 | regret / joint, the same size | better on | runs | seconds of an ask |",
        "|---|---|---|---|---|---|---|",
    ]
    for q in sorted(rows["batch"].unique()):
        for effect in effects(regret, f"{q} {JOINT}"):
            if effect.name.startswith(f"{q} "):
                eight, joint = by_eight[effect.name], effect.name.endswith(JOINT)
                beside = "1" if joint else _ratio(effect)
                lines.append(
                    f"| {q} | {effect.name.partition(' ')[2]} | {_ratio(eight)} | {beside} "
                    f"| {'' if joint else f'{effect.better} of {effect.tasks} tasks'} | {effect.pairs} "
                    f"| {ask[effect.name]:{'.0f' if ask[effect.name] >= 10 else '.2g'}} |"
                )
    return "\n".join(lines)


def _ratio(effect: Effect) -> str:
    """With its interval, where tasks have more than one run."""
    several = effect.pairs > effect.tasks
    return f"{effect.ratio:.2f}" + (f" [{effect.low:.2f}, {effect.high:.2f}]" if several else "")


def race_table(table: pd.DataFrame) -> str:
    """Racing restarts against none, in Markdown.

    Args:
        table: of the cells of grid.toml, named by their settings.

    Returns:
        A row for every kind of race.
    """
    rows = finished(table)
    raced = {f"{NO_RACE}, {race}": race for race in RACES}
    rows = rows[rows["optimiser"].isin([NO_RACE, *raced])]
    seconds = rows.groupby("optimiser")["cpu_seconds"].sum()
    lines = [
        "| option | regret / without | 95 % interval | better on | runs | CPU time / without |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{raced[effect.name]}` | {effect.ratio:.2f} | {effect.low:.2f} to {effect.high:.2f} "
        f"| {effect.better} of {effect.tasks} tasks | {effect.pairs} "
        f"| {seconds[effect.name] / seconds[NO_RACE]:.2f} |"
        for effect in effects(normalised_regrets(rows), NO_RACE)
        if effect.name != NO_RACE
    ]
    return "\n".join(lines)


def draw(found: list[Effect]) -> None:
    """The effects as dots with intervals.

    Args:
        found: the effects.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "compbo"
    shown = [effect for effect in found if effect.name != BASE][::-1]
    figure, axes = plt.subplots(figsize=(10.0, 0.9 + 0.42 * len(shown)), layout="constrained")
    for y, effect in enumerate(shown):
        colour = "#0072B2" if effect.name == DEFAULT else "#555555"
        axes.plot([effect.low, effect.high], [y, y], color=colour, linewidth=2.5, solid_capstyle="round")
        axes.plot(effect.ratio, y, "o", color=colour, markersize=8)
        axes.annotate(f"{effect.ratio:.2f}", (effect.ratio, y), (0, 8), textcoords="offset points", ha="center", size=9)
    axes.axvline(1.0, color="black", linewidth=1, linestyle=":")
    axes.set_yticks(range(len(shown)), [effect.name for effect in shown])
    axes.set_ylim(-0.6, len(shown) - 0.3)
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 1.0, 2.0, 4.0]
    reach = min(e.low for e in shown) / 1.3, max(1.0, *(e.high for e in shown)) * 1.3
    ticks = [tick for tick in ticks if reach[0] < tick < reach[1]]
    axes.set_xlim(*reach)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("final regret in units of the paper's method (UCB, no transform); left is better")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FIGURE, metadata={"Date": None, KEY: made_of(RESULTS)})
    plt.close(figure)


def stored(path: Path) -> pd.DataFrame:
    """The cells of a file.

    Args:
        path: of a compact file.

    Returns:
        The table.
    """
    return from_bytes(path.read_bytes(), str(path))


def committed(path: Path) -> pd.DataFrame:
    """The cells of a file, named by their settings.

    Args:
        path: of a compact file.

    Returns:
        The table.
    """
    return labelled(stored(path))


def pages() -> dict[Path, str]:
    """The pages with their tables as the committed results have them, by path."""
    from benchmarks.defaults import (
        dimensions_page,
        effort_page,
        kernels_page,
        levels_page,
        outputs_page,
        priors_page,
        regions_page,
        single_page,
        sixteen_page,
        wide_page,
    )  # made of what is here

    table, special = committed(RESULTS), committed(SPECIAL)
    regret = normalised_regrets(table)
    outputs = outputs_page.outputs_tables(stored(outputs_page.RESULTS))
    text = filled(PAGE.read_text(encoding="utf-8"), BEGIN, table_of(effects(regret), regret), END)
    text = filled(text, LARGE_BEGIN, large_table(stored(LARGE)), LARGE_END)
    text = filled(text, WORKERS_BEGIN, many_workers.table_of(many_workers.load()), WORKERS_END)
    text = filled(text, BATCHES_BEGIN, batches_table(stored(BATCHES)), BATCHES_END)
    text = filled(text, SPECIAL_BEGIN, special_table(special), SPECIAL_END)
    text = filled(text, wide_page.BEGIN, wide_page.wide_table(committed(wide_page.RESULTS)), wide_page.END)
    text = filled(text, HIGH_BEGIN, high_table(special), HIGH_END)
    dimensions = dimensions_page.dimensions_tables(committed(dimensions_page.RESULTS))
    text = filled(text, dimensions_page.BEGIN, dimensions, dimensions_page.END)
    text = filled(text, outputs_page.BEGIN, outputs, outputs_page.END)
    single = single_page.named(stored(single_page.RESULTS))
    text = filled(text, single_page.BEGIN, single_page.single_table(single), single_page.END)
    effort = effort_page.named(stored(effort_page.RESULTS))
    efforts = f"{effort_page.effort_table(effort)}\n\n{effort_page.time_table(effort)}"
    text = filled(text, effort_page.BEGIN, efforts, effort_page.END)
    kernels, sixteen = stored(kernels_page.RESULTS), committed(sixteen_page.RESULTS)
    text = filled(text, kernels_page.BEGIN, kernels_page.kernels_table(kernels), kernels_page.END)
    text = filled(text, sixteen_page.BEGIN, sixteen_page.sixteen_table(sixteen), sixteen_page.END)
    regions = committed(regions_page.RESULTS)
    text = filled(text, regions_page.BEGIN, regions_page.regions_table(regions), regions_page.END)
    levels = stored(levels_page.RESULTS)
    text = filled(text, levels_page.BEGIN, levels_page.levels_table(levels), levels_page.END)
    priors = stored(priors_page.RESULTS)
    text = filled(text, priors_page.CHOICES_BEGIN, priors_page.choices_table(priors), priors_page.CHOICES_END)
    text = filled(text, priors_page.NOISE_BEGIN, priors_page.noise_table(priors), priors_page.NOISE_END)
    return {PAGE: text, RACING: filled(RACING.read_text(encoding="utf-8"), RACE_BEGIN, race_table(table), RACE_END)}


def main() -> None:
    """Write the pages, and the figure."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    draw(effects(normalised_regrets(committed(RESULTS))))


def filled(text: str, begin: str, table: str, end: str) -> str:
    """A text with a table between two marks.

    Args:
        text: of a page.
        begin: the first mark.
        table: what is to stand between them.
        end: the second mark.

    Returns:
        The whole text.
    """
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{table}\n\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    main()
