"use strict";
// Draws the page's charts, and makes its tables sortable and filterable.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  // Data stays on the page: no button that uploads it, and no address to upload it to.
  const config = {
    responsive: true,
    displaylogo: false,
    showSendToCloud: false,
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d"],
  };
  // A phone has no room for a legend beside the plot. So the legend goes below, and the chart gets higher.
  // Bars get their names above them. A map keeps its width, and its figure scrolls.
  const narrow = window.matchMedia("(max-width: 700px)");
  const LEGEND_ROW = 21;
  const NARROW_PLOT = 340;
  const BELOW_AXIS = 78;
  const NAMED_BAR = 44;
  const LEAST_BARS = 2.8;
  const LEGEND_LETTERS = 38;

  // The name in lines that a legend has room for, broken where the specs have their parts.
  function inLines(name) {
    const lines = [""];
    for (const part of name.split(/(?<=[:,(])/)) {
      if (lines.at(-1) && (lines.at(-1) + part).length > LEGEND_LETTERS) lines.push("");
      lines[lines.length - 1] += part;
    }
    return lines;
  }

  function fitted(place, { data, layout, height }) {
    const isMap = data.some((trace) => trace.type === "heatmap");
    place.style.minWidth = narrow.matches && isMap ? "600px" : "";
    const hint = place.parentElement.nextElementSibling;
    hint.hidden = !(narrow.matches && isMap);
    place.style.height = `${height}px`;
    const renamed = data.map((trace) => (trace.name ? { ...trace, name: inLines(trace.name).join("<br>") } : trace));
    if (!narrow.matches) return { data: renamed, layout };
    const small = { ...layout, dragmode: false };
    if (isMap) return { data: renamed, layout: small };
    const bars = layout.yaxis.categoryarray;
    const below = bars ? layout.margin.b + 8 : BELOW_AXIS;
    let plot = NARROW_PLOT;
    if (bars) {
      plot = layout.margin.t + below + NAMED_BAR * Math.max(LEAST_BARS, bars.length);
      const common = { xref: "paper", x: 0, xanchor: "left", yanchor: "bottom", yshift: 7, showarrow: false };
      small.annotations = bars.map((text, y) => ({ ...common, y, text, font: { size: 12 } }));
      small.yaxis = { ...layout.yaxis, showticklabels: false, ticks: "", range: [bars.length - 0.5, -0.9] };
      delete small.yaxis.autorange;
      small.bargap = 0.65;
      small.margin = { ...layout.margin, l: 10, r: 24 };
      place.style.height = `${plot}px`;
    }
    const named = data.filter((trace) => trace.name && trace.showlegend !== false);
    if (named.length < 2) return { data: renamed, layout: small };
    const names = named.map((trace) => inLines(trace.name));
    const rows = names.reduce((sum, lines) => sum + lines.length, 0);
    const groups = new Set(named.filter((trace) => trace.legendgrouptitle).map((trace) => trace.legendgroup));
    const legendHeight = LEGEND_ROW * (rows + groups.size) + 20;
    place.style.height = `${plot + legendHeight}px`;
    const y = -below / (plot - layout.margin.t - below);
    const legend = { ...layout.legend, x: 0, xanchor: "left", y, yanchor: "top", maxheight: legendHeight };
    const margin = bars ? small.margin : { ...layout.margin, l: 50, r: 10 };
    return { data: renamed, layout: { ...small, legend, margin } };
  }

  function draw() {
    for (const place of document.querySelectorAll("[data-chart]")) {
      const chart = charts[place.dataset.chart];
      // Plotly changes the layout that it is given.
      const { data, layout } = fitted(place, chart);
      Plotly.react(place, data, structuredClone(layout), config);
    }
  }
  draw();
  narrow.addEventListener("change", draw);

  const rowsOf = (element) => [...element.querySelectorAll("tbody tr:not(.group)")];

  // Says how many rows and columns of a table are out of sight, and where.
  function makeHint(box) {
    const hint = document.createElement("p");
    hint.className = "hint";
    box.after(hint);
    const tell = () => {
      const { bottom, right } = box.getBoundingClientRect();
      const rows = rowsOf(box).filter((row) => !row.hidden);
      const below = rows.filter((row) => row.getBoundingClientRect().bottom > bottom + 1).length;
      const heads = [...box.querySelectorAll("thead th")];
      const beside = heads.filter((head) => head.getBoundingClientRect().right > right + 1).length;
      const more = (count, what, where) => `${count} more ${what}${count === 1 ? "" : "s"} ${where}`;
      const parts = [];
      if (below) parts.push(more(below, "row", "below"));
      if (beside) parts.push(more(beside, "column", "to the right"));
      hint.textContent = parts.length ? `Scroll the table: ${parts.join(", ")}` : "";
      hint.hidden = !parts.length;
    };
    box.addEventListener("scroll", tell, { passive: true });
    new ResizeObserver(tell).observe(box);
    new ResizeObserver(tell).observe(box.firstElementChild);
    tell();
  }

  const textOf = (row, column) => row.cells[column].textContent.trim();
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

  function makeSortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.firstElementChild.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        for (const body of table.tBodies) {
          const rows = rowsOf(table).filter((row) => row.parentElement === body);
          rows.sort((a, b) => compare(keyOf(a, column), keyOf(b, column)));
          body.append(...(descending ? rows.reverse() : rows));
        }
      });
    });
  }

  function makeFilterable(table, place) {
    const rows = rowsOf(table);
    const bodies = [...table.tBodies];
    const headings = bodies.map((body) => body.querySelector(".group")?.textContent.trim() ?? "");
    const groupOf = (row) => headings[bodies.indexOf(row.parentElement)];
    const wanted = new Map();
    const count = document.createElement("span");
    count.className = "count";
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "any text";
    search.setAttribute("aria-label", "Show only rows with this text");
    const show = () => {
      const text = search.value.toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const fits = [...wanted].every(([of, value]) => value === "" || of(row) === value);
        row.hidden = !(fits && `${groupOf(row)} ${row.textContent}`.toLowerCase().includes(text));
        if (!row.hidden) shown += 1;
      }
      for (const body of bodies) body.hidden = rowsOf(table).every((row) => row.parentElement !== body || row.hidden);
      count.textContent = `${shown} of ${rows.length} rows`;
    };
    const choose = (title, values, of) => {
      if (values.length < 2) return;
      const label = document.createElement("label");
      const select = document.createElement("select");
      label.append(`${title} `, select);
      for (const value of ["", ...values]) select.add(new Option(value === "" ? "all" : value, value));
      select.addEventListener("change", () => {
        wanted.set(of, select.value);
        show();
      });
      place.append(label);
    };
    choose("of", [...new Set(headings)], groupOf);
    for (const column of table.dataset.filters.split(" ").filter(Boolean).map(Number)) {
      const values = [...new Map(rows.map((row) => [textOf(row, column), keyOf(row, column)]))];
      values.sort((a, b) => compare(a[1], b[1]));
      const title = table.tHead.rows[0].cells[column].textContent;
      choose(title, values.map(([text]) => text), (row) => textOf(row, column));
    }
    search.addEventListener("input", show);
    place.append(search, count);
    show();
  }

  for (const table of document.querySelectorAll("table")) {
    makeSortable(table);
    const place = table.closest("figure").querySelector(".filters");
    if (rowsOf(table).length > 1) makeFilterable(table, place);
    makeHint(table.parentElement);
  }
})();
