"use strict";
// Tables below this element can be sorted, and long ones searched.
function sortable(root) {
  for (const table of root.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const value = (row, at) => {
      const cell = row.cells[at], text = cell.dataset.v ?? cell.textContent;
      return heads[at].classList.contains("n") ? Number(text.replaceAll(",", "")) : text.toLowerCase();
    };
    heads.forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const way = before === "descending" || (before === null && !head.classList.contains("n")) ? 1 : -1;
        const rows = [...body.rows].map((row) => [value(row, at), row]);
        rows.sort(([a], [b]) => (a < b ? -way : a > b ? way : 0));
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
        body.append(...rows.map(([, row]) => row));
      });
    });
    const frame = table.parentElement, name = document.getElementById(`${table.id}-name`);
    if (!frame.classList.contains("long")) continue;
    const tools = document.createElement("div"), input = document.createElement("input"), said = document.createElement("span");
    tools.className = "tools";
    input.type = "search";
    input.placeholder = "Search";
    input.setAttribute("aria-label", `Search: ${name.textContent}`);
    said.setAttribute("role", "status");
    const all = body.rows.length;
    const count = (many) => { said.textContent = many === all ? `${all.toLocaleString("en")} rows` : `${many.toLocaleString("en")} of ${all.toLocaleString("en")} rows`; };
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let many = 0;
      for (const row of body.rows) {
        row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
        many += !row.hidden;
      }
      count(many);
    });
    count(all);
    tools.append(input, said);
    name.after(tools);
  }
}
sortable(document);
