"use strict";

// Keys that work on every page, moving in grids, and pictures that are dropped or pasted.

const typing = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox], [type=radio]), select, textarea");

// Moving: the nearest card in a direction, by where cards are on the screen.
function neighbour(cards, from, key) {
  const box = (card) => card.getBoundingClientRect();
  const here = box(from);
  const x = (other) => other.left + other.width / 2, y = (other) => other.top + other.height / 2;
  if (key === "ArrowLeft" || key === "ArrowRight") return cards[cards.indexOf(from) + (key === "ArrowRight" ? 1 : -1)];
  const sign = key === "ArrowDown" ? 1 : -1;
  const ahead = cards.filter((card) => sign * (box(card).top - here.top) > 4);
  const cost = (card) => 10 * Math.abs(y(box(card)) - y(here)) + Math.abs(x(box(card)) - x(here));
  return ahead.sort((a, b) => cost(a) - cost(b))[0];
}

function move(event, grid) {
  const cards = [...grid.querySelectorAll(".card")];
  const item = document.activeElement.closest("[data-grid] > li");
  const current = item && item.querySelector(".card");
  const next = current ? neighbour(cards, current, event.key) : cards[0];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function pick(item) {
  const box = item && item.querySelector("input[name=m]");
  if (!box) return;
  box.checked = !box.checked;
  box.dispatchEvent(new Event("change", { bubbles: true }));
}

document.addEventListener("keydown", (event) => {
  if (typing(event)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const grid = document.querySelector("[data-grid]");
  const item = document.activeElement.closest("[data-grid] > li");
  const card = item && item.querySelector(".card");
  if (event.key === "/") {
    const search = document.getElementById("search");
    if (!search) return void (location.href = "/");
    event.preventDefault();
    search.closest("details")?.setAttribute("open", "");
    search.focus();
    search.select();
  } else if (grid && event.key.startsWith("Arrow") && !event.target.matches("input")) move(event, grid);
  else if (event.key === "c" && item) grid.classList.contains("hits") ? card.click() : pick(item);
  else if (event.key === "o" && card && card.dataset.mark) location.href = card.dataset.mark;
  else if (event.key === "r") document.getElementById("relatives")?.click();
  else if (event.key === "e") {
    const edit = document.querySelector(".edit");
    if (!edit) return;
    event.preventDefault();
    edit.open = true;
    edit.querySelector("input").focus();
  } else if (event.key === "n") document.querySelector(".pages [rel=next]")?.click();
  else if (event.key === "p") document.querySelector(".pages [rel=prev]")?.click();
});

// Two ticked marks are compared at once; what is ticked is remembered from page to page of the collection.
const form = document.querySelector("form.pick");
if (form) {
  const boxes = [...form.querySelectorAll("input[name=m]")];
  const elsewhere = JSON.parse(sessionStorage.getItem("picked") || "[]").filter((uid) => !boxes.some((box) => box.value === uid));
  for (const uid of elsewhere.slice(0, 1)) {
    const input = Object.assign(document.createElement("input"), { type: "checkbox", name: "m", value: uid, checked: true });
    const label = document.createElement("label");
    label.className = "tick";
    label.append(input, "one mark of another page");
    form.querySelector(".picked").prepend(label);
  }
  form.addEventListener("change", () => {
    const chosen = [...form.querySelectorAll("input[name=m]:checked")].map((box) => box.value);
    sessionStorage.setItem("picked", JSON.stringify(chosen.length < 2 ? chosen : []));
    if (chosen.length === 2) form.requestSubmit();
  });
}

// A form that takes a while says so, and is sent once.
function busy(form, text) {
  document.body.classList.add("busy");
  const button = form.querySelector("button.main, button");
  if (button && text) button.textContent = text;
  for (const one of form.querySelectorAll("button")) setTimeout(() => (one.disabled = true));
}
for (const form of document.querySelectorAll("[data-busy]")) form.addEventListener("submit", () => busy(form, form.dataset.busy));

const ask = document.querySelector("form[data-ask]");
if (ask) {
  const input = ask.querySelector("[type=file]"), drop = ask.querySelector(".drop");
  const [title, line] = drop.querySelectorAll("strong, span");
  const max = Number(drop.dataset.max);
  const take = () => {
    const file = input.files[0];
    if (!file) return;
    if (file.size > max) {
      title.textContent = "That file is too large";
      line.textContent = `At most ${max / 1e6} MB; got ${(file.size / 1e6).toFixed(1)} MB. Save it with fewer pixels.`;
      input.value = "";
      return;
    }
    title.textContent = file.name;
    line.textContent = "Ready to search.";
    if (ask.classList.contains("ask-here")) ask.requestSubmit();
  };
  const give = (files) => {
    if (!files.length) return;
    const one = new DataTransfer();
    one.items.add(files[0]);
    input.files = one.files;
    take();
  };
  input.addEventListener("change", take);
  ask.addEventListener("submit", () => {
    line.textContent = "Searching…";
    busy(ask, "Searching…");
  });
  let depth = 0;
  const mark = (change) => document.body.classList.toggle("dropping", (depth = Math.max(0, depth + change)) > 0);
  document.addEventListener("dragenter", () => mark(1));
  document.addEventListener("dragleave", () => mark(-1));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(-depth);
    give(event.dataTransfer.files);
  });
  document.addEventListener("paste", (event) => give(event.clipboardData.files));
}

// A page that comes back from memory must not look busy.
addEventListener("pageshow", (event) => event.persisted && location.reload());
