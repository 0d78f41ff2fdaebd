// Drawings from plain data: lines, a heat map, best replies. They know nothing of where the data come from.

const SVG = "http://www.w3.org/2000/svg";

function node(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export const colour = (i) => `var(--c${i % 8})`;

export const short = (x) => (x === 0 ? "0" : Math.abs(x) >= 1e4 || Math.abs(x) < 1e-3 ? x.toExponential(1) : String(+x.toPrecision(3)));

function ticks(low, high, log) {
  if (log) {
    const powers = [];
    for (let k = Math.ceil(Math.log10(low) - 1e-9); k <= Math.log10(high) + 1e-9; k++) powers.push(10 ** k);
    return powers;
  }
  const rough = (high - low) / 5 || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= rough);
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + 1e-9; x += step) found.push(+x.toFixed(10));
  return found;
}

// series: [{name, x, y, colour, dashed, thick}]; marks: [{x, text}]; lines: [{y, text}]; band: {low, high}
export function lineChart(place, { title, series, xRange, yRange, log = false, xLabel, yLabel, marks = [], lines = [], band = null }) {
  const [W, H, left, right, top, bottom] = [480, 250, 44, 10, 8, 36];
  const at = (v, [low, high], a, b) => a + ((v - low) / (high - low || 1)) * (b - a);
  const scale = log ? Math.log10 : (v) => v;
  const ends = xRange.map(scale);
  const px = (x) => at(scale(x), ends, left, W - right);
  const py = (y) => at(y, yRange, H - bottom, top);
  const svg = node("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title });
  for (const y of ticks(...yRange, false)) {
    svg.append(node("line", { x1: left, x2: W - right, y1: py(y), y2: py(y), class: "grid" }));
    svg.append(node("text", { x: left - 6, y: py(y) + 4, "text-anchor": "end" }, short(y)));
  }
  for (const x of ticks(...xRange, log)) {
    svg.append(node("line", { x1: px(x), x2: px(x), y1: H - bottom, y2: H - bottom + 4, class: "axis" }));
    svg.append(node("text", { x: px(x), y: H - bottom + 16, "text-anchor": "middle" }, short(x)));
  }
  svg.append(node("path", { d: `M${left} ${top}V${H - bottom}H${W - right}`, class: "axis" }));
  svg.append(node("text", { x: (left + W - right) / 2, y: H - 3, "text-anchor": "middle", class: "soft" }, xLabel));
  svg.append(node("text", { x: 11, y: (top + H - bottom) / 2, "text-anchor": "middle", class: "soft", transform: `rotate(-90 11 ${(top + H - bottom) / 2})` }, yLabel));
  if (band) svg.append(node("rect", { x: left, width: W - right - left, y: py(band.high), height: Math.max(0, py(band.low) - py(band.high)), fill: "var(--shade)" }));
  for (const { y, text } of lines) {
    svg.append(node("line", { x1: left, x2: W - right, y1: py(y), y2: py(y), stroke: "var(--soft)", "stroke-dasharray": "2 3" }));
    svg.append(node("text", { x: W - right, y: py(y) - 4, "text-anchor": "end", class: "soft" }, text));
  }
  for (const { x, text } of marks) {
    if (x < xRange[0] || x > xRange[1]) continue;
    svg.append(node("line", { x1: px(x), x2: px(x), y1: top, y2: H - bottom, stroke: "var(--soft)", "stroke-dasharray": "2 3" }));
    if (text) svg.append(node("text", { x: px(x) + 4, y: top + 10, class: "soft" }, text));
  }
  const clip = (y) => Math.min(Math.max(y, yRange[0]), yRange[1]);
  for (const one of series) {
    let path = "", pen = false;
    one.x.forEach((x, k) => {
      const y = one.y[k];
      if (y === null || y === undefined || x < xRange[0] * (log ? 0.999 : 1) || x > xRange[1] * 1.001) { pen = false; return; }
      path += `${pen ? "L" : "M"}${px(x).toFixed(1)} ${py(clip(y)).toFixed(1)}`;
      pen = true;
    });
    const drawn = node("path", { d: path, fill: "none", stroke: one.colour, "stroke-width": one.thick ? 2.6 : 1.5, "stroke-linejoin": "round" });
    if (one.dashed) drawn.setAttribute("stroke-dasharray", "5 3");
    svg.append(drawn);
  }
  const legend = document.createElement("ul");
  legend.className = "legend";
  for (const one of series) {
    const item = document.createElement("li"), sign = document.createElement("i");
    sign.style.borderTopColor = one.colour;
    if (one.dashed) sign.className = "dashed";
    item.append(sign, one.name);
    legend.append(item);
  }
  place.replaceChildren(svg, legend);
}

// values[row][column] in 0..most; marks: [{row, column, colour}]
export function heatMap(svg, { title, rows, columns, values, most, marks, rowLabel, columnLabel }) {
  const size = 17, edge = 34, W = edge + columns.length * size + 74, H = edge + rows.length * size + 4;
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  svg.setAttribute("aria-label", title);
  svg.replaceChildren(node("title", {}, title));
  svg.append(node("text", { x: edge + (columns.length * size) / 2, y: 10, "text-anchor": "middle", class: "soft" }, columnLabel));
  svg.append(node("text", { x: 9, y: edge + (rows.length * size) / 2, "text-anchor": "middle", class: "soft", transform: `rotate(-90 9 ${edge + (rows.length * size) / 2})` }, rowLabel));
  columns.forEach((name, j) => svg.append(node("text", { x: edge + (j + 0.5) * size, y: edge - 5, "text-anchor": "middle" }, name)));
  rows.forEach((name, i) => {
    svg.append(node("text", { x: edge - 5, y: edge + (i + 0.72) * size, "text-anchor": "end" }, name));
    columns.forEach((other, j) => {
      const cell = node("rect", { x: edge + j * size, y: edge + i * size, width: size - 1, height: size - 1, fill: shade(values[i][j] / (most || 1)) });
      cell.append(node("title", {}, `${name}-${other}: ${values[i][j].toFixed(4)}`));
      svg.append(cell);
    });
  });
  for (const { row, column, stroke } of marks) {
    const frame = (colour, width) => node("rect", { x: edge + column * size, y: edge + row * size, width: size - 1, height: size - 1, fill: "none", stroke: colour, "stroke-width": width });
    svg.append(frame("#fff", 5), frame(stroke, 2.5)); // seen on light and dark cells
  }
  const x = edge + columns.length * size + 16;
  for (let k = 0; k <= 20; k++) svg.append(node("rect", { x, y: edge + (20 - k) * 6, width: 12, height: 6.5, fill: shade(k / 20) }));
  svg.append(node("text", { x: x + 16, y: edge + 8 }, short(most)), node("text", { x: x + 16, y: edge + 126 }, "0"));
}

// From dark blue (small) through white-ish to orange (large): told apart without telling red from green.
function shade(share) {
  const stops = [[0, 63, 114], [86, 180, 233], [244, 240, 228], [230, 159, 0], [150, 60, 0]];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  return `rgb(${stops[k].map((c, i) => Math.round(c + (at - k) * (stops[k + 1][i] - c))).join(" ")})`;
}

// Two columns of actions, an arrow from each to the other player's best replies.
export function replyChart(svg, { players, actions, replies }) {
  const most = Math.max(actions[0].length, actions[1].length), gap = Math.max(30, Math.min(46, 260 / most));
  const W = 480, H = most * gap + 36, x = [130, 350];
  const y = (i, k) => 34 + (k + 0.5) * gap + ((most - actions[i].length) * gap) / 2;
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  const said = [];
  svg.replaceChildren();
  const defs = node("defs");
  for (const i of [0, 1]) {
    const head = node("marker", { id: `head${i}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
    head.append(node("path", { d: "M0 0L8 4L0 8z", fill: colour(i) }));
    defs.append(head);
  }
  svg.append(defs);
  for (const i of [0, 1]) {
    const out = i === 0 ? -1 : 1;
    svg.append(node("text", { x: x[i], y: 14, "text-anchor": "middle", class: "soft" }, players[i]));
    actions[i].forEach((name, k) => {
      svg.append(node("circle", { cx: x[i], cy: y(i, k), r: 5, fill: colour(i) }));
      svg.append(node("text", { x: x[i] + out * 12, y: y(i, k) + 4, "text-anchor": out < 0 ? "end" : "start" }, name.length > 18 ? `${name.slice(0, 17)}…` : name));
    });
    replies[i].forEach((best, k) => best.forEach((own) => {
      // leads from the other player's action k to this player's reply
      const a = [x[1 - i], y(1 - i, k)], b = [x[i], y(i, own)];
      const bend = i === 0 ? 7 : -7, inset = i === 0 ? -9 : 9;
      const mid = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2 + bend];
      svg.append(node("path", { d: `M${a[0] + inset} ${a[1] + bend / 3}Q${mid[0]} ${mid[1]} ${b[0] - inset} ${b[1] + bend / 3}`, fill: "none", stroke: colour(i), "stroke-width": 1.4, "marker-end": `url(#head${i})` }));
      said.push(`${players[i]} answers ${actions[1 - i][k]} with ${actions[i][own]}`);
    }));
  }
  svg.setAttribute("aria-label", said.join("; "));
}
