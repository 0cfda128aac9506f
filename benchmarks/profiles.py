"""Where the time of one value-and-gradient goes, by operator (torch profiler, one thread)."""

from __future__ import annotations

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.common import Row, Work
from benchmarks.value_and_gradient import ours

TITLE = "Profile of one value-and-gradient (UCB): share of the time by operator"
NOTE = (
    "Products: mm, bmm, addmm, baddbmm. Kernel: sqrt, exp, addcmul, clamp, neg. Factor: Cholesky and triangular solves."
)
GROUPS = {
    "products": ("mm", "bmm", "addmm", "baddbmm", "baddbmm_", "addmv_", "mv"),
    "kernel": ("sqrt", "exp_", "addcmul", "addcmul_", "clamp_min_", "neg"),
    "factor": ("linalg_cholesky_ex", "linalg_solve_triangular", "tril", "tril_", "triu_tril_"),
    "columns of v": ("amax", "eq", "abs", "add", "sign", "sum", "mean"),
}


def run(works: list[Work]) -> list[Row]:
    rows: list[Row] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for w in works:
        call = ours(w, "ucb")
        for _ in range(3):
            call()
        with profile(activities=[ProfilerActivity.CPU]) as recorded:
            for _ in range(10):
                call()
        times = {event.key.removeprefix("aten::"): event.self_cpu_time_total for event in recorded.key_averages()}
        total = sum(times.values())
        row: Row = {"size": w.name}
        for group, names in GROUPS.items():
            row[group + " %"] = 100.0 * sum(times.get(name, 0.0) for name in names) / total
        row["rest %"] = 100.0 - sum(value for key, value in row.items() if key != "size")
        row["operators"] = sum(event.count for event in recorded.key_averages()) // 10
        rows.append(row)
    torch.set_num_threads(threads)
    return rows
