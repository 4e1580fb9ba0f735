"use strict";
// Draws the charts that the page holds as data, and makes its tables sortable and filterable.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  // What is on the page stays there: no button that uploads it, and no address to upload it to.
  const config = {
    responsive: true,
    displaylogo: false,
    showSendToCloud: false,
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d"],
  };
  for (const place of document.querySelectorAll("[data-chart]")) {
    const { data, layout } = charts[place.dataset.chart];
    Plotly.newPlot(place, data, layout, config);
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
  }
})();
