"use strict";
/* Whatever a row holds enters the page as text, never as HTML. The next row comes only after the
   server has the verdict on disk. */

const byId = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") ?? "";
const make = (tag, text, className) => {
  const one = document.createElement(tag);
  if (text !== undefined) one.textContent = text;
  if (className) one.className = className;
  return one;
};

let tab;
try {
  tab = sessionStorage.getItem("unconfused-tab");
  // A duplicated tab has a copy of the storage: only a reload goes on as the same tab.
  const kind = performance.getEntriesByType("navigation")[0]?.type;
  if (!tab || kind === "navigate") {
    tab = crypto.randomUUID();
    sessionStorage.setItem("unconfused-tab", tab);
  }
} catch { tab = String(Math.random()).slice(2); }

const DIGIT = /^[0-9]$/;
let page = null, busy = false;

async function call(path, body) {
  const options = { headers: { "X-Token": token }, credentials: "omit" };
  if (body) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify({ ...body, tab });
  }
  const reply = await fetch(path, options);
  if (reply.ok) return reply.json();
  const words = await reply.text();
  let said = words;
  try { said = JSON.parse(words).error ?? words; } catch { /* plain words */ }
  throw new Error(said);
}

async function run(path, body) {
  if (busy) return;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    page = await call(path, body);
    show();
  } catch (error) {
    const lost = error instanceof TypeError;
    say(lost ? "The server does not respond. Your verdicts are on disk: start the command again, and reload this page from the address it prints." : error.message, true);
  } finally {
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

const load = () => run(`/next?tab=${encodeURIComponent(tab)}`);
const answer = (verdict) => page?.row != null && run("/answer", { row: page.row, action: "label", verdict });
const skip = () => page?.row != null && run("/answer", { row: page.row, action: "skip", verdict: "" });
const undo = () => run("/undo", {});

function say(text, isError = false) {
  const message = byId("message");
  message.textContent = text;
  message.classList.toggle("error", isError);
}

function cells(row, list) {
  const holder = make("dl", undefined, "cells");
  list.forEach((one) => {
    if (one.kind === "cell") {
      holder.append(make("dt", one.name), make("dd", one.text, "value"));
      return;
    }
    const name = make("dt", one.name, "wide name"), value = make("dd", undefined, "wide");
    if (one.kind === "image") {
      const image = make("img");
      image.alt = `${one.name}: ${one.text}`;
      image.src = `/image?row=${row}&column=${encodeURIComponent(one.name)}&token=${encodeURIComponent(token)}`;
      value.append(image);
    } else {
      value.className = "wide prose";
      value.dir = "auto";
      value.textContent = one.text;
    }
    holder.append(name, value);
  });
  return holder;
}

const DRAWN = {
  suspicion: "One of the most suspicious labels left.", gain: "Its true class would improve the model most.",
  random: "Drawn at random: the suggestion stays hidden until you have answered.",
  confusion: "Drawn at random among the rows with its label: the suggestion stays hidden until you have answered.",
  conflict: "The verdicts so far contradict each other. Yours settles it.",
};
const percent = (share) => (share > 0.995 && share < 1 ? "> 99 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);

function showProgress({ checked, total, mended, skipped, conflicts, left, low, high, next, gain, gain_spread, sentence, notes }) {
  const facts = [
    ["checked", `${checked.toLocaleString("en")} of ${total.toLocaleString("en")}`],
    ["labels corrected", mended.toLocaleString("en")],
    ["still wrong", low === null ? "too early to tell" : `${percent(left)} (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`],
    [`expected wrong in the next ${next}`, gain_spread < 0.5 ? `about ${gain.toFixed(0)}` : `${gain.toFixed(0)} ± ${gain_spread.toFixed(0)}`],
  ];
  if (skipped) facts.push(["skipped", String(skipped)]);
  if (conflicts) facts.push(["conflicts", String(conflicts)]);
  byId("facts").replaceChildren(...facts.map(([name, value]) => {
    const one = make("div");
    one.append(make("dt", name), make("dd", value));
    return one;
  }));
  byId("sentence").textContent = sentence;
  byId("notes").replaceChildren(...notes.map((note) => make("li", note)));
}

function withKey(button, text, key) {
  button.replaceChildren(make("bdi", text), " ", make("kbd", key));
}

function showSuggestion() {
  const holder = byId("suggestion"), take = byId("take");
  holder.replaceChildren();
  const same = page.suggested === page.label;
  take.hidden = page.hidden || same;
  withKey(byId("keep"), `Keep ${page.label}`, "K");
  if (page.hidden) return;
  const line = make("p", undefined, same ? "rather same" : "rather");
  line.append(same ? "The model agrees: " : "The model suggests ", make("bdi", page.suggested), `, ${percent(page.chance)}`);
  holder.append(line, ...page.why.map((one) => make("p", one, "why")));
  if (!same) withKey(take, `Change to ${page.suggested}`, "S");
}

function showClasses() {
  const wanted = byId("find").value.trim().toLowerCase();
  const found = page.classes.filter((one) => one.toLowerCase().includes(wanted));
  // Classes that are digits have their own keys: nobody would look for 7 on the key 8.
  const named = page.classes.some((one) => DIGIT.test(one));
  const buttons = found.slice(0, 60).map((one, place) => {
    const button = make("button");
    button.type = "button";
    const key = named ? (DIGIT.test(one) ? one : "") : place < 9 ? String(place + 1) : "";
    if (key) withKey(button, one, key);
    else button.append(make("bdi", one));
    button.dataset.key = key;
    button.addEventListener("click", () => answer(one));
    return button;
  });
  const typed = byId("find").value.trim();
  if (typed && !page.classes.includes(typed)) {
    const button = make("button");
    button.type = "button";
    button.append("New class: ", make("bdi", typed));
    button.addEventListener("click", () => answer(typed));
    buttons.push(button);
  }
  byId("classes").replaceChildren(...buttons);
}

function show() {
  showProgress(page.progress);
  say(page.before ?? "");
  byId("find").value = "";
  const there = page.row !== null;
  byId("review").hidden = !there;
  byId("finished").hidden = there;
  byId("near").replaceChildren();
  if (!there) return;
  byId("row-title").textContent = `Row ${page.key}`;
  byId("drawn").textContent = DRAWN[page.drawn_by] ?? "";
  byId("conflict").replaceChildren(...page.conflict.map((one) =>
    make("p", `${one.reviewer || "someone"} said ${one.verdict} (${one.time})`)));
  byId("cells").replaceChildren(...cells(page.row, page.cells).childNodes);
  byId("label").textContent = page.label;
  byId("votes").replaceChildren(...page.votes.map(({ who, vote }) => {
    const one = make("li"), name = make("bdi", who, "who");
    one.append(name, " ", make("bdi", vote));
    return one;
  }));
  showSuggestion();
  showClasses();
  (page.near ?? []).forEach((group) => {
    const cards = make("div", undefined, "cards");
    cards.append(...group.rows.map((one) => {
      const card = make("article");
      card.append(make("h3", `Row ${one.key}`), cells(one.row, one.cells));
      return card;
    }));
    const title = make("h2", "Most similar rows labelled ");
    title.append(make("bdi", group.class));
    byId("near").append(title, cards);
  });
  byId("row-title").focus({ preventScroll: true });
  scrollTo(0, 0);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || page?.row == null) return;
  const inField = event.target === byId("find");
  if (inField) {
    if (event.key === "Escape") { event.target.value = ""; showClasses(); event.target.blur(); }
    else if (event.key === "Enter") byId("classes").querySelector("button")?.click();
    else return;
    event.preventDefault();
    return;
  }
  const number = DIGIT.test(event.key) ? byId("classes").querySelector(`[data-key="${event.key}"]`) : null;
  const actions = {
    k: () => answer(page.label), x: skip, u: undo, "/": () => byId("find").focus(),
    s: () => !byId("take").hidden && answer(page.suggested),
  };
  const action = number ? () => number.click() : actions[event.key.toLowerCase()];
  if (!action || event.repeat) return;
  event.preventDefault();
  action();
});
byId("keep").addEventListener("click", () => answer(page.label));
byId("take").addEventListener("click", () => answer(page.suggested));
byId("skip").addEventListener("click", skip);
byId("undo").addEventListener("click", undo);
byId("find").addEventListener("input", showClasses);
withKey(byId("skip"), "Skip", "X");
withKey(byId("undo"), "Undo", "U");
load();
