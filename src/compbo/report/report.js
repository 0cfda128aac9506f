// The report of a run.
(() => {
  const start = () => {
    const report = compboPage.data();
    const charts = report.charts;
    const { draw, chart, show } = compboPage.open(report);

    const log = document.getElementById("log-values");
    const everything = document.getElementById("all-values");
    const cut = charts.progress?.layout.yaxis.range; // where a few bad values would flatten the others
    const scaleProgress = () => {
      const { layout, data } = charts.progress;
      const whole = log?.checked || everything?.checked; // a log axis has room for all
      layout.yaxis.type = log?.checked ? "log" : "linear";
      if (whole) delete layout.yaxis.range;
      else if (cut) layout.yaxis.range = cut;
      data.forEach((trace) => {
        if (trace.meta === "off the chart") trace.visible = !whole;
      });
      draw(chart("progress"));
    };
    log?.addEventListener("change", scaleProgress);
    everything?.addEventListener("change", scaleProgress);

    const share = document.getElementById("share");
    share?.addEventListener("input", () => {
      document.getElementById("share-shown").value = `${share.value} %`;
      charts.parallel.data.forEach((trace) => {
        if (trace.meta) trace.visible = trace.meta * 10 <= Number(share.value);
      });
      draw(chart("parallel"));
    });

    const pair = document.getElementById("pair");
    const choosePair = () => {
      const chosen = report.pairs[Number(pair.value)];
      charts.pair_mean = chosen.mean;
      charts.pair_error = chosen.error;
    };
    if (pair) {
      choosePair();
      pair.addEventListener("change", () => {
        choosePair();
        draw(chart("pair_mean"));
        draw(chart("pair_error"));
      });
    }

    document.getElementById("csv").addEventListener("click", () => {
      compboPage.download(report.tables.evaluations, "evaluations.csv");
    });
    show();
  };

  addEventListener("DOMContentLoaded", start);
})();
