// The page of a study: runs are filtered and put together here, as in aggregate.py and bootstrap.py.
(() => {
  const RESAMPLES = 200;
  const MOST_BANDS = 12; // more of them hide the curves; the hover label has the interval all the same
  const FEWEST_TASKS = 3;
  const { element } = compboPage;

  const random = (seed) => () => { // mulberry32: the same band every time
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const middle = (sorted) => {
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const ascending = (values) => Float64Array.from(values).sort();

  // One curve of several: the median or the best at every step.
  const reduced = (curves, length, way, higher) => {
    const out = new Float64Array(length);
    for (let t = 0; t < length; t += 1) {
      const values = ascending(curves.map((curve) => curve[t]));
      out[t] = way === "median" ? middle(values) : higher ? values[values.length - 1] : values[0];
    }
    return out;
  };

  // Weighted mean or median of curves at every step.
  const mean = (curves, weights, length) => {
    const out = new Float64Array(length);
    for (let i = 0; i < curves.length; i += 1) {
      if (weights[i] === 0) continue;
      for (let t = 0; t < length; t += 1) out[t] += weights[i] * curves[i][t];
    }
    return out;
  };
  const medianBy = (orders) => (curves, weights, length) => {
    const out = new Float64Array(length);
    for (let t = 0; t < length; t += 1) {
      let below = 0;
      let lower = NaN;
      for (const i of orders[t]) {
        below += weights[i];
        if (Number.isNaN(lower) && below >= 0.5 - 1e-12) lower = curves[i][t];
        if (below > 0.5 + 1e-12) { out[t] = (lower + curves[i][t]) / 2; break; }
      }
    }
    return out;
  };

  // Value and 95 % interval of a set of curves, each with its task: seeds within tasks, or tasks, are resampled.
  const estimate = (curves, strata, length, useMedian) => {
    const tasks = [...new Set(strata)];
    const members = new Map(tasks.map((task) => [task, []]));
    strata.forEach((task, i) => members.get(task).push(i));
    const groups = tasks.map((task) => members.get(task));
    const base = new Float64Array(curves.length);
    groups.forEach((group) => group.forEach((i) => { base[i] = 1 / (groups.length * group.length); }));
    const statistic = useMedian
      ? medianBy(Array.from({ length }, (_, t) => curves.map((_, i) => i).sort((a, b) => curves[a][t] - curves[b][t])))
      : mean;
    const value = statistic(curves, base, length);
    const unit = groups.every((group) => group.length > 1) ? "seeds" : groups.length >= FEWEST_TASKS ? "tasks" : "nothing";
    if (unit === "nothing") return { value, unit, tasks: groups.length, runs: curves.length };
    const draw = random(1);
    const drawn = [];
    for (let r = 0; r < RESAMPLES; r += 1) {
      const weights = new Float64Array(curves.length);
      if (unit === "seeds") {
        groups.forEach((group) => group.forEach(() => { const i = group[Math.floor(draw() * group.length)]; weights[i] += base[i]; }));
      } else {
        groups.forEach(() => groups[Math.floor(draw() * groups.length)].forEach((i) => { weights[i] += base[i]; }));
      }
      drawn.push(statistic(curves, weights, length));
    }
    const low = new Float64Array(length);
    const high = new Float64Array(length);
    for (let t = 0; t < length; t += 1) {
      const values = ascending(drawn.map((one) => one[t]));
      low[t] = values[Math.floor(0.025 * (RESAMPLES - 1))];
      high[t] = values[Math.ceil(0.975 * (RESAMPLES - 1))];
    }
    return { value, low, high, unit, tasks: groups.length, runs: curves.length };
  };

  // The runs that pass the filters, as indices.
  const passing = (data, chosen) => {
    const { runs, tasks, optimisers, filters } = data;
    const taskFilters = Object.keys(filters).filter((name) => name !== "acquisition" && name !== "class");
    const taskPasses = tasks.map((task) => taskFilters.every((name) => chosen[name].has(task[name])));
    return runs.task.map((_, i) => i).filter((i) => taskPasses[runs.task[i]]
      && (runs.acquisition[i] < 0 || chosen.acquisition.has(runs.acquisition[i]))
      && chosen.class.has(optimisers[runs.optimiser[i]][1]));
  };

  const LOG_FLOOR = 1e-12;
  const curveOf = (data, scale) => (i) => {
    const curve = data.runs.curve[i];
    if (scale !== "log") return curve;
    return curve.map((value) => Math.log10(Math.max(value * data.runs.scale[i], LOG_FLOOR)));
  };

  // Series of the chart: one per class or optimiser, in their order.
  const series = (data, selected, view, scale) => {
    const { runs, optimisers } = data;
    const length = Math.min(...selected.map((i) => data.runs.curve[i].length));
    const curve = curveOf(data, scale);
    const byClass = view !== "optimisers";
    const sets = new Map();
    selected.forEach((i) => {
      const key = byClass ? optimisers[runs.optimiser[i]][1] : runs.optimiser[i];
      if (!sets.has(key)) sets.set(key, new Map());
      const contest = `${runs.task[i]}|${runs.acquisition[i]}|${runs.seed[i]}`;
      if (!sets.get(key).has(contest)) sets.get(key).set(contest, []);
      sets.get(key).get(contest).push(i);
    });
    return { length, found: [...sets.keys()].sort((a, b) => a - b).map((key) => {
      const curves = [];
      const strata = [];
      sets.get(key).forEach((members, contest) => {
        curves.push(byClass ? reduced(members.map(curve), length, view === "best" ? "best" : "median", data.higher) : curve(members[0]));
        strata.push(contest.slice(0, contest.lastIndexOf("|")));
      });
      const token = byClass ? `c:${data.groups[key]}` : `o:${optimisers[key][0]}`;
      const look = byClass ? data.looks.classes[data.groups[key]] : data.looks.optimisers[optimisers[key][0]];
      return { name: byClass ? data.titles[key] : optimisers[key][0], token, look, strata, ...estimate(curves, strata, length, data.higher) };
    }) };
  };

  const escaped = (words) => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const traces = ({ length, found }) => {
    const steps = Array.from({ length }, (_, t) => t);
    const digits = (value) => Number(value.toPrecision(4));
    const banded = found.length > MOST_BANDS ? [] : found.filter((one) => one.unit !== "nothing");
    const bands = banded.map((one) => {
      const name = escaped(one.name);
      return {
        type: "scatter", x: [...steps, ...steps.toReversed()], y: [...one.high, ...one.low.toReversed()],
        fill: "toself", fillcolor: `$${one.token}:band`, line: { width: 0, color: "$none" }, mode: "lines",
        hoverinfo: "skip", showlegend: false, legendgroup: name, name: `${name} band`,
      };
    });
    return [...bands, ...found.map((one) => { // the lines on top of all bands
      const name = escaped(one.name);
      return {
        type: "scatter", name, x: steps, y: [...one.value].map(digits), mode: "lines+markers", legendgroup: name,
        line: { color: `$${one.token}`, dash: one.look.dash, width: 2 },
        marker: { color: `$${one.token}`, symbol: one.look.symbol, size: 6, maxdisplayed: 7 },
        customdata: steps.map((t) => (one.unit === "nothing" ? "no interval" : `${digits(one.low[t])} to ${digits(one.high[t])}`)),
        hovertemplate: `<b>${name}</b><br>step %{x}: %{y}<br>95 %: %{customdata}<br>${one.runs} runs, ${one.tasks} tasks<extra></extra>`,
      };
    })];
  };

  const UNITS = {
    seeds: "95 % bootstrap intervals over seeds, within tasks",
    tasks: "95 % bootstrap intervals over tasks (not all have several seeds)",
    nothing: "no intervals where there are too few runs",
  };
  const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const sentence = (data, selected, { length, found }) => {
    const { runs } = data;
    const tasks = new Set(selected.map((i) => `${runs.task[i]}|${runs.acquisition[i]}`)).size;
    const longest = Math.max(...selected.map((i) => runs.curve[i].length));
    const cut = longest > length ? ` Curves are cut at step ${length - 1}, where the shortest run ends.` : "";
    const boxes = (one) => new Set(one.strata.map((stratum) => stratum.split("|")[0])).size;
    const uneven = new Set(found.map(boxes)).size > 1 ? " Not all ran on the same black boxes: the hover labels have their number." : "";
    const units = [...new Set(found.map((one) => UNITS[one.unit]))].join("; ");
    const hidden = found.length > MOST_BANDS ? ` With more than ${MOST_BANDS} curves the intervals are in the hover labels only.` : "";
    return `${counted(selected.length, "run")} on ${counted(tasks, "task")} (black box × acquisition); ${units}.${uneven}${hidden}${cut}`;
  };

  // An explorer: filters, a choice of view and scale, a chart, a line that says what it shows.
  const explore = (place, data, charts, drawChart) => {
    const id = place.dataset.explore;
    const chosen = Object.fromEntries(Object.entries(data.filters).map(([name, values]) => [name, new Set(values.keys())]));
    const view = place.querySelector("[data-view]");
    const scale = place.querySelector("[data-scale]");
    const status = place.querySelector(".status");
    const update = () => {
      const selected = passing(data, chosen);
      const made = selected.length ? series(data, selected, view.value, scale?.value) : { length: 0, found: [] };
      charts[id].data = traces(made);
      if (scale) charts[id].layout.yaxis.title.text = scale.selectedOptions[0].textContent;
      status.textContent = selected.length ? sentence(data, selected, made) : "Nothing passes these filters.";
    };
    const redraw = () => { update(); drawChart(id); };
    const fieldset = ([name, values]) => {
      const boxes = values.map((words, i) => {
        const box = element("input", { type: "checkbox", checked: true });
        box.addEventListener("change", () => { chosen[name][box.checked ? "add" : "delete"](i); redraw(); });
        return box;
      });
      const all = element("button", { type: "button", textContent: "all" });
      const none = element("button", { type: "button", textContent: "none" });
      const set = (checked) => () => {
        boxes.forEach((box, i) => { box.checked = checked; chosen[name][checked ? "add" : "delete"](i); });
        redraw();
      };
      all.addEventListener("click", set(true));
      none.addEventListener("click", set(false));
      const labels = boxes.map((box, i) => element("label", {}, [box, values[i]]));
      const made = element("fieldset", {}, [element("legend", { textContent: name }), element("div", { className: "choices" }, [...labels, all, none])]);
      made.dataset.filter = name;
      return made;
    };
    place.querySelector(".filters").replaceChildren(...Object.entries(data.filters).filter(([, values]) => values.length).map(fieldset));
    view.addEventListener("change", redraw);
    scale?.addEventListener("change", redraw);
    update();
  };

  const start = () => {
    const report = compboPage.data();
    const { draw, chart, show } = compboPage.open(report);
    document.querySelectorAll("[data-explore]").forEach((place) => {
      const data = { ...report.explorers[place.dataset.explore], looks: report.looks };
      explore(place, data, report.charts, (id) => draw(chart(id)));
    });
    document.querySelectorAll("[data-csv]").forEach((button) => button.addEventListener("click", () => {
      compboPage.download(report.tables[button.dataset.csv], `${button.dataset.csv}.csv`);
    }));
    show();
  };
  addEventListener("DOMContentLoaded", start);
})();
