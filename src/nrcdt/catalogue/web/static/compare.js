"use strict";

// Opacity, flicker by hand, and the keys of the page that compares two marks.

const views = document.querySelector(".views");
const opacity = document.getElementById("opacity"), layer = { a: document.querySelector(".layer.a"), b: document.querySelector(".layer.b") };
const KEYS = { s: "beside", o: "overlay", f: "flicker", d: "difference" };

// In the middle both are strong; towards an end the other fades.
function fade() {
  const share = Number(opacity.value) / 100;
  const photos = document.getElementById("photos").checked;
  layer.a.style.opacity = photos ? share : Math.min(1, 2 * share);
  layer.b.style.opacity = photos ? 1 : Math.min(1, 2 - 2 * share);
}

function view(name) {
  const input = views.querySelector(`[name=view][value=${name}]`);
  input.checked = true;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

function flick() {
  if (!views.querySelector("[value=flicker]").checked) view("flicker");
  views.classList.add("by-hand");
  views.classList.toggle("show-a");
}

const remembered = sessionStorage.getItem("view");
if (remembered && Object.values(KEYS).includes(remembered)) views.querySelector(`[value=${remembered}]`).checked = true;
views.addEventListener("change", (event) => {
  if (event.target.name === "view") {
    views.classList.remove("by-hand");
    sessionStorage.setItem("view", event.target.value);
  }
  fade();
});
opacity.addEventListener("input", fade);

// Zoom and pan, by moving the window through which the sheet is seen.
const sheet = document.getElementById("sheet"), seen = sheet.viewBox.baseVal;
const whole = { width: seen.width, height: seen.height };
function place(x, y) {
  seen.x = Math.min(Math.max(x, 0), whole.width - seen.width);
  seen.y = Math.min(Math.max(y, 0), whole.height - seen.height);
}
function zoom(factor, at = new DOMPoint(seen.x + seen.width / 2, seen.y + seen.height / 2)) {
  const share = Math.min(1, Math.max(1 / 12, factor ? seen.width / whole.width / factor : 1));
  const change = (share * whole.width) / seen.width;
  [seen.width, seen.height] = [share * whole.width, share * whole.height];
  place(at.x - (at.x - seen.x) * change, at.y - (at.y - seen.y) * change);
}
const spot = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(sheet.getScreenCTM().inverse());
sheet.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, spot(event));
}, { passive: false });
let held = null, moved = false;
sheet.addEventListener("pointerdown", (event) => {
  held = spot(event);
  moved = false;
  sheet.setPointerCapture(event.pointerId);
});
sheet.addEventListener("pointermove", (event) => {
  if (!held || seen.width === whole.width) return;
  const here = spot(event);
  moved ||= Math.hypot(here.x - held.x, here.y - held.y) > 3;
  place(seen.x + held.x - here.x, seen.y + held.y - here.y);
});
for (const end of ["pointerup", "pointercancel"]) sheet.addEventListener(end, () => (held = null));
sheet.addEventListener("click", () => !moved && views.querySelector("[value=flicker]").checked && flick());
sheet.addEventListener("dblclick", () => zoom(0));
for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
const ZOOM = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 0 };

// A note that was typed but not kept is not lost without a word.
const note = document.querySelector(".judge [name=note]");
if (note) {
  let sent = false;
  note.form.addEventListener("submit", () => (sent = true));
  addEventListener("beforeunload", (event) => !sent && note.value.trim() !== note.dataset.kept && event.preventDefault());
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, input:not([type=radio], [type=range], [type=checkbox])")) return;
  if (event.key === " " && !event.target.closest("button, a, [type=checkbox]")) {
    event.preventDefault();
    flick();
  } else if (event.key in KEYS) view(KEYS[event.key]);
  else if (event.key in ZOOM) zoom(ZOOM[event.key]);
  else document.querySelector(`.verdicts [data-key="${event.key}"]`)?.click();
});
fade();
