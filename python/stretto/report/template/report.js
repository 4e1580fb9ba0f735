"use strict";
// Shows the tips of charts at once, and makes the page's tables sortable and filterable.
(() => {
  // Without scripts, the browser itself shows the titles of shapes, after a second.
  const tip = document.getElementById("tip");
  for (const shape of document.querySelectorAll(".tip")) {
    const text = shape.querySelector("title").textContent;
    shape.querySelector("title").remove();
    shape.addEventListener("pointermove", ({ clientX, clientY }) => {
      tip.textContent = text;
      tip.hidden = false;
      const { width, height } = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(clientX + 14, innerWidth - width - 4))}px`;
      tip.style.top = `${clientY + 18 + height > innerHeight ? clientY - height - 10 : clientY + 18}px`;
    });
    shape.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  // Below a box that scrolls, says what of it is out of sight.
  function makeHint(box, text) {
    const hint = document.createElement("p");
    hint.className = "hint";
    box.after(hint);
    const tell = () => {
      hint.textContent = text(box);
      hint.hidden = !hint.textContent;
    };
    box.addEventListener("scroll", tell, { passive: true });
    new ResizeObserver(tell).observe(box);
    new ResizeObserver(tell).observe(box.firstElementChild);
    tell();
  }

  const chartHint = (box) => (box.scrollWidth > box.clientWidth + 1 ? "Scroll the chart: it continues to the right" : "");
  const rowsOf = (element) => [...element.querySelectorAll("tbody tr:not(.group)")];

  // How many rows and columns of a table are out of sight, and where.
  function tableHint(box) {
    const { bottom, right } = box.getBoundingClientRect();
    const rows = rowsOf(box).filter((row) => !row.hidden);
    const below = rows.filter((row) => row.getBoundingClientRect().bottom > bottom + 1).length;
    const heads = [...box.querySelectorAll("thead th")];
    const beside = heads.filter((head) => head.getBoundingClientRect().right > right + 1).length;
    const more = (count, what, where) => `${count} more ${what}${count === 1 ? "" : "s"} ${where}`;
    const parts = [];
    if (below) parts.push(more(below, "row", "below"));
    if (beside) parts.push(more(beside, "column", "to the right"));
    return parts.length ? `Scroll the table: ${parts.join(", ")}` : "";
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

  for (const chart of document.querySelectorAll(".chart")) makeHint(chart, chartHint);
  for (const table of document.querySelectorAll("table")) {
    makeSortable(table);
    const place = table.closest("figure").querySelector(".filters");
    if (rowsOf(table).length > 1) makeFilterable(table, place);
    makeHint(table.parentElement, tableHint);
  }
})();
