// The report of a run.
(() => {
  const start = () => {
    const report = compboPage.data();
    const charts = report.charts;
    const { draw, chart, show } = compboPage.open(report);

    const log = document.getElementById("log-values");
    const cut = charts.progress?.layout.yaxis.range; // a log axis shows all values, and has no use for it
    log?.addEventListener("change", () => {
      const { layout, data } = charts.progress;
      layout.yaxis.type = log.checked ? "log" : "linear";
      if (log.checked) delete layout.yaxis.range;
      else if (cut) layout.yaxis.range = cut;
      data.forEach((trace) => {
        if (trace.meta === "off the chart") trace.visible = !log.checked;
      });
      draw(chart("progress"));
    });

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
