// The script of the page that `ccc explain -o x.html` writes. It plays the model, in the
// form of docs/explain.schema.json.
//
// Time `t` is a number of frames. A frame is a step in which something moves; t = 2.4 is within the
// third one, and an integer is at rest between two. Within a frame messages come first, then what a
// rank does with its own chunks. The state at any t follows from `history`, so that going back costs
// what going on costs.
"use strict";
(() => {
const M = JSON.parse(document.getElementById("model").textContent);
const main = document.querySelector("main"), picture = document.getElementById("picture");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
// Those of the picture: of the heads of its arrows, but for the last two.
const COLOURS = [...picture.querySelectorAll("marker[id^=a] path")].map((e) => getComputedStyle(e).color).slice(0, -2);
const colour = (n) => COLOURS[n % COLOURS.length];
const WRONG = "rgb(204, 0, 0)";
const FRAME = 1100; // milliseconds at speed 1
const MANY = 100; // of a list; how many more there are is said

const range = (n, first = 0) => Array.from({ length: n }, (_, i) => first + i);
const plural = (n, one) => n + " " + one + (n === 1 ? "" : "s");

// element("li", { class: "x" }, child, "text"): of SVG if `tag` begins with "svg:".
function element(tag, attributes = {}, ...children) {
	const e = tag.startsWith("svg:")
		? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
		: document.createElement(tag);
	for (const [key, value] of Object.entries(attributes))
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), value);
		else if (value !== null && value !== false)
			e.setAttribute(key, value);
	e.append(...children);
	return e;
}

// ---- the model, by time -------------------------------------------------------------------------

const frames = [...new Set(M.moves.map((m) => m.step))];
const frameOf = new Map(frames.map((step, i) => [step, i]));
const moves = frames.map(() => []); // by frame
const byId = new Map(); // moves
const split = []; // by frame: when its messages have arrived
for (const m of M.moves) {
	moves[frameOf.get(m.step)].push(m);
	byId.set(m.id, m);
}
moves.forEach((list, i) => {
	const local = list.filter((m) => m.kind === "local").length;
	split[i] = i + (local && local < list.length ? 0.65 : 1);
	for (const m of list) {
		m.begin = m.kind === "local" && split[i] < i + 1 ? split[i] : i;
		m.end = m.kind === "local" ? i + 1 : split[i];
	}
});

// The chunks that are drawn: those of the view, and those of `in` buffers that moves read; without --chunk all
// of such a buffer.
const inputs = M.buffers.filter((b) => b.kind === "in"), count = (list) => list.reduce((sum, b) => sum + b.chunks, 0);
const read = new Set(M.moves.flatMap((m) => range(m.source[1], m.source[0])));
const all = M.shown_chunks.length === count(M.buffers) - count(inputs);
const more = inputs.map((b) => range(b.chunks, b.first)).flatMap((list) =>
	list.filter((c) => all ? list.some((other) => read.has(other)) : read.has(c)));
const chunks = [...new Set([...M.shown_chunks, ...more])].sort((a, b) => a - b);
const ranks = [...new Set([...M.shown_ranks, ...M.moves.flatMap((m) => [m.from, m.to])])].sort((a, b) => a - b);
const shown = new Set(M.shown_ranks);

// By rank and chunk: [{ at, holds, move }], ascending.
const history = range(M.ranks).map((r) => (M.start[r] || []).map((holds) => [{ at: 0, holds, move: null }]));
const skipped = [...M.skipped];
moves.forEach((list, i) => {
	for (; skipped.length && skipped[0].step <= frames[i]; skipped.shift()) {
		const s = skipped[0];
		history[s.rank][s.chunk].push({ at: i && i + 0.001, holds: s.holds, move: s.id });
	}
	for (const m of list)
		(shown.has(m.to) && m.holds || []).forEach((holds, k) =>
			history[m.to][m.target[0] + k].push({ at: m.end, holds, move: m.id }));
});

function heldAt(rank, chunk, t) {
	const list = history[rank][chunk];
	let i = list.length - 1;
	while (i > 0 && list[i].at > t)
		i--;
	return list[i];
}

// The moves through which a chunk's data came, oldest first.
function origin(rank, chunk, t) {
	const seen = new Set(), found = new Set();
	const visit = (id, chunk) => {
		const m = byId.get(id), key = id + " " + chunk;
		if (id === null || seen.has(key))
			return;
		seen.add(key);
		found.add(id);
		const holds = m && m.holds[chunk - m.target[0]];
		if (!holds)
			return;
		visit(holds.from, m.source[0] + chunk - m.target[0]);
		if (m.combines)
			visit(holds.onto, chunk);
	};
	visit(heldAt(rank, chunk, t).move, chunk);
	return [...found].sort((a, b) => a - b).map((id) => byId.get(id));
}

// ---- where the ranks are -------------------------------------------------------------------------

// "[2]" for data[2], where there is but one buffer.
const number = (text) => text.replace(/^[^[]*/, ""), short = (text) => M.buffers.length === 1 ? number(text) : text;
const labelled = chunks.length <= 16;
const longest = Math.max(...chunks.map((c) => number(M.chunks[c]).length), 0);
const label = labelled ? 5.6 * longest + 8 : 0; // its width, left of a bar
const CELL = { width: (labelled ? 44 : 26) + label, height: labelled ? 14 : 10 };

// Each buffer has its columns, below its name if it is not the only one.
const buffers = M.buffers.map((b) => ({ name: b.name, chunks: chunks.filter((c) => c >= b.first && c < b.first + b.chunks) }))
	.filter((b) => b.chunks.length);
const columns = chunks.length <= 8 ? 1 : labelled ? 2 : Math.ceil(Math.sqrt(chunks.length / 3));
const rows = Math.min(Math.ceil(chunks.length / columns), Math.max(...buffers.map((b) => b.chunks.length), 0));
const HEAD = M.buffers.length > 1 && buffers.length ? 34 : 22; // above the cells
const slots = new Map(); // by chunk: its column's left side, its row, and the last one there
let wide = 4;
for (const b of buffers) {
	b.x = wide;
	b.chunks.forEach((c, k) => slots.set(c, { x: wide + Math.floor(k / rows) * (CELL.width + 4), row: k % rows,
		last: Math.min(rows, b.chunks.length) - 1 }));
	wide += Math.max(Math.ceil(b.chunks.length / rows) * (CELL.width + 4), HEAD > 22 ? 6 * b.name.length + 6 : 0);
}
const BOX = { width: Math.max(wide + 2, 64), height: rows * CELL.height + HEAD + 4 };
const GAP = { x: 46, y: 22 };

// How many columns n things of this size, in boxes, have in a grid of the screen's form.
function columnsOf(n, width = 1, height = 1) {
	const size = (c) => Math.max(c * width * (BOX.width + GAP.x) / 1.2, Math.ceil(n / c) * height * (BOX.height + GAP.y));
	return range(n, 1).reduce((best, c) => size(c) < size(best) ? c : best, 1);
}
const grid = (columns) => (i) => [i % columns, Math.floor(i / columns)];
const LAYOUTS = { // by topology: from a rank to its place, in boxes
	line: () => { // turns at the end of a row
		const columns = M.ranks <= 6 ? M.ranks : columnsOf(M.ranks);
		return (i) => [Math.abs(Math.floor(i / columns) % 2 * (columns - 1) - i % columns), Math.floor(i / columns)];
	},
	torus: ([x]) => grid(x),
	mesh: ([x]) => grid(x),
	torus3: ([x, y]) => (i) => [i % x + Math.floor(i / (x * y)) * (x + 0.5), Math.floor(i / x) % y],
	nodes: ([g]) => {
		const inner = columnsOf(g), height = Math.ceil(g / inner) + 0.3;
		const outer = columnsOf(M.ranks / g, inner + 0.3, height);
		return (i) => {
			const [x, y] = grid(inner)(i % g), [nx, ny] = grid(outer)(Math.floor(i / g));
			return [x + nx * (inner + 0.3), y + ny * height];
		};
	},
	hypercube: () => (i) => [
		(i & 1) * 2 + (i >> 2 & 1) + (i >> 3 & 1) * 4, (i >> 1 & 1) * 2 + (i >> 2 & 1)],
};

const place = new Map(); // by rank: the middle of its box
const put = (rank, [x, y]) => place.set(rank, [x * (BOX.width + GAP.x), y * (BOX.height + GAP.y)]);

// On an ellipse that is just large enough for neighbours to be clear of each other; of a star, around its hub.
function circle(hub) {
	const list = ranks.filter((rank) => rank !== hub);
	const first = list.length === 2 ? Math.PI : -Math.PI / 2;
	const at = list.map((_, k) => first + 2 * Math.PI * k / list.length).map((a) => [Math.cos(a), Math.sin(a)]);
	const apart = at.map(([x, y], k) => Math.max(Math.abs(x - at.at(k - 1)[0]), Math.abs(y - at.at(k - 1)[1])));
	const size = list.length > 1 ? Math.max(list.length < ranks.length ? 1 : 0, 1 / Math.min(...apart)) : 0;
	list.forEach((rank, k) => put(rank, at[k].map((x) => x * size)));
	if (list.length < ranks.length)
		put(hub, [0, 0]);
}
const { name: topology, parameters } = M.topology;
const layout = ranks.length === M.ranks && Object.hasOwn(LAYOUTS, topology) && LAYOUTS[topology](parameters);
const fits = layout && ranks.every((rank) => layout(rank).every(Number.isFinite)); // else it is another of that name
if (fits)
	ranks.forEach((rank) => put(rank, layout(rank)));
else
	circle(topology === "star" && ranks.length > 2 ? parameters[0] : -1);

// The least rectangle around the boxes of some ranks, and a margin.
function around(list, margin) {
	const at = list.map((rank) => place.get(rank)), x = Math.min(...at.map((p) => p[0])), y = Math.min(...at.map((p) => p[1]));
	return { x: x - BOX.width / 2 - margin, y: y - BOX.height / 2 - margin,
		width: Math.max(...at.map((p) => p[0])) - x + BOX.width + 2 * margin,
		height: Math.max(...at.map((p) => p[1])) - y + BOX.height + 2 * margin };
}

// Left, right and middle of a rank's chunks; of its title if they are not drawn.
function spot(rank, first, n) {
	const { x: left, y: top } = around([rank], 0);
	const at = range(n, first).map((c) => slots.get(c)).filter((slot) => slot);
	if (!at.length || !shown.has(rank))
		return { left, right: left + BOX.width, y: top + 11 };
	const { x, row, last } = at[0], end = at.at(-1), middle = (row + (end.x === x ? end.row : last)) / 2;
	return { left: left + x, right: left + x + CELL.width, y: top + HEAD + (middle + 0.5) * CELL.height };
}

// ---- drawing what stays ----------------------------------------------------------------------------

const layers = { boxes: element("svg:g"), moves: element("svg:g") };
const cells = []; // { rank, chunk, g, bar, td, entry }: its group, bar, part of the table, and the entry that it shows
const boxes = new Map();

function drawRank(rank) {
	const at = around([rank], 0), box = element("svg:rect", { class: "rank-box", rx: 5, ...at });
	boxes.set(rank, box);
	layers.boxes.append(box, element("svg:text", { class: "rank-name", x: at.x + 6, y: at.y + 15 }, "rank " + rank));
	if (!shown.has(rank))
		return;
	if (HEAD > 22)
		layers.boxes.append(...buffers.map((b) =>
			element("svg:text", { class: "buffer-name", x: at.x + b.x, y: at.y + HEAD - 4 }, b.name)));
	for (const chunk of chunks) {
		const { left, y } = spot(rank, chunk, 1), top = y - CELL.height / 2;
		const size = { x: left + label, y: top + 1, width: CELL.width - label, height: CELL.height - 3 };
		const bar = element("svg:rect", { class: "bar", ...size });
		const g = element("svg:g", { class: "chunk" }, element("svg:rect", { class: "hit", x: left, y: top,
			width: CELL.width, height: CELL.height }), bar, element("svg:rect", { class: "border", ...size }));
		if (labelled)
			g.append(element("svg:text", { x: size.x - 4, y: top + CELL.height - 4, "text-anchor": "end" },
				number(M.chunks[chunk])));
		layers.boxes.append(g);
		g.cell = { rank, chunk, g, bar, td: element("button", { type: "button", onclick: () => showChunk(g.cell, true) }) };
		cells.push(g.cell);
	}
}

if (fits && topology === "nodes")
	for (let i = 0, [size] = parameters; i < M.ranks; i += size)
		layers.boxes.append(element("svg:rect", { class: "node-box", rx: 9, ...around(range(size, i), 9) }));
ranks.forEach(drawRank);
const view = around(ranks, 40);
const stage = element("svg:svg", { id: "ranks", role: "img", "aria-label": "The ranks and their chunks; the table has the same",
	viewBox: `${view.x} ${view.y} ${view.width} ${view.height}`, style: `max-width: ${Math.round(1.5 * view.width)}px` },
	element("svg:defs", {}, element("svg:pattern", { id: "hatched", width: 4, height: 4, patternUnits: "userSpaceOnUse",
		patternTransform: "rotate(45)" }, element("svg:rect", { width: 1.6, height: 4, class: "hatch" }))),
	layers.boxes, layers.moves);

// ---- drawing what moves ----------------------------------------------------------------------------

// A curve from the side of one spot to that of another, by the eight numbers of a Bezier curve. Where one
// is above the other, it goes along the side of both that is nearer to the middle of the picture.
function curve(a, b) {
	if (a.left < b.right && b.left < a.right) {
		const right = a.left + a.right <= 2 * view.x + view.width, side = right ? 1 : -1;
		const [x1, x2] = right ? [a.right, b.right] : [a.left, b.left];
		const x = side * (Math.max(side * x1, side * x2) + 16 + Math.abs(a.y - b.y) * 0.1);
		return { p: [x1, a.y, x, a.y, x, b.y, x2, b.y], into: side };
	}
	const out = b.left > a.left ? 1 : -1, [x1, x2] = out > 0 ? [a.right, b.left] : [a.left, b.right];
	const bend = out * Math.max(18, Math.abs(x2 - x1) / 2);
	return { p: [x1, a.y, x1 + bend, a.y, x2 - bend, b.y, x2, b.y], into: -out };
}
const bezier = ([x0, y0, x1, y1, x2, y2, x3, y3], u) => {
	const v = 1 - u, a = v * v * v, b = 3 * v * v * u, c = 3 * v * u * u, d = u * u * u;
	return [a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3];
};

function arrow({ p, into }, stroke, classes = "arrow") {
	const head = `M${p[6] + into * 6} ${p[7] - 4}L${p[6]} ${p[7]}L${p[6] + into * 6} ${p[7] + 4}`;
	return element("svg:path", { class: classes, d: `M${p[0]} ${p[1]}C${p.slice(2).join(" ")}${head}`, stroke });
}

const dark = (c) => c.match(/\d+/g).reduce((sum, x, k) => sum + x * [0.3, 0.59, 0.11][k], 0) < 140;

function token(text, fill) {
	const width = 6.2 * text.length + 8;
	return element("svg:g", { class: "token" }, element("svg:rect", { x: -width / 2, y: -8, width, height: 16, rx: 4, fill }),
		element("svg:text", { y: 4, "text-anchor": "middle", style: `fill: ${dark(fill) ? "#fff" : "#000"}` }, text));
}
const moveTo = (e, [x, y]) => e.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);

function drawMove(m) {
	const from = spot(m.from, ...m.source), lost = m.kind === "lost";
	const path = curve(from, spot(m.to, ...(lost ? [0, 0] : m.target)));
	const known = lost ? shown.has(m.from) && m.source[1] && heldAt(m.from, m.source[0], m.begin).holds
		: m.holds.find((h) => h);
	const fill = m.fault ? WRONG : known ? colour(known.colour) : "rgb(119, 119, 119)";
	const text = (m.fault ? m.fault + " " : "") + (m.combines ? "+" : "") + short(m.reads || "empty");
	const line = arrow(path, fill, lost ? "arrow is-lost" : "arrow"), label = token(text, fill);
	layers.moves.append(line, label);
	return { m, path: path.p, line, label, until: lost ? 0.6 : 1 };
}

const ease = (u) => u < 0.5 ? 2 * u * u : 1 - 2 * (1 - u) * (1 - u);

// ---- the page around it -----------------------------------------------------------------------------

const ICONS = { // in a box of 16
	start: "M3 3v10M13 3L5 8l8 5z", back: "M12 3L4 8l8 5z", play: "M4 2l9 6-9 6z", pause: "M4 3v10h3V3zM9 3v10h3V3z",
	next: "M4 3l8 5-8 5z", end: "M13 3v10M3 3l8 5-8 5z",
};
function name(button, text, picture) {
	button.title = text;
	button.setAttribute("aria-label", text);
	button.replaceChildren(element("svg:svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": true },
		element("svg:path", { d: ICONS[picture] })));
	return button;
}
const button = (text, picture, onclick) => name(element("button", { type: "button", onclick }), text, picture);
const playButton = button("Play (space)", "play", () => toggle());
const slider = element("input", { type: "range", min: 0, max: Math.max(frames.length, 1), step: "any", value: 0,
	disabled: !frames.length, "aria-label": "Step", oninput: () => jump(Number(slider.value)) });
const speed = element("select", { "aria-label": "Speed" },
	...[0.25, 0.5, 1, 2, 4].map((x) => element("option", { value: x }, x + "×")));
speed.value = 1;
const status = element("output", { id: "now" });
const detail = element("div", { id: "detail", "aria-live": "polite" });
const table = element("table", {}, element("tr", {}, element("th", {}, "rank"),
	...chunks.map((c) => element("th", { scope: "col" }, M.chunks[c]))),
	...M.shown_ranks.map((rank) => element("tr", {}, element("th", { scope: "row" }, String(rank)),
		...cells.filter((c) => c.rank === rank).map((c) => element("td", { "data-rank": rank, "data-chunk": c.chunk }, c.td)))));
const player = element("section", { id: "player", "aria-label": "Player" },
	element("div", { class: "controls", role: "group", "aria-label": "Controls" },
		button("To the start (Home)", "start", () => KEYS.Home()), button("Step back (left)", "back", () => KEYS.ArrowLeft()),
		playButton, button("Step forward (right)", "next", () => KEYS.ArrowRight()),
		button("To the end (End)", "end", () => KEYS.End()), slider, speed, status),
	stage, detail,
	element("details", {}, element("summary", {}, "What the chunks hold, as a table"),
		element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Table of chunks" }, table)));
main.insertBefore(player, picture);

// ---- one moment -------------------------------------------------------------------------------------

const lines = new Map(); // "file:line" -> its element
for (const list of document.querySelectorAll("#text ol"))
	[...list.children].forEach((li, i) =>
		lines.set(M.files.findIndex((f) => f.name === list.dataset.file) + ":" + (i + 1), li.firstElementChild));
const lineOf = (place) => place && lines.get(place.file + ":" + place.line);
const linesOf = (m) => [m.sent_at, m.received_at, m.at].map(lineOf).filter((e) => e);

function light(name, elements) {
	for (const e of document.querySelectorAll("#text ." + name))
		e.classList.remove(name);
	for (const e of elements)
		e.classList.add(name);
}

// The first line at work is made visible, within its own box alone.
function reveal(e) {
	const box = document.getElementById("text"), top = box.getBoundingClientRect().top;
	const at = e.getBoundingClientRect();
	if (at.top < top || at.bottom > top + box.clientHeight)
		box.scrollTop += at.top - top - box.clientHeight / 3;
}

function drawCells(t) {
	for (const cell of cells) {
		const entry = heldAt(cell.rank, cell.chunk, t);
		if (entry === cell.entry)
			continue;
		cell.entry = entry;
		const { holds } = entry, classes = holds ? (holds.whole ? " is-whole" : "") + (holds.other ? " is-other" : "") : "";
		cell.g.setAttribute("class", "chunk" + classes);
		cell.bar.setAttribute("width", !holds ? 0 : (CELL.width - label) * (holds.other ? 1 : holds.part));
		cell.bar.setAttribute("fill", !holds ? "none" : holds.other ? "url(#hatched)" : colour(holds.colour));
		cell.td.textContent = holds ? holds.text : "–";
		cell.td.className = classes;
	}
}

function drawFault(end) {
	for (const w of M.wrong) {
		const cell = cells.find((c) => c.rank === w.rank && c.chunk === w.chunk);
		if (cell) {
			cell.g.classList.toggle("is-wrong", end);
			cell.td.classList.toggle("is-wrong", end);
		}
	}
	for (const rank of [...M.stuck.map((s) => s.rank), ...M.errors.flatMap((e) => e.ends)])
		boxes.get(rank)?.classList.toggle("is-stuck", end);
	for (const s of M.stuck)
		if (end && place.has(s.rank) && place.has(s.waits_for)) {
			const path = curve(spot(s.rank, 0, 0), spot(s.waits_for, 0, 0)), waits = token("waits", WRONG);
			moveTo(waits, bezier(path.p, 0.5));
			layers.moves.append(arrow(path, WRONG), waits);
		}
	light("bad", end ? [...M.errors, ...M.stuck].map((e) => lineOf(e.at)).filter((e) => e) : []);
}

function moment(t) {
	const last = M.steps, f = Math.floor(t);
	if (f < t)
		return frames[f] ? `step ${frames[f]} of ${last}` : "before the first step";
	if (t)
		return frames[t - 1] ? `after step ${frames[t - 1]} of ${last}` : "before step 1";
	return M.skipped.length ? `before step ${frames[0]}` : "at the start";
}

function describe(t) {
	const wrong = t === frames.length && !M.right ? ": here it is wrong" : "";
	return (frames.length ? moment(t) : "nothing moves") + wrong;
}

let t = 0, drawn = { key: "", list: [] };
const svg = picture.querySelector("svg"), map = svg.querySelector(".map"), box = map ? map.getBBox() : svg.viewBox.baseVal;
const cursor = element("svg:line", { class: "cursor", y1: box.y, y2: box.y + box.height });
if (frames.length)
	svg.append(cursor);

// By frame: from where to where in the picture the cursor goes. From the column before the step to that behind
// it; of a map over the step's own column, which may be that of several.
const columnsX = [...picture.querySelectorAll(".column")].map((e) => [Number(e.dataset.step), Number(e.dataset.x)]);
const ways = frames.map((step) => {
	if (!map) {
		const k = columnsX.findIndex(([of]) => of === step);
		return k > 0 ? [columnsX[k - 1][1], columnsX[k][1]] : [box.x, box.x];
	}
	const { steps, columns } = map.dataset, wide = box.width / columns, k = Math.floor((step - 1) * columns / steps);
	return step ? [box.x + k * wide, box.x + (k + 1) * wide] : [box.x, box.x];
});

function drawCursor(t) {
	const f = Math.min(Math.floor(t), frames.length - 1);
	if (f >= 0)
		cursor.setAttribute("transform", `translate(${ways[f][0] * (1 - t + f) + ways[f][1] * (t - f)} 0)`);
}

function show() {
	const rest = Number.isInteger(t), f = rest ? t - 1 : Math.floor(t), key = `${f} ${rest} ${f >= 0 && t >= split[f]}`;
	if (key !== drawn.key) {
		if (f !== drawn.f || t === frames.length || drawn.end) {
			layers.moves.replaceChildren();
			drawn.list = f >= 0 ? moves[f].map(drawMove) : [];
			const at = f >= 0 ? moves[f].flatMap(linesOf) : [];
			light("on", at);
			if (at.length)
				reveal(at[0]);
		}
		drawn = { key, f, list: drawn.list, end: t === frames.length };
		drawCells(t);
		drawFault(drawn.end && !M.right);
		status.textContent = describe(t);
		slider.setAttribute("aria-valuetext", describe(t));
		player.dataset.at = t;
	}
	for (const { m, path, line, label, until } of drawn.list) {
		const u = Math.min(1, Math.max(0, (t - m.begin) / (m.end - m.begin))), moving = u > 0 && (u < 1 || until < 1);
		line.classList.toggle("done", u >= 1 && !m.fault);
		label.setAttribute("visibility", moving || m.fault ? "visible" : "hidden");
		if (moving || m.fault)
			moveTo(label, bezier(path, m.fault && rest ? 0.5 : until * ease(u)));
	}
	slider.value = t;
	drawCursor(t);
}

function go(to) {
	t = Math.min(frames.length, Math.max(0, to));
	show();
}

// ---- playing ------------------------------------------------------------------------------------------

let clock = null; // while it plays

function play() {
	const begun = performance.now(), mine = { begun, last: begun, t: t >= frames.length ? 0 : t, pictures: 0, work: 0 };
	if (clock || !frames.length)
		return;
	clock = mine;
	name(playButton, "Pause (space)", "pause");
	requestAnimationFrame(function tick(now) {
		if (clock !== mine)
			return;
		const passed = Math.max(0, now - mine.last), begun = performance.now();
		mine.t = Math.min(frames.length, mine.t + Math.min(passed, 100) * Number(speed.value) / FRAME);
		mine.last += passed;
		mine.pictures++;
		go(calm.matches && mine.t < frames.length ? Math.floor(mine.t) : mine.t);
		mine.work += performance.now() - begun;
		if (mine.t >= frames.length)
			pause();
		else
			requestAnimationFrame(tick);
	});
}

// Leaves in the page how fast it has played: pictures, how many a second, and milliseconds of script for each.
function pause() {
	if (!clock)
		return;
	const { begun, last, pictures, work } = clock;
	player.dataset.pictures = pictures;
	player.dataset.perSecond = (1000 * pictures / (last - begun || 1)).toFixed(1);
	player.dataset.work = (work / (pictures || 1)).toFixed(2);
	clock = null;
	name(playButton, "Play (space)", "play");
}

const toggle = () => clock ? pause() : play();
function jump(to) {
	pause();
	go(to);
}

const KEYS = {
	" ": toggle,
	ArrowLeft: () => jump(Math.ceil(t - 1)),
	ArrowRight: () => jump(Math.floor(t + 1)),
	Home: () => jump(0),
	End: () => jump(frames.length),
};
document.addEventListener("keydown", (e) => {
	const own = e.key === " " ? "button, summary, select, [role=button]" : "select";
	if (!Object.hasOwn(KEYS, e.key) || e.ctrlKey || e.altKey || e.metaKey || e.target.closest(own))
		return;
	e.preventDefault();
	KEYS[e.key]();
});

// ---- what a chunk and a line have to say -----------------------------------------------------------------

function moveText(m) {
	const what = m.reads || "an empty message", line = (place) => place ? place.line : "?";
	const who = m.kind === "local" ? `rank ${m.from}` : `rank ${m.from} → rank ${m.to}`;
	const verb = m.kind === "lost" ? " is sent, not received" : m.combines ? ` is combined into ${m.writes}`
		: m.reads === m.writes && m.kind === "message" ? "" : ` is copied into ${m.writes}`;
	const where = m.kind === "message" ? `lines ${line(m.sent_at)} and ${line(m.received_at)}` : `line ${line(m.at || m.sent_at)}`;
	return `${who}: ${what}${verb} (${where})${m.fault ? " " + m.fault : ""}`;
}

const link = (text, onclick) => element("button", { type: "button", onclick }, text);
const moveItem = (m) => !m ? element("li", {}, "a move that is not shown")
	: element("li", {}, link("step " + m.step, () => jump(frameOf.get(m.step) + 1)), " " + moveText(m));

function pick(list) {
	const ends = new Set(list.map((m) => m && `${m.from} ${m.to} ${m.step}`));
	svg.classList.toggle("picking", list.length > 0);
	for (const e of svg.querySelectorAll(".message"))
		e.classList.toggle("picked", ends.has(`${e.dataset.from} ${e.dataset.to} ${e.dataset.step}`));
}

let pinned = false;
function showDetail(head, text, list, elements, pin) {
	pinned = pin;
	light("picked", elements);
	pick(list);
	detail.replaceChildren(...items("", list, moveItem));
	detail.prepend(element("p", {}, element("b", {}, head), text));
}

function showChunk({ rank, chunk }, pin) {
	const { holds } = heldAt(rank, chunk, t), promised = (M.promised[rank] || [])[chunk];
	const list = origin(rank, chunk, t), wrong = M.wrong.find((w) => w.rank === rank && w.chunk === chunk);
	const data = !holds ? "nothing yet" : holds.text.includes("@") ? holds.text
		: `the data of rank${/[-,]/.test(holds.text) ? "s" : ""} ${holds.text}`;
	const text = `holds ${data}` + (holds && !list.length ? ", since the start" : "") +
		(promised ? `; promised is ${promised}` : "") + (wrong && t === frames.length ? ": wrong." : ".") +
		(list.length ? ` It came by ${plural(list.length, "move")}:` : "");
	showDetail(`rank ${rank}, ${M.chunks[chunk]}, ${moment(t)}: `, text, list, list.flatMap((m) => m ? linesOf(m) : []), pin);
}

function showLine(code, place) {
	const list = M.moves.filter((m) => linesOf(m).includes(code));
	const stuck = M.stuck.filter((s) => lineOf(s.at) === code).map((s) => ` Rank ${s.rank} ${s.message}.`).join("");
	const moved = list.length ? `has ${plural(list.length, "move")}.` : "moves nothing.";
	showDetail(`Line ${place} `, moved + stuck, list, [code], true);
}

function showHint() {
	showDetail("", "Point at a chunk to see through which messages its data came; click on a line to see its messages. " +
		"Space plays, arrow keys step.", [], [], false);
}

stage.addEventListener("pointerover", (e) => {
	const g = e.target.closest(".chunk");
	if (g && e.pointerType === "mouse" && !pinned)
		showChunk(g.cell, false);
});
stage.addEventListener("click", (e) => {
	const g = e.target.closest(".chunk");
	if (g)
		showChunk(g.cell, true);
	else
		showHint();
});
const busy = new Set([...M.moves.flatMap(linesOf), ...M.stuck.map((s) => lineOf(s.at))]);
for (const [key, code] of lines) {
	if (!busy.has(code))
		continue;
	const press = () => showLine(code, key.split(":")[1]);
	code.className = "busy";
	code.tabIndex = 0;
	code.setAttribute("role", "button");
	code.addEventListener("click", press);
	code.addEventListener("keydown", (e) => {
		if (e.key === "Enter" || e.key === " ") {
			e.preventDefault();
			press();
		}
	});
}

// ---- the faults ----------------------------------------------------------------------------------------

function placeLink(place) {
	const code = lineOf(place), name = place ? `${M.files[place.file].name}:${place.line}` : "";
	return !code ? name : link("line " + place.line, () => {
		showLine(code, place.line);
		reveal(code);
	});
}

const remarks = (kind, list) => list.map((n) =>
	element("li", {}, kind, n.at ? " " : "", placeLink(n.at), ": " + n.message));

function errorParts(e) {
	const where = (e.step === null ? "" : `, step ${e.step}`) +
		(e.ranks.length ? `, rank${e.ranks.length > 1 ? "s" : ""} ${e.ranks.join(", ")}` : "");
	return [element("p", { class: "error" }, element("b", {}, e.code || "error"), " ", placeLink(e.at), `${where}: ${e.message}`),
		element("ul", {}, ...remarks("note", e.notes), ...remarks("help", e.help))];
}

const stuckItem = (s) => element("li", { class: s.place === null ? "" : "circle" }, `rank ${s.rank}, `, placeLink(s.at),
	`, step ${s.step}: ${s.message}`);
const wrongItem = (w) => element("li", {}, `rank ${w.rank}, ${M.chunks[w.chunk]} holds ` +
	`${w.holds === "-" ? "nothing" : w.holds}; promised is ${w.promised}`);

// A list with its head, or nothing.
function items(head, list, item) {
	const shown = list.slice(0, MANY).map(item);
	if (list.length > MANY)
		shown.push(element("li", {}, `... and ${list.length - MANY} more`));
	return list.length ? [...(head ? [element("h2", {}, head)] : []), element("ul", {}, ...shown)] : [];
}

function showFaults() {
	const round = M.stuck.filter((s) => s.place !== null).sort((a, b) => a.place - b.place);
	document.getElementById("faults")?.replaceChildren(...M.errors.flatMap(errorParts),
		...(round.length ? [element("p", { class: "circle" }, "The circle of waits: ",
			[...round, round[0]].map((s) => "rank " + s.rank).join(" waits for "))] : []),
		...items("Here it is stuck", M.stuck, stuckItem),
		...items("At the end, not as promised", M.wrong, wrongItem));
}

showFaults();
showHint();
const asked = location.hash.match(/^#step=(\d+)$/);
go(asked ? (frameOf.get(Number(asked[1])) ?? -1) + 1 : 0);
document.documentElement.classList.add("ready");
})();
