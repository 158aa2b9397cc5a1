const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const canvas = at("canvas"), world = at("world");

/** A new element; children are elements or text, never markup. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

// -- state --------------------------------------------------------------------------------------

const state = { graph: 0, view: "operators", place: { x: 0, y: 0, scale: 1 }, selected: null, step: null };
const graph = () => data.graphs[state.graph];
const scene = () => world.querySelector(`.scene.${state.view}[data-graph="${state.graph}"]`);
const key = () => (state.view === "operators" ? "n" : "u");

/** The elements of the scene on show, by their numbers. */
let cards = new Map(), edges = new Map();

function index() {
  cards = new Map();
  edges = new Map();
  for (const card of scene().querySelectorAll(".card")) {
    const number = Number(card.dataset[key()]);
    if (!cards.has(number)) cards.set(number, []);
    cards.get(number).push(card);
  }
  for (const edge of scene().querySelectorAll(".edge[data-e]")) edges.set(Number(edge.dataset.e), edge);
}

/** The number in another view of what is called `number` in this one. */
function counterpart(number, view) {
  const { nodes, units } = graph();
  if (view === state.view || number === undefined) return number;
  return view === "units" ? nodes[number].unit : units[number].members.at(-1);
}

/** Shows the same part of the graph, before or after fusion. */
function turn(view) {
  const number = counterpart(nearest(), view);
  show(view);
  if (number === undefined) start();
  else centre(number);
}

function show(view, number = state.graph) {
  const before = state.selected;
  const same = before?.graph === number ? counterpart(before.number, view) : undefined;
  state.view = view;
  state.graph = number;
  for (const each of world.querySelectorAll(".scene")) each.toggleAttribute("hidden", each !== scene());
  for (const name of ["operators", "units"]) at(name).setAttribute("aria-pressed", String(name === view));
  index();
  state.selected = null;
  if (same === undefined) describe();
  else select(same, false);
  search();
  lesson();
}

// -- pan and zoom -------------------------------------------------------------------------------

/** The scale below which types are hidden, and the least one of what is brought into view. */
const READABLE = 0.42, CLEAR = 0.85;
/** The margin around the whole graph. */
const MARGIN = 48;

/** Moves and scales the graph, but never so that all cards leave the canvas. */
function place(left, top, scale) {
  const box = canvas.getBoundingClientRect();
  const [a, b] = graph().places[state.view][closest(left, top, scale)] ?? [0, 0];
  const inside = (start, card, room) => start + Math.max(0, -start - card * scale) - Math.max(0, start + card * scale - room);
  const [x, y] = [inside(left, a, box.width), inside(top, b, box.height)];
  state.place = { x, y, scale };
  world.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
  canvas.classList.toggle("far", scale < READABLE);
  canvas.classList.toggle("distant", scale < 0.14);
}

function size() {
  const { width, height } = scene().dataset;
  return [Number(width), Number(height)];
}

/** The scales at which the width and the height of the graph fill the canvas. */
function scales() {
  const [width, height] = size(), box = canvas.getBoundingClientRect();
  return [(box.width - 2 * MARGIN) / width, (box.height - 2 * MARGIN) / height];
}

/** The whole graph; of one that would be too small to read, the part in the middle, in its full width or height. */
function fit() {
  const [width, height] = size(), box = canvas.getBoundingClientRect(), whole = Math.min(...scales());
  const scale = whole >= READABLE ? Math.min(1.2, whole) : Math.max(CLEAR, Math.min(1, Math.max(...scales())));
  const [x, y] = graph().places[state.view][nearest()] ?? [width / 2, height / 2];
  const start = (extent, middle, room) => (extent * scale <= room ? (room - extent * scale) / 2
    : Math.min(MARGIN, Math.max(room - MARGIN - extent * scale, room / 2 - middle * scale)));
  place(start(width, x, box.width), start(height, y, box.height), scale);
}

/** The card that is closest to the middle of the canvas, if the graph is there; undefined when there is none. */
function closest(left, top, scale) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [(box.width / 2 - left) / scale, (box.height / 2 - top) / scale];
  const far = graph().places[state.view].map(([a, b], i) => [Math.hypot(a - x, b - y), i]);
  return far.reduce((best, each) => (each[0] < best[0] ? each : best), [Infinity, undefined])[1];
}

/** The card that is looked at: the one that is chosen, or else the closest. */
function nearest() {
  return state.selected ? state.selected.number : closest(state.place.x, state.place.y, state.place.scale);
}

/** The top of the graph, at a size that can be read. */
function start() {
  const [width, height] = size(), box = canvas.getBoundingClientRect();
  const scale = Math.max(CLEAR, Math.min(1, ...scales()));
  const [x] = graph().places[state.view][0] ?? [width / 2];
  const middle = width * scale < box.width - 40 ? width / 2 : x;
  place(box.width / 2 - middle * scale, Math.max(48, (box.height - height * scale) / 2), scale);
}

/** The scale at which all of the graph is on the canvas. */
const smallest = () => Math.min(READABLE, Math.max(0.001, Math.min(...scales())));

function zoom(factor, x, y) {
  const old = state.place, scale = Math.min(4, Math.max(smallest(), old.scale * factor));
  const box = canvas.getBoundingClientRect(), [width, height] = size();
  if (scale <= smallest()) return place((box.width - width * scale) / 2, (box.height - height * scale) / 2, scale);
  x ??= box.width / 2;
  y ??= box.height / 2;
  place(x - ((x - old.x) * scale) / old.scale, y - ((y - old.y) * scale) / old.scale, scale);
}

function centre(number) {
  const [x, y] = graph().places[state.view][number], box = canvas.getBoundingClientRect();
  const scale = Math.max(state.place.scale, CLEAR);
  place(box.width / 2 - x * scale, box.height / 2 - y * scale, scale);
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  if (event.shiftKey) place(state.place.x - event.deltaY - event.deltaX, state.place.y, state.place.scale);
  else zoom(Math.exp(-event.deltaY / 500), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });

const fingers = new Map();
let moved = 0;
canvas.addEventListener("pointerdown", (event) => {
  fingers.set(event.pointerId, event);
  moved = 0;
});
window.addEventListener("pointermove", (event) => {
  const last = fingers.get(event.pointerId);
  if (!last) return;
  const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY];
  moved += Math.abs(dx) + Math.abs(dy);
  if (moved > 4) canvas.classList.add("moving");
  if (fingers.size === 2) {
    const [other] = [...fingers.values()].filter((each) => each.pointerId !== event.pointerId);
    const box = canvas.getBoundingClientRect();
    const gap = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY) || 1;
    zoom(gap(event) / gap(last), other.clientX - box.left, other.clientY - box.top);
  } else place(state.place.x + dx, state.place.y + dy, state.place.scale);
  fingers.set(event.pointerId, event);
});
for (const end of ["pointerup", "pointercancel"]) {
  window.addEventListener(end, (event) => {
    fingers.delete(event.pointerId);
    canvas.classList.remove("moving");
  });
}
canvas.addEventListener("click", (event) => {
  if (moved > 4) return;
  const card = event.target.closest(".card"), hull = event.target.closest(".hull");
  if (card) select(Number(card.dataset[key()]), false);
  else if (hull) select(graph().units[hull.dataset.u].members.at(-1), false);
  else clear();
});

// -- selection ----------------------------------------------------------------------------------

function unmark() {
  for (const each of world.querySelectorAll(".selected, .lit")) each.classList.remove("selected", "lit");
}

function select(number, move = true) {
  unmark();
  state.selected = { graph: state.graph, view: state.view, number };
  for (const card of cards.get(number) ?? []) card.classList.add("selected");
  graph().links[state.view].forEach((ends, i) => {
    if (ends.includes(number)) edges.get(i).classList.add("lit");
  });
  if (move) centre(number);
  panel("details");
  describe();
}

function clear() {
  unmark();
  state.selected = null;
  describe();
}

/** Shows a node in the graph before fusion, or its unit in the graph after it. */
function go(node) {
  select(state.view === "operators" ? node : graph().nodes[node].unit);
}

// -- the panel ----------------------------------------------------------------------------------

const tabs = ["details", "table", "lesson"];
function panel(name) {
  for (const each of tabs) {
    at(each).hidden = each !== name;
    at(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    at(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  lesson();
}

const link = (text, action) => make("button", { type: "button", className: "link", onclick: action }, text);
const nodeLink = (number) => link(graph().nodes[number].label, () => go(number));
const dot = (kind) => {
  const mark = make("i", {});
  mark.style.background = `var(--${kind})`;
  return mark;
};
const kindTag = (kind) => make("span", { className: "tag" }, dot(kind), kind);
const kindDot = (kind) => {
  const mark = Object.assign(dot(kind), { title: kind, role: "img" });
  mark.setAttribute("aria-label", kind);
  return mark;
};
const engineTag = (placed) => make("span", { className: "tag" }, dot(`hull-${placed.colour % 8}`), placed.engine);
const pairs = (rows) => make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
const mono = (text) => make("code", {}, text);
const heading = (text) => make("h3", {}, text);

function stop(refusal) {
  const text = make("span", { className: "stops" }, `rule ${refusal.rule}: ${refusal.sentence}`);
  if (refusal.culprit === null) return text;
  return make("span", {}, text, " (", nodeLink(refusal.culprit), ")");
}

function describe() {
  const chosen = state.selected;
  if (!chosen) return at("details").replaceChildren(...overview());
  const parts = chosen.view === "operators" ? nodeParts(chosen.number) : unitParts(chosen.number, true);
  at("details").replaceChildren(...parts);
}

function overview() {
  const { title, nodes, units } = graph(), kernels = units.filter((unit) => unit.fused);
  const operators = nodes.filter((node) => node.role === "operator").length;
  const seconds = units.flatMap((unit) => unit.steps).reduce((sum, step) => sum + (step.seconds ?? 0), 0);
  const rows = [["operators", String(operators)], ["kernels", String(kernels.length)]];
  if (seconds) rows.push(["measured", `${(1e3 * seconds).toFixed(3)} ms in the kernels`]);
  const engines = new Map(nodes.filter((node) => node.placed).map((node) => [node.placed.engine, node.placed]));
  const count = (engine) => nodes.filter((node) => node.placed?.engine === engine).length;
  return [
    make("h2", {}, title),
    pairs(rows),
    ...(engines.size ? [heading("Engines"), make("ul", {}, ...[...engines].map(([engine, placed]) =>
      make("li", {}, engineTag(placed), ` operators: ${count(engine)}`)))] : []),
    heading("How to read it"),
    make("p", {}, "A hull is a group: operators that become one kernel. The stripe of a card is the kind of the operator. " +
      "A disc below a card is the number of the rule that keeps it out of the group of its post-dominator."),
    make("p", {}, "Choose an operator to see its types, its attributes, and what stops fusion on each edge."),
    heading("Keys"),
    pairs([["arrows", "along the edges, and to the neighbours"], ["1, 2", "before and after fusion"],
      ["+, −, 0", "larger, smaller, as much as can be read"], ["/", "search; Enter goes to the next place"], ["Esc", "nothing chosen"]]),
  ];
}

function nodeParts(number) {
  const node = graph().nodes[number], unit = graph().units[node.unit];
  const parts = [make("h2", {}, node.label)];
  if (node.kind) parts.push(make("p", {}, kindTag(node.kind), node.anchor ? make("span", { className: "tag" }, "anchor") : ""));
  if (node.model) parts.push(make("p", { className: "soft" }, `in the model: ${node.model}`));
  if (node.placed) {
    const { engine, seconds, source, reasons } = node.placed;
    parts.push(heading("Engine"), make("p", {}, engineTag(node.placed), ` ${(1e6 * seconds).toFixed(1)} µs${source && `, ${source}`}`));
    if (engine !== "default") parts.push(make("p", { className: "soft" }, "the cost is that of the region"));
    if (reasons.length) parts.push(make("ul", {}, ...reasons.map((reason) => make("li", {}, reason))));
  }
  parts.push(heading(node.types.length === 1 ? "Type" : "Types"), ...node.types.map((type) => make("p", {}, mono(type))));
  if (node.operands.length) {
    parts.push(heading("Operands"), make("ul", {}, ...node.operands.map(([text, source]) =>
      make("li", {}, source === null ? "" : nodeLink(source), source === null ? "" : " ", mono(text)))));
  }
  if (node.uses.length) {
    parts.push(heading("Uses"), make("ul", {}, ...node.uses.map((i) => {
      const edge = graph().edges[i], same = node.unit === graph().nodes[edge.target].unit;
      const item = make("li", {}, nodeLink(edge.target), " ", edge.kind ? make("span", { className: "soft" }, `used ${edge.kind}`) : "");
      if (edge.refusal) item.append(make("div", {}, "not fused, ", stop(edge.refusal)));
      else if (same && unit.fused) item.append(make("div", { className: "good" }, "in the same group"));
      return item;
    })));
  }
  if (node.path) {
    parts.push(heading("Post-dominator"));
    parts.push(node.dominator === null ? make("p", { className: "soft" }, "none")
      : make("p", {}, nodeLink(node.dominator), make("span", { className: "soft" }, `, the path is ${node.path}`)));
    if (node.refusal) parts.push(make("p", {}, "not merged, ", stop(node.refusal)));
  }
  if (node.attributes.length) parts.push(heading("Attributes"), pairs(node.attributes.map(([name, value]) => [name, mono(value)])));
  if (unit.fused || unit.compiler || unit.steps.length) parts.push(heading(unit.fused ? `Group ${node.unit}` : "Computed by"), ...unitParts(node.unit, false));
  return parts;
}

function unitParts(number, whole) {
  const unit = graph().units[number], parts = [];
  if (whole) {
    parts.push(make("h2", {}, unit.fused ? `Group ${number}` : unit.title));
    parts.push(make("p", { className: "mono" }, unit.type));
  }
  const tags = [unit.kind && kindTag(unit.kind), unit.compiler && make("span", { className: "tag" }, `for ${unit.compiler}`)];
  parts.push(make("p", {}, ...tags.filter(Boolean)));
  if (unit.fused || unit.members.length > 1) {
    parts.push(make("ul", {}, ...unit.members.map((each) => make("li", {}, nodeLink(each), each === unit.anchor ? " (anchor)" : ""))));
  }
  for (const step of unit.steps) {
    const rows = [["function", mono(step.name)]];
    if (step.implementation) rows.push(["implementation", step.implementation]);
    if (step.seconds !== null) {
      rows.push(["time", `${(1e3 * step.seconds).toFixed(3)} ms, ${(100 * step.share).toFixed(1)} % of the run`]);
      if (step.seconds > 0) rows.push(["rate", `${(step.flops / step.seconds / 1e9).toFixed(1)} GFLOP/s, ${(step.bytes / step.seconds / 1e9).toFixed(1)} GB/s`]);
    }
    parts.push(heading(`Step ${step.number}`), pairs(rows));
    if (step.ways.length) {
      parts.push(make("ul", {}, ...step.ways.map(([name, cost, why]) => make("li", {}, make("b", {}, name),
        cost === null ? "" : ` ${(1e6 * cost).toFixed(1)} µs estimated`, make("div", { className: "soft" }, why)))));
    }
  }
  if (whole) {
    const leaving = graph().nodes[unit.members.at(-1)].uses.map((i) => graph().edges[i]).filter((edge) => edge.refusal);
    if (leaving.length) {
      parts.push(heading("Ends before"), make("ul", {}, ...leaving.map((edge) => make("li", {}, nodeLink(edge.target), make("div", {}, stop(edge.refusal))))));
    }
  }
  return parts;
}

// -- the table ----------------------------------------------------------------------------------

const sorting = { column: 0, down: false };
function table() {
  const rows = graph().units.map((unit, number) => ({ unit, number })).filter(({ unit }) => unit.fused || unit.compiler || unit.steps.length);
  const time = (unit) => unit.steps.reduce((sum, step) => sum + (step.seconds ?? 0), 0);
  const columns = [["#", (row) => row.number, "number"], ["operators", (row) => row.unit.title, ""],
    ["kind", (row) => row.unit.kind ?? "", "kind"], ["size", (row) => row.unit.members.length, "number"]];
  if (rows.some(({ unit }) => unit.steps.some((step) => step.implementation))) {
    columns.push(["implementation", (row) => row.unit.steps.map((step) => step.implementation).join(", "), ""]);
  }
  if (rows.some(({ unit }) => time(unit))) columns.push(["ms", (row) => 1e3 * time(row.unit), "number"]);
  else columns.push(["result", (row) => row.unit.type.replaceAll("tensor", ""), "mono"]);
  sorting.column = Math.min(sorting.column, columns.length - 1);
  const value = columns[sorting.column][1];
  rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    const order = typeof x === "number" ? x - y : x.localeCompare(y);
    return (sorting.down ? -order : order) || a.number - b.number;
  });
  const head = columns.map(([name], i) => {
    const arrow = i === sorting.column ? (sorting.down ? " ↓" : " ↑") : "";
    const cell = make("th", { scope: "col" }, make("button", { type: "button", onclick: () => {
      sorting.down = i === sorting.column && !sorting.down;
      sorting.column = i;
      table();
      at("table").querySelectorAll("th button")[i].focus();
    } }, name + arrow));
    cell.setAttribute("aria-sort", i !== sorting.column ? "none" : sorting.down ? "descending" : "ascending");
    return cell;
  });
  const text = (x) => (typeof x !== "number" ? x : Number.isInteger(x) ? String(x) : x.toFixed(3));
  const content = (row, x, name) => {
    if (name === "operators") return link(x, () => go(row.unit.members.at(-1)));
    return name === "kind" && x ? kindDot(x) : text(x);
  };
  const body = rows.map((row) => make("tr", {}, ...columns.map(([name, get, style]) => make("td", { className: style }, content(row, get(row), name)))));
  at("table").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)));
}

// -- search -------------------------------------------------------------------------------------

let hits = [], hit = -1;
const haystack = (node) => [node.label, node.model, ...node.types, ...node.attributes.flat()].join(" ").toLowerCase();

function search() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const each of scene().querySelectorAll(".hit")) each.classList.remove("hit");
  canvas.classList.toggle("searching", words.length > 0);
  hit = -1;
  hits = [];
  at("found").value = "";
  if (!words.length) return;
  const found = graph().nodes.flatMap((node, i) => (words.every((word) => haystack(node).includes(word)) ? [i] : []));
  hits = state.view === "operators" ? found : [...new Set(found.map((i) => graph().nodes[i].unit))];
  for (const number of hits) for (const card of cards.get(number) ?? []) card.classList.add("hit");
  at("found").value = hits.length === 1 ? "1 place" : `${hits.length} places`;
}

at("search").addEventListener("input", search);
at("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    at("search").value = "";
    search();
    canvas.focus();
  } else if (event.key === "Enter" && hits.length) {
    hit = (hit + (event.shiftKey ? hits.length - 1 : 1) + (hit < 0 && event.shiftKey ? 1 : 0)) % hits.length;
    select(hits[hit]);
    at("found").value = `${hit + 1} of ${hits.length}`;
  }
});

// -- keys and buttons ---------------------------------------------------------------------------

/** The number of the card that an arrow key leads to. */
function neighbour(direction) {
  if (!state.selected) return nearest();
  const number = state.selected.number, places = graph().places[state.view], links = graph().links[state.view];
  if (direction === "ArrowDown") return links.find(([source]) => source === number)?.[1];
  if (direction === "ArrowUp") return links.find(([, target]) => target === number)?.[0];
  const sign = direction === "ArrowRight" ? 1 : -1, [x, y] = places[number];
  const beside = places.map(([a, b], i) => [sign * (a - x), Math.abs(b - y), i]).filter(([dx, dy]) => dx > 0 && dy < 60);
  return beside.sort((a, b) => a[0] - b[0])[0]?.[2];
}

canvas.addEventListener("keydown", (event) => {
  if (!event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const next = neighbour(event.key);
  if (next !== undefined) select(next);
});

window.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = { "/": () => at("search").focus(), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8),
    0: fit, 1: () => turn("operators"), 2: () => turn("units"), Escape: clear };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

function open(number) {
  state.step = null;
  state.selected = null;
  show(state.view, number);
  table();
  start();
}

for (const view of ["operators", "units"]) at(view).onclick = () => turn(view);
window.addEventListener("resize", () => place(state.place.x, state.place.y, state.place.scale));
at("hulls").onchange = () => canvas.classList.toggle("bare", !at("hulls").checked);
at("more").onclick = () => zoom(1.25);
at("less").onclick = () => zoom(0.8);
at("fit").onclick = fit;
at("theme").onclick = () => {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
};
tabs.forEach((name, i) => {
  at(`tab-${name}`).onclick = () => panel(name);
  at(`tab-${name}`).onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(i + step + tabs.length) % tabs.length];
    panel(next);
    at(`tab-${next}`).focus();
  };
});
at("graphs").hidden = data.graphs.length < 2;
at("graph").append(...data.graphs.map((each, i) => make("option", { value: i }, `${each.title} (${each.nodes.length})`)));
at("graph").onchange = () => open(Number(at("graph").value));
at("legend").append(...data.kinds.map((kind) => make("span", {}, dot(kind), kind)));

at("graph").value = data.first;
panel("details");
open(data.first);
