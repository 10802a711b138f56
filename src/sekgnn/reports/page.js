for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table");
    const place = head.cellIndex, number = head.classList.contains("number");
    const up = head.getAttribute("aria-sort") !== "ascending";
    const text = (row) => row.cells[place].textContent.trim();
    const value = (row) => parseFloat(text(row).replaceAll(",", ""));
    const missing = (row) => number ? Number.isNaN(value(row)) : text(row) === "";
    const order = (a, b) => number ? value(a) - value(b)
      : text(a).localeCompare(text(b), "en", { numeric: true });
    const rows = [...table.tBodies[0].rows].sort((a, b) =>
      missing(a) || missing(b) ? missing(a) - missing(b)
        : up ? order(a, b) : order(b, a));
    table.tBodies[0].append(...rows);
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  });
}
