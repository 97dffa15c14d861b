"use strict";
(function () {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const said = document.querySelector(".graph output");
  const edges = all(".edge"), nodes = all(".node"), rows = all("tr[data-edge]");

  function tell(text, lit, named) {
    const numbers = lit.map(edge => edge.dataset.edge);
    said.textContent = text;
    for (const edge of edges) {
      edge.classList.toggle("lit", lit.includes(edge));
      edge.classList.toggle("faded", lit.length > 0 && !lit.includes(edge));
    }
    nodes.forEach(node => node.classList.toggle("faded", named.length > 0 && !named.includes(node.dataset.name)));
    rows.forEach(row => row.classList.toggle("lit", numbers.includes(row.dataset.edge)));
  }
  function listen(element, on) {
    for (const event of ["pointerenter", "focus"]) element.addEventListener(event, on);
    for (const event of ["pointerleave", "blur"]) element.addEventListener(event, () => tell("", [], []));
  }
  const ends = edge => [edge.dataset.cause, edge.dataset.effect];
  for (const edge of edges) listen(edge, () => tell(edge.dataset.says, [edge], ends(edge)));
  for (const row of rows) {
    const edge = edges.find(other => other.dataset.edge === row.dataset.edge);
    listen(row, () => tell(edge.dataset.says, [edge], ends(edge)));
  }
  for (const node of nodes) listen(node, () => {
    const own = edges.filter(edge => ends(edge).includes(node.dataset.name));
    tell(node.dataset.says, own, [node.dataset.name, ...own.flatMap(ends)]);
  });

  const value = (row, column) => row.cells[column].textContent.trim();
  function sort(heading) {
    const body = heading.closest("table").tBodies[0], column = heading.cellIndex;
    const up = heading.getAttribute("aria-sort") !== "ascending";
    all("th", heading.parentNode).forEach(other => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const order = (a, b) => value(a, column).localeCompare(value(b, column), "en", { numeric: true });
    const byNumber = (a, b) => parseFloat(value(a, column)) - parseFloat(value(b, column)) || order(a, b);
    body.append(...[...body.rows].sort((a, b) => (up ? 1 : -1) * byNumber(a, b)));
  }
  for (const heading of all(".figures thead th")) {
    heading.tabIndex = 0;
    heading.addEventListener("click", () => sort(heading));
    heading.addEventListener("keydown", event => { if (event.key === "Enter") sort(heading); });
  }
  for (const input of all("input[data-for]")) input.addEventListener("input", () => {
    const sought = input.value.toLowerCase();
    for (const row of document.getElementById(input.dataset.for).tBodies[0].rows)
      row.hidden = !row.textContent.toLowerCase().includes(sought);
  });
})();
