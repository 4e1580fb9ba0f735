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
  // A map keeps its width, and its figure scrolls.
  const narrow = window.matchMedia("(max-width: 700px)");
  const LEGEND_ROW = 21;
  const NARROW_PLOT = 340;
  const BELOW_AXIS = 78;

  function fitted(place, { data, layout, height }) {
    const isMap = data.some((trace) => trace.type === "heatmap");
    place.style.minWidth = narrow.matches && isMap ? "600px" : "";
    const hint = place.parentElement.nextElementSibling;
    hint.hidden = !(narrow.matches && isMap);
    place.style.height = `${height}px`;
    if (!narrow.matches) return layout;
    const small = { ...layout, dragmode: false };
    const named = data.filter((trace) => trace.name && trace.showlegend !== false);
    if (isMap || named.length < 2) return small;
    const groups = new Set(named.filter((trace) => trace.legendgrouptitle).map((trace) => trace.legendgroup));
    const plot = data.some((trace) => trace.type === "bar") ? height : NARROW_PLOT;
    place.style.height = `${plot + LEGEND_ROW * (named.length + groups.size) + 20}px`;
    const y = -BELOW_AXIS / (plot - layout.margin.t - BELOW_AXIS);
    const legend = { ...layout.legend, x: 0, xanchor: "left", y, yanchor: "top" };
    return { ...small, legend, margin: { ...layout.margin, l: 50, r: 10 } };
  }

  function draw() {
    for (const place of document.querySelectorAll("[data-chart]")) {
      const chart = charts[place.dataset.chart];
      // Plotly changes the layout that it is given.
      const layout = structuredClone(fitted(place, chart));
      Plotly.react(place, chart.data, layout, config);
    }
  }
  draw();
  narrow.addEventListener("change", draw);

  // Says how many rows and columns of a table are out of sight, and where.
  function makeHint(box) {
    const hint = document.createElement("p");
    hint.className = "hint";
    box.after(hint);
    const tell = () => {
      const { bottom, right } = box.getBoundingClientRect();
      const rows = [...box.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
      const below = rows.filter((row) => row.getBoundingClientRect().bottom > bottom + 1).length;
      const heads = [...box.querySelectorAll("th")];
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
        const rows = [...table.tBodies[0].rows].sort((a, b) => compare(keyOf(a, column), keyOf(b, column)));
        table.tBodies[0].append(...(descending ? rows.reverse() : rows));
      });
    });
  }

  function makeFilterable(table, place) {
    const rows = [...table.tBodies[0].rows];
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
        const fits = [...wanted].every(([column, value]) => value === "" || textOf(row, column) === value);
        row.hidden = !(fits && row.textContent.toLowerCase().includes(text));
        if (!row.hidden) shown += 1;
      }
      count.textContent = `${shown} of ${rows.length} rows`;
    };
    for (const column of table.dataset.filters.split(" ").filter(Boolean).map(Number)) {
      const values = [...new Map(rows.map((row) => [textOf(row, column), keyOf(row, column)]))];
      if (values.length < 2) continue;
      values.sort((a, b) => compare(a[1], b[1]));
      const label = document.createElement("label");
      const select = document.createElement("select");
      label.append(`${table.tHead.rows[0].cells[column].textContent} `, select);
      for (const value of ["", ...values.map(([text]) => text)]) {
        select.add(new Option(value === "" ? "all" : value, value));
      }
      select.addEventListener("change", () => {
        wanted.set(column, select.value);
        show();
      });
      place.append(label);
    }
    search.addEventListener("input", show);
    place.append(search, count);
    show();
  }

  for (const table of document.querySelectorAll("table")) {
    makeSortable(table);
    const place = table.closest("figure").querySelector(".filters");
    if (table.tBodies[0].rows.length > 1) makeFilterable(table, place);
    makeHint(table.parentElement);
  }
})();
