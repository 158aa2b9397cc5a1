"use strict";
// -- step by step -------------------------------------------------------------------------------

function lesson() {
  const steps = graph().lesson, active = !at("lesson").hidden && steps.length > 0 && state.view === "operators";
  if (at("lesson").hidden && !canvas.classList.contains("lesson")) return;
  canvas.classList.toggle("lesson", active);
  at("tree").replaceChildren();
  for (const each of world.querySelectorAll(".now, .sink, .between, .on")) each.classList.remove("now", "sink", "between", "on");
  if (at("lesson").hidden) return;
  if (!steps.length) {
    at("lesson").replaceChildren(make("p", {}, "There are steps for graphs that are fused, with fewer than 200 nodes."));
    return;
  }
  if (state.view !== "operators") {
    at("lesson").replaceChildren(link("Show the graph before fusion", () => turn("operators")));
    return;
  }
  state.step = Math.min(state.step ?? 0, steps.length - 1);
  lessonControls(steps);
  lessonPicture(steps);
}

function lessonControls(steps) {
  const step = steps[state.step], parts = [...new Set(steps.map((each) => each.part))];
  const to = (number, focus) => {
    state.step = Math.max(0, Math.min(steps.length - 1, number));
    lesson();
    at(focus)?.focus();
  };
  const button = (id, text, number) => make("button", { type: "button", id, onclick: () => to(number, id) }, text);
  const chapters = parts.map((part, i) => {
    const chapter = button(`part-${i}`, part, steps.findIndex((each) => each.part === part));
    chapter.setAttribute("aria-pressed", String(part === step.part));
    return chapter;
  });
  const slider = make("input", { type: "range", id: "at", min: 0, max: steps.length - 1, value: state.step });
  slider.setAttribute("aria-label", "Step");
  slider.addEventListener("input", () => to(Number(slider.value), "at"));
  const said = make("div", { id: "said" }, make("p", {}, step.text), make("p", { className: "soft" }, `step ${state.step + 1} of ${steps.length}, ${step.part}`));
  said.setAttribute("aria-live", "polite");
  at("lesson").replaceChildren(
    make("div", { className: "lessons" }, ...chapters), slider,
    make("div", { className: "lessons" }, button("back", "← Back", state.step - 1), button("next", "Next →", state.step + 1)),
    said, heading("What is marked"),
    make("p", {}, "Filled: the node of this step. Red: its post-dominator. Dashed: its users, or what merges with it. " +
      "Dotted lines: the tree so far. Hulls: the groups so far."));
}

function lessonPicture(steps) {
  const parents = graph().nodes.map((_, i) => i);
  const root = (i) => {
    while (parents[i] !== i) i = parents[i];
    return i;
  };
  const sizes = graph().nodes.map(() => 1);
  steps.slice(0, state.step + 1).forEach((step, i) => {
    if (step.part === "post-dominators" && step.sink !== null) branch(step, i === state.step);
    if (!step.merges) return;
    for (const number of [step.node, ...step.between]) {
      const [a, b] = [root(number), root(step.sink)];
      if (a === b) continue;
      parents[a] = b;
      sizes[b] += sizes[a];
    }
  });
  for (const each of scene().querySelectorAll(".hull > rect")) each.classList.toggle("on", sizes[root(Number(each.dataset.n))] > 1);
  for (const each of scene().querySelectorAll(".hull > path")) each.classList.toggle("on", root(Number(each.dataset.a)) === root(Number(each.dataset.b)));
  const step = steps[state.step];
  for (const number of step.between) for (const card of cards.get(number) ?? []) card.classList.add("between");
  for (const card of cards.get(step.sink) ?? []) card.classList.add("sink");
  for (const card of cards.get(step.node) ?? []) card.classList.add("now");
  const [x, y] = graph().places.operators[step.node], box = canvas.getBoundingClientRect(), { place: p } = state;
  const scale = p.scale < READABLE ? CLEAR : p.scale, seen = scale === p.scale;
  const within = (position, extent) => seen && position > 80 && position < extent - 120;
  const left = within(x * p.scale + p.x, box.width) ? p.x : box.width / 2 - x * scale;
  const top = within(y * p.scale + p.y, box.height) ? p.y : box.height / 3 - y * scale;
  place(left, top, scale);
}

/** A line of the post-dominator tree, beside the edges. */
function branch(step, now) {
  const [[x0, y0], [x1, y1]] = [step.node, step.sink].map((number) => graph().places.operators[number]);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const [side, half] = [95, 60];
  path.setAttribute("d", `M${x0 + side},${y0}C${x0 + side + half},${y0 + 30} ${x1 + side + half},${y1 - 30} ${x1 + side},${y1}`);
  if (now) path.classList.add("now");
  at("tree").append(path);
}
