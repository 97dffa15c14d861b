"use strict";
(function () {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const graph = document.querySelector(".graph"), said = graph.querySelector("output");
  const names = JSON.parse(graph.dataset.nodes), rows = all("tr[data-drawn]");
  const drawn = kind => all(`g[id^="${kind} "]`, graph), ends = id => id.split(" ").slice(1);
  const edges = drawn("edge"), nodes = drawn("node");
  const row = id => rows.find(other => other.dataset.drawn === id);

  function tell(text, lit, named) {
    said.textContent = text;
    for (const edge of edges) edge.classList.toggle("lit", lit.includes(edge.id));
    for (const edge of edges) edge.classList.toggle("faded", lit.length > 0 && !lit.includes(edge.id));
    for (const node of nodes) node.classList.toggle("faded", named.length > 0 && !named.includes(ends(node.id)[0]));
    for (const row of rows) row.classList.toggle("lit", lit.includes(row.dataset.drawn));
  }
  function listen(element, on) {
    for (const event of ["pointerenter", "focus"]) element.addEventListener(event, on);
    for (const event of ["pointerleave", "blur"]) element.addEventListener(event, () => tell("", [], []));
  }
  for (const [kind, parts] of [["edge", edges], ["node", nodes]]) for (const part of parts) {
    part.classList.add(kind);
    if (parts.find(other => other.id === part.id) === part) part.setAttribute("tabindex", "0");
  }
  for (const edge of edges) {
    const line = edge.querySelector("path"), text = row(edge.id)?.dataset.says ?? names[ends(edge.id)[0]];
    if (line) {
      const reach = edge.appendChild(line.cloneNode());
      reach.removeAttribute("style");
      reach.classList.add("reach");
    }
    listen(edge, () => tell(text, [edge.id], ends(edge.id)));
  }
  for (const row of rows) listen(row, () => tell(row.dataset.says, [row.dataset.drawn], ends(row.dataset.drawn)));
  for (const node of nodes) {
    const [own] = ends(node.id), joined = edges.map(edge => edge.id).filter(id => ends(id).includes(own));
    listen(node, () => tell(names[own], joined, [own, ...joined.flatMap(ends)]));
  }

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
