"use strict";
// What every page shares: light and dark, charts, sortable tables, copying, CSV files.
const compboPage = (() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Theme: the reader's choice, else the system's. A file may have no storage; then the choice lasts as long as the page.
  const remembered = () => { try { return localStorage.getItem("compbo-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("compbo-theme", theme); } catch { /* no storage */ } };
  const theme = () => {
    if (root.dataset.print) return "light";
    return root.dataset.theme || (dark.matches ? "dark" : "light");
  };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();

  // Charts: figures name their colours by tokens, and only fields that hold colours are looked at.
  const COLOURS = new Set([
    "color", "bgcolor", "bordercolor", "fillcolor", "gridcolor", "linecolor", "tickcolor", "colorscale",
    "paper_bgcolor", "plot_bgcolor", "activecolor",
  ]);
  const painted = (node, palette) => {
    if (Array.isArray(node)) return node.map((item) => painted(item, palette));
    if (node === null || typeof node !== "object") return node;
    return Object.fromEntries(Object.entries(node).map(([key, value]) =>
      [key, COLOURS.has(key) ? colour(value, palette) : painted(value, palette)]));
  };
  const colour = (value, palette) => {
    if (Array.isArray(value)) return value.map((item) => colour(item, palette));
    return typeof value === "string" && value.startsWith("$") ? palette[value.slice(1)] : value;
  };

  // Opens the page: wires theme, size, print, tables and copy buttons; `show` draws every chart.
  const open = (report) => {
    const charts = report.charts;
    const touch = matchMedia("(pointer: coarse)").matches;
    const config = {
      displaylogo: false, typesetMath: false, doubleClick: "reset",
      showSendToCloud: false, // nothing leaves this page
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    };
    if (touch) config.displayModeBar = false;

    const draw = (element, name = theme()) => {
      const palette = report.palettes[name];
      const figure = charts[element.dataset.chart];
      const layout = painted(figure.layout, palette);
      layout.template = painted(report.template, palette);
      if (touch) layout.dragmode = false; // a finger on a chart scrolls the page
      [layout.width, layout.height] = [element.clientWidth, element.clientHeight];
      return Plotly.react(element, painted(figure.data, palette), layout, config);
    };
    const all = () => [...document.querySelectorAll("[data-chart]")];
    const chart = (id) => document.querySelector(`[data-chart="${id}"]`);

    const button = document.getElementById("theme");
    const show = async (name) => {
      delete root.dataset.ready; // until every chart stands in these colours
      button.textContent = name === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${name === "dark" ? "light" : "dark"} colours`);
      button.setAttribute("aria-pressed", String(name === "dark"));
      await Promise.all(all().map((element) => draw(element, name)));
      if (name === theme()) root.dataset.ready = name;
    };
    button.addEventListener("click", () => {
      root.dataset.theme = theme() === "dark" ? "light" : "dark";
      remember(root.dataset.theme);
      show(theme());
    });
    let waiting = 0;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => show(theme()), 120);
    });
    dark.addEventListener("change", () => show(theme()));
    addEventListener("beforeprint", () => { root.dataset.print = "true"; show(theme()); });
    addEventListener("afterprint", () => { delete root.dataset.print; show(theme()); });

    document.querySelectorAll("[data-table]").forEach((place) => table(place, report.tables[place.dataset.table]));
    document.querySelectorAll("[data-copy]").forEach((copy) => copy.addEventListener("click", () => copyText(copy)));
    return { draw, chart, show: () => show(theme()) };
  };

  // Copying: where the clipboard is closed to a file, the text is selected instead.
  const copyText = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2500);
  };

  // Tables: cells are text, sorted as numbers where the column says so; what has no value comes last either way.
  const PAGE = 25; // rows, unless the place says otherwise
  const element = (tag, properties = {}, children = []) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const compare = (numeric) => (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return numeric ? Number(a) - Number(b) : a.localeCompare(b, undefined, { numeric: true });
  };
  const shortened = (cell, column) => {
    if (column.kind !== "float" || cell === "") return cell;
    const value = Number(cell);
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(4).replace(/\.?0*e/, "e");
    return String(Number(value.toPrecision(6)));
  };

  const table = (place, { columns, rows, marks }) => {
    const size = Number(place.dataset.page) || PAGE;
    let order = rows.map((_, i) => i);
    let sorted = { column: 0, direction: 1 };
    let first = 0;
    const body = element("tbody");
    const state = element("span");
    state.setAttribute("role", "status");
    const back = element("button", { type: "button", textContent: "Previous" });
    const next = element("button", { type: "button", textContent: "Next" });
    const headings = columns.map((column, i) => {
      const button = element("button", { type: "button", textContent: column.label });
      button.addEventListener("click", () => sort(i));
      const heading = element("th", { scope: "col", className: column.numeric ? "number" : "" }, [button]);
      return heading;
    });
    const fill = () => {
      const shown = order.slice(first, first + size);
      body.replaceChildren(...shown.map((r) => element("tr", { className: marks[r] || "" }, columns.map((column, i) => {
        const cell = rows[r][i];
        const kind = `${column.numeric ? "number" : ""}${column.kind === "long" ? " long" : ""}`;
        return element("td", { textContent: shortened(cell, column), className: kind, title: column.kind === "float" ? cell : "" });
      }))));
      const last = Math.min(first + size, rows.length);
      state.textContent = rows.length ? `${first + 1} to ${last} of ${rows.length}` : "none yet";
      back.disabled = first === 0;
      next.disabled = last >= rows.length;
      headings.forEach((heading, i) => heading.setAttribute("aria-sort",
        i !== sorted.column ? "none" : sorted.direction > 0 ? "ascending" : "descending"));
    };
    const sort = (column) => {
      sorted = { column, direction: column === sorted.column ? -sorted.direction : 1 };
      const by = compare(columns[column].numeric);
      order = rows.map((_, i) => i).sort((a, b) => {
        const [left, right] = [rows[a][column], rows[b][column]];
        const blank = left === "" || right === "";
        return (blank ? 1 : sorted.direction) * by(left, right) || a - b;
      });
      first = 0;
      fill();
    };
    back.addEventListener("click", () => { first -= size; fill(); });
    next.addEventListener("click", () => { first += size; fill(); });
    const scroll = element("div", { className: "scroll", tabIndex: 0 }, [
      element("table", { className: "data" }, [element("thead", {}, [element("tr", {}, headings)]), body]),
    ]);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", place.dataset.label);
    const many = rows.length > size;
    place.replaceChildren(scroll, element("div", { className: "pager" }, many ? [back, next, state] : [state]));
    fill();
  };

  // CSV as RFC 4180 has it.
  const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const download = ({ columns, rows }, name) => {
    const lines = [columns.map((column) => column.label), ...rows];
    const text = lines.map((line) => line.map(quoted).join(",") + "\r\n").join("");
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };

  const data = () => JSON.parse(document.getElementById("data").textContent);
  return { open, data, element, download };
})();
