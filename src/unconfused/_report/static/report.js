"use strict";
/* The page is complete without this: here are only sorting, filtering, and the keys of the
   heat map. Data enters the page as text, never as HTML. */

const byId = (id) => document.getElementById(id);

function setUpHeatMap() {
  const table = byId("heat"), readout = byId("readout");
  if (!table) return;
  const rows = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td")]);
  const read = (cell) => {
    readout.textContent = cell.dataset.said;
    readout.classList.add("reading");
  };
  let current = rows[0][0];
  const focus = (cell) => {
    current.tabIndex = -1;
    current = cell;
    current.tabIndex = 0;
    current.focus();
  };
  rows.forEach((cells, i) => cells.forEach((cell, j) => {
    // The readout says it; a browser's own tooltip on top would only hide the neighbours.
    cell.dataset.said = cell.title;
    cell.setAttribute("aria-label", cell.title);
    cell.removeAttribute("title");
    cell.tabIndex = -1;
    cell.addEventListener("pointerenter", () => read(cell));
    cell.addEventListener("click", () => focus(cell));
    cell.addEventListener("focus", () => read(cell));
    cell.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const target = move && rows[i + move[0]]?.[j + move[1]];
      if (!move) return;
      event.preventDefault();
      if (target) focus(target);
    });
  }));
  current.tabIndex = 0;
  table.parentElement.removeAttribute("tabindex");
}

const PAGE = 50;

function setUpRows() {
  const table = byId("suspects");
  if (!table) return;
  const body = table.tBodies[0], more = byId("more"), matches = byId("matches");
  const heads = [...table.tHead.rows[0].cells].filter((head) => head.dataset.key);
  const collator = new Intl.Collator(undefined, { numeric: true });
  const nameColumn = heads.findIndex((head) => head.dataset.key === "name");
  const rows = [...body.rows].map((row) => ({
    row,
    text: row.textContent.toLowerCase(),
    keys: {
      row: Number(row.cells[0].textContent),
      name: nameColumn < 0 ? "" : row.cells[nameColumn].textContent,
      label: Number(row.dataset.l),
      suggested: Number(row.dataset.s),
      wrong: Number(row.dataset.w),
    },
  }));
  let limit = PAGE;

  const wanted = () => {
    const search = byId("search").value.trim().toLowerCase();
    const label = byId("by-label").value, suggested = byId("by-suggested").value;
    const least = Number(byId("at-least").value) / 100;
    return (one) => one.text.includes(search)
      && (label === "" || one.row.dataset.l === label)
      && (suggested === "" || one.row.dataset.s === suggested)
      && one.keys.wrong >= least;
  };
  const show = () => {
    const kept = rows.filter(wanted());
    const shown = new Set(kept.slice(0, limit).map((one) => one.row));
    rows.forEach((one) => { one.row.hidden = !shown.has(one.row); });
    more.hidden = kept.length <= limit;
    matches.textContent = `${kept.length} of ${rows.length} rows match` +
      (kept.length > shown.size ? `; ${shown.size} shown` : "");
  };
  const sortBy = (head, direction) => {
    const key = head.dataset.key, sign = direction === "ascending" ? 1 : -1;
    const compare = key === "name"
      ? (a, b) => collator.compare(a.keys.name, b.keys.name)
      : (a, b) => a.keys[key] - b.keys[key];
    // Equal rows keep the order of suspicion, and then that of the data.
    rows.sort((a, b) => sign * compare(a, b) || b.keys.wrong - a.keys.wrong || a.keys.row - b.keys.row);
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", direction);
    body.append(...rows.map((one) => one.row));
    show();
  };
  heads.forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const first = head.dataset.key === "wrong" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      sortBy(head, head.getAttribute("aria-sort") === first ? other : first);
    });
  });
  const again = () => { limit = PAGE; show(); };
  ["search", "at-least"].forEach((id) => byId(id).addEventListener("input", again));
  ["by-label", "by-suggested"].forEach((id) => byId(id).addEventListener("change", again));
  byId("clear").addEventListener("click", () => {
    ["search", "by-label", "by-suggested"].forEach((id) => { byId(id).value = ""; });
    byId("at-least").value = "0";
    again();
    byId("search").focus();
  });
  more.addEventListener("click", () => {
    const first = rows.filter(wanted())[limit];
    limit += PAGE;
    show();
    // The keyboard goes on with the first of the new rows, not at the top.
    if (first) { first.row.cells[0].tabIndex = -1; first.row.cells[0].focus(); }
  });
  byId("filters").hidden = false;
  show();
}

const COLUMNS = ["id", "key", "row_hash", "label", "action", "verdict", "drawn_by", "probability",
  "suggested", "shown", "time", "reviewer", "replaces"];

/* A cell that a spreadsheet would run gets an apostrophe, as the package's own files have it. */
function csvCell(value) {
  const formula = /^'*[=+\-@\t\r\n＝＋－＠]/.test(value);
  const number = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value);
  const safe = formula && !number ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
const csv = (lines) => lines.map((line) => line.map(csvCell).join(",") + "\n").join("");

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function setUpDecisions() {
  const table = byId("suspects"), bar = byId("decisions");
  if (!table || !table.querySelector("tbody tr[data-h]")) return;
  const data = JSON.parse(byId("report-data").textContent), values = data.values;
  const place = `unconfused-verdicts-${location.pathname}-${data.created}`;
  const decided = new Map();
  try {
    Object.entries(JSON.parse(localStorage.getItem(place) ?? "{}")).forEach((one) => decided.set(...one));
  } catch { /* nothing is remembered */ }
  const keep = () => {
    try { localStorage.setItem(place, JSON.stringify(Object.fromEntries(decided))); } catch { /* not kept */ }
    const all = [...decided.values()], changed = all.filter((one) => one.changed).length;
    byId("decided").textContent = decided.size === 0
      ? "Keep a label, change it to the suggestion or to another class, or skip the row. Your verdicts stay in this browser until you download them."
      : `${decided.size} decided: ${changed} changed, ${all.filter((one) => one.action === "skip").length} skipped.`;
    ["verdicts", "corrected", "forget"].forEach((id) => { byId(id).disabled = decided.size === 0; });
  };
  const rows = [...table.tBodies[0].rows];
  const shows = new Map();
  const decide = (row, action, verdict) => {
    const { k, l } = row.dataset, now = decided.get(k);
    if (now && now.action === action && now.verdict === verdict) decided.delete(k);  // pressed again
    else {
      const id = [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      const time = `${new Date().toISOString().slice(0, 19)}+00:00`;
      decided.set(k, { id, time, action, verdict, changed: action === "label" && verdict !== values[l] });
    }
    shows.get(row)();
    keep();
  };
  const head = document.createElement("th");
  head.scope = "col";
  head.textContent = "decide";
  table.tHead.rows[0].append(head);
  rows.forEach((row) => {
    const cell = row.insertCell();
    cell.className = "decide";
    if (!row.dataset.h) return;
    const label = values[row.dataset.l], suggested = values[row.dataset.s];
    const button = (text, name, act) => {
      const one = document.createElement("button");
      one.type = "button";
      one.textContent = text;
      one.setAttribute("aria-label", `${name} (row ${row.dataset.k})`);
      one.addEventListener("click", act);
      cell.append(one);
      return one;
    };
    const buttons = [[button("Keep", `Keep ${label}`, () => decide(row, "label", label)), "label", label]];
    if (suggested !== label) {
      buttons.push([button("Change", `Change to ${suggested}`, () => decide(row, "label", suggested)), "label", suggested]);
    }
    const other = button("Other", "Another class", () => {
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", `Another class (row ${row.dataset.k})`);
      choice.append(new Option("class", ""), ...values.map((one) => new Option(one, one)));
      let done = false;  // taking the choice away takes its focus away, too
      const close = () => {
        if (done) return;
        done = true;
        choice.replaceWith(other);
      };
      choice.addEventListener("change", () => {
        if (choice.value === "") return;
        close();
        decide(row, "label", choice.value);
        other.focus();
      });
      choice.addEventListener("blur", close);
      other.replaceWith(choice);
      choice.focus();
    });
    buttons.push([button("Skip", "Skip", () => decide(row, "skip", "")), "skip", ""]);
    const show = () => {
      const now = decided.get(row.dataset.k);
      let named = false;
      buttons.forEach(([one, action, verdict]) => {
        const on = Boolean(now) && now.action === action && now.verdict === verdict;
        one.setAttribute("aria-pressed", String(on));
        named ||= on;
      });
      other.setAttribute("aria-pressed", String(Boolean(now) && !named));
      other.textContent = now && !named ? now.verdict : "Other";
      row.classList.toggle("is-decided", Boolean(now));
    };
    shows.set(row, show);
    show();
  });
  const lines = (make) => rows.filter((row) => decided.has(row.dataset.k)).map((row) => make(row.dataset, decided.get(row.dataset.k)));
  byId("verdicts").addEventListener("click", () => download("verdicts.csv", csv([COLUMNS, ...lines((of, one) => [
    one.id, of.k, of.h, values[of.l], one.action, one.verdict, "suspicion", "", values[of.s], "yes", one.time, "", ""])])));
  byId("corrected").addEventListener("click", () => download("corrected_labels.csv", csv([
    ["key", "label_before", "label", "label_source"],
    ...lines((of, one) => one.action === "skip"
      ? [of.k, values[of.l], values[of.l], "skipped"]
      : [of.k, values[of.l], one.verdict, one.changed ? "corrected" : "confirmed"])])));
  byId("forget").addEventListener("click", () => {
    decided.clear();
    shows.forEach((show) => show());
    keep();
  });
  bar.hidden = false;
  keep();
}

setUpHeatMap();
setUpRows();
setUpDecisions();
