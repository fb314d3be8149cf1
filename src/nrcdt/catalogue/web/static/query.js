"use strict";

// Cropping, and painting over stains, on the picture of a query. Lengths are pixels of the picture itself.

const editor = document.getElementById("editor");

// On a small screen the hits are what one wants to see.
const refine = document.querySelector(".refine");
if (!("stay" in refine.dataset) && matchMedia("(max-width: 1000px)").matches) refine.open = false;
document.querySelector("[href='#refine']")?.addEventListener("click", () => (refine.open = true));

if (editor) {
  const svg = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const { width, height } = editor.viewBox.baseVal;
  const edges = ["left", "top", "right", "bottom"].map((name) => document.querySelector(`.edges [name=${name}]`));
  const field = document.getElementById("erase"), brush = document.getElementById("brush");
  const layer = svg("g", {});
  editor.append(layer);
  document.querySelector(".tools").hidden = false;

  let discs = field.value ? field.value.split(" ").map((disc) => disc.split(",").map(Number)) : [];
  const past = [];

  const inside = (value, most) => Math.min(most, Math.max(0, value));
  function crop() {
    const box = edges.map((edge) => (edge.value.trim() ? Number(edge.value) : NaN));
    return box.every(Number.isFinite) ? box.map((value, i) => inside(value, i % 2 ? height : width)) : null;
  }
  let ring = [width / 2, height / 2];
  function draw() {
    layer.replaceChildren(...discs.map(([cx, cy, r]) => svg("circle", { class: "disc", cx, cy, r })));
    const box = crop();
    if (box) {
      const [left, top, right, bottom] = box;
      const inner = `M${left} ${top}H${right}V${bottom}H${left}Z`;
      layer.append(svg("path", { class: "outside", d: `M0 0H${width}V${height}H0Z${inner}` }), svg("path", { class: "edge", d: inner }));
    }
    if (tool() === "erase" && editor.matches(":focus-visible")) layer.append(svg("circle", { class: "ring", cx: ring[0], cy: ring[1], r: radius() }));
    field.value = discs.map((disc) => disc.map((value) => Math.round(value * 10) / 10).join(",")).join(" ");
  }
  const remember = () => past.push([discs.slice(), edges.map((edge) => edge.value)]);
  function undo() {
    if (!past.length) return;
    const [before, values] = past.pop();
    discs = before;
    edges.forEach((edge, i) => (edge.value = values[i]));
    draw();
  }

  const tool = () => document.querySelector("[name=tool]:checked").value;
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(editor.getScreenCTM().inverse());
    return [inside(point.x, width), inside(point.y, height)];
  };
  const radius = () => (Math.max(width, height) * Number(brush.value)) / 1000;
  const paint = ([x, y]) => discs.length < 9000 && discs.push([x, y, radius()]);
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  let start = null, last = null;

  editor.addEventListener("pointerdown", (event) => {
    if (!tool()) return;
    event.preventDefault();
    editor.setPointerCapture(event.pointerId);
    remember();
    start = last = at(event);
    if (tool() === "erase") paint(start);
    draw();
  });
  editor.addEventListener("pointermove", (event) => {
    if (!start) return;
    const here = at(event);
    if (tool() === "crop") {
      const box = [0, 1].map((i) => Math.round(Math.min(start[i], here[i]))).concat([0, 1].map((i) => Math.round(Math.max(start[i], here[i]))));
      if (box[2] > box[0] && box[3] > box[1]) edges.forEach((edge, i) => (edge.value = box[i]));
    } else if (Math.hypot(here[0] - last[0], here[1] - last[1]) > radius() / 2) {
      paint(here);
      last = here;
    }
    draw();
  });
  for (const end of ["pointerup", "pointercancel"]) editor.addEventListener(end, () => (start = null));

  // The same by keys: a ring where the brush is.
  editor.addEventListener("keydown", (event) => {
    if (tool() !== "erase" || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    if (step) ring = [inside(ring[0] + (step[0] * radius()) / 2, width), inside(ring[1] + (step[1] * radius()) / 2, height)];
    else if (["+", "=", "-"].includes(event.key)) brush.value = Number(brush.value) + (event.key === "-" ? -5 : 5);
    else if (event.key === " " || event.key === "Enter") {
      remember();
      paint(ring);
    } else return;
    event.preventDefault();
    event.stopPropagation();
    draw();
  });
  for (const change of ["focus", "blur"]) editor.addEventListener(change, draw);

  function choose() {
    editor.setAttribute("class", tool());
    editor.setAttribute("tabindex", tool() === "erase" ? 0 : -1);
    draw();
  }
  for (const input of document.querySelectorAll("[name=tool]")) input.addEventListener("change", choose);
  for (const input of document.querySelectorAll(".tools input"))
    input.addEventListener("keydown", (event) => event.key === "Enter" && tool() === "erase" && (event.preventDefault(), editor.focus({ focusVisible: true })));
  for (const edge of edges) edge.addEventListener("input", draw);
  document.getElementById("undo").addEventListener("click", undo);
  document.getElementById("clear").addEventListener("click", () => {
    remember();
    discs = [];
    edges.forEach((edge) => (edge.value = ""));
    draw();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.target.closest("input:not([type=radio], [type=range]), textarea")) {
      event.preventDefault();
      undo();
    }
  });
  draw();
}
