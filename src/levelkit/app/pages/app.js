// The page: settings live in the address, every view is drawn from them and from what the server answers.

import { colour, heatMap, lineChart, replyChart, short } from "./charts.js";

const DEFAULTS = {
  tab: "explore", game: "sw10", matrix: "", model: "tqre", belief: "hierarchy", levels: "10", tau: "1.5", gamma: "2", lam: "2",
  table: "", games: "", c_game: "", c_player: "", c_action: "", c_count: "", by: "", fmodel: "tqre", scale: "raw", fitted: "",
  one: "H", two: "C", mix1: "1,1,1", mix2: "1,1,1", engine: "reactive", rounds: "200", warmup: "10", window: "50", seed: "0",
  catalogue: "paper_table4", convention: "published", t: "0", log: "", match: "0",
};
const $ = (id) => document.getElementById(id);
const state = { ...DEFAULTS, ...Object.fromEntries(new URLSearchParams(location.search)) };
let about = { most_bytes: 2e7, models: [], explore_models: [] };

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// --- settings and the address

function remember() {
  const kept = Object.entries(state).filter(([key, value]) => key in DEFAULTS && String(value) !== DEFAULTS[key]);
  const query = new URLSearchParams(kept).toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
}

// Browsers limit how often the address may change; a reload keeps only what was written before it began.
const PAUSE = 120;
let writing = 0;
let written = -Infinity;
function write() {
  written = performance.now();
  remember();
}
function set(changes) {
  Object.assign(state, changes);
  clearTimeout(writing);
  const wait = written + PAUSE - performance.now();
  if (wait <= 0) write();
  else writing = setTimeout(write, wait);
}
addEventListener("pagehide", remember);

const toSlider = (input, value) => ("log" in input.dataset ? (value > 0 ? Math.log10(value) : input.min) : value);
const fromSlider = (input) => ("log" in input.dataset ? short(10 ** Number(input.value)) : input.value);

function showSettings() {
  for (const input of document.querySelectorAll("[data-key]")) {
    const value = state[input.dataset.key];
    input.value = input.type === "range" ? toSlider(input, Number(value)) : value;
    showOutput(input);
  }
}

function showOutput(input) {
  const output = document.querySelector(`output[for="${input.id}"]`);
  if (output && input.id) output.value = state[input.dataset.key];
}

// --- talking to the server

function complain(text) {
  $("error").textContent = text;
  $("error").hidden = !text;
}

async function read(response) {
  const told = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Error(told.error || `the server answered ${response.status}`);
  return told;
}

const address = (path, names) => `${path}?${new URLSearchParams(names.map((name) => [name, state[name]]))}`;
const asked = {}; // the newest request of each kind; answers to older ones are dropped

async function ask(kind, url) {
  const mine = (asked[kind] = (asked[kind] || 0) + 1);
  let answer;
  try {
    answer = await read(await fetch(url));
  } catch (error) {
    if (mine !== asked[kind]) return null;
    throw error instanceof TypeError ? new Error("levelkit does not answer; is it still running in the terminal?") : error;
  }
  return mine === asked[kind] ? answer : null;
}

async function guarded(work) {
  try {
    complain("");
    await work();
  } catch (error) {
    complain(error.message);
  }
}

async function send(path, file) {
  if (file.size > about.most_bytes) {
    throw new Error(`${file.name} is ${(file.size / 1e6).toFixed(0)} MB, larger than the ${about.most_bytes / 1e6} MB this page takes. Use the command line for it (levelkit fit), or start with levelkit app --most-mb`);
  }
  return read(await fetch(`${path}?${new URLSearchParams({ name: file.name })}`, { method: "POST", body: file }));
}

// --- tabs

function showTab() {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.tab === state.tab;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.dataset.tab).hidden = !chosen;
  }
  guarded({ explore: exploreAll, fit: fitAll, observe: observeAll }[state.tab]);
}

function chooseTab(tab) {
  pause();
  set({ tab });
  showTab();
}

// --- explore a game

const GAME = ["game", "matrix"], POPULATION = ["model", "levels", "belief"];

async function exploreAll() {
  for (const label of document.querySelectorAll("[data-for]")) label.hidden = !label.dataset.for.split(" ").includes(state.model);
  $("paste").open = $("paste").open || Boolean(state.matrix);
  await Promise.all([explorePlay(), exploreFacts(), exploreBranch()]);
}

let slope = null; // the branch last answered, redrawn as lam slides

async function explorePlay() {
  const told = await ask("play", address("api/play", [...GAME, ...POPULATION, "tau", "gamma", "lam"]));
  if (!told) return;
  $("values").textContent = [told.model, ...told.parameters.map((p) => `${p.name} = ${short(p.value)}${p.unit === "1/payoff" ? " per payoff unit" : ""}`),
    ...(told.mean_level === undefined ? [] : [`mean level ${told.mean_level.toFixed(2)}`])].join(", ");
  $("levels-table").replaceChildren(...told.players.map((player) => {
    const head = element("tr", {}, element("th", { scope: "col", textContent: player.name }), ...player.actions.map((a) => element("th", { scope: "col", textContent: a })));
    const rows = player.levels.map((play, k) => probabilities(`level ${k} (${(100 * told.shares[k]).toFixed(1)}%)`, play));
    rows.push(probabilities("overall", player.overall, "all"));
    return element("table", { className: "probabilities" }, element("thead", {}, head), element("tbody", {}, ...rows));
  }));
  drawBranch();
}

function probabilities(name, play, kind = "") {
  const cells = play.map((p) => {
    const bar = element("i");
    bar.style.width = `${100 * p}%`;
    return element("td", { textContent: p.toFixed(3) }, bar);
  });
  return element("tr", { className: kind }, element("th", { scope: "row", textContent: name }), ...cells);
}

async function exploreFacts() {
  const told = await ask("facts", address("api/facts", [...GAME, ...POPULATION]));
  if (!told) return;
  $("game-name").textContent = told.title || told.name;
  $("game-source").textContent = told.source;
  const corner = element("th", { textContent: `${told.players[0]} \\ ${told.players[1]}` });
  const head = element("tr", {}, corner, ...told.actions[1].map((a) => element("th", { scope: "col", textContent: a })));
  const number = (value, best) => element(best ? "u" : "span", { textContent: String(+value.toPrecision(6)) });
  const rows = told.actions[0].map((a, i) => element("tr", {}, element("th", { scope: "row", textContent: a }), ...told.actions[1].map((_, j) =>
    element("td", {}, number(told.payoffs[0][i][j], told.replies[0][j].includes(i)), ", ", number(told.payoffs[1][i][j], told.replies[1][i].includes(j))))));
  $("payoffs").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  replyChart($("replies"), told);
  $("equilibria").replaceChildren(...told.equilibria.map((text) => element("li", { textContent: text })));
  $("equilibria-note").textContent = told.equilibria_note;
  $("verdict").textContent = `${told.identified ? "Yes: " : "No: "}${told.verdict}.`;
  $("verdict").className = told.identified ? "ok" : "boundary";
  names = told;
  drawBranch();
}
let names = null;

async function exploreBranch() {
  slope = await ask("branch", address("api/branch", GAME)) || slope;
  drawBranch();
}

function drawBranch() {
  if (!slope || !names || slope.players.length !== names.players.length || slope.players.some((p, i) => p.length !== names.actions[i].length)) return;
  const marks = slope.forks.map((x) => ({ x }));
  if (["qre", "quantal-ch"].includes(state.model)) marks.push({ x: Number(state.lam), text: `lam ${state.lam}` });
  const panels = slope.players.map(() => element("div"));
  $("branch").replaceChildren(...panels);
  slope.players.forEach((actions, i) => lineChart(panels[i], {
    title: `Logit QRE of ${names.players[i]}`, log: true, xRange: [0.03, 1e3], yRange: [0, 1], marks,
    xLabel: `lam x payoff range: ${names.players[i]}`, yLabel: "probability",
    series: actions.map((y, k) => ({ name: names.actions[i][k], x: slope.lam, y, colour: colour(k) })),
  }));
  $("branch-note").textContent = `lam is drawn times the payoff range; divide by ${short(1 / slope.unit)} for payoff units.` +
    (slope.turns ? ` The branch turns ${slope.turns} time(s).` : "") + (slope.forks.length ? " Dotted: where other branches leave it." : "");
}

// --- fit my choices

const FIT = ["table", "games", "by", "scale"];
const MAPPED = ["game", "player", "action", "count"];
let described = null;

function fitAddress(path) {
  const query = new URLSearchParams(FIT.map((name) => [name, state[name]]));
  query.set("model", state.fmodel);
  for (const name of MAPPED) query.set(name, state[`c_${name}`]);
  return `${path}?${query}`;
}

async function fitAll() {
  $("table-limit").textContent = `csv, tsv, jsonl or parquet, up to ${about.most_bytes / 1e6} MB.`;
  $("games-name").textContent = state.games ? "your games are loaded" : "";
  if (!state.table) return showTable(null);
  try {
    const told = await ask("table", address("api/table", ["table"]));
    if (told) showTable(told);
  } catch (error) {
    showTable(null);
    set({ table: "", fitted: "" });
    throw error;
  }
  if (state.fitted) await runFit();
}

function showTable(told) {
  described = told;
  for (const id of ["mapping", "by", "fit-options", "preview"]) $(id).hidden = !told;
  if (!told) { $("fit-result").hidden = true; $("fit-status").textContent = ""; return; }
  $("table-name").textContent = `${told.name}: ${told.rows.toLocaleString("en")} rows`;
  const columns = told.columns.slice(0, 40);
  const rows = Array.from({ length: Math.max(0, ...columns.map((c) => c.first.length)) }, (_, i) =>
    element("tr", {}, ...columns.map((c) => element("td", { textContent: (c.first[i] ?? "").slice(0, 40) }))));
  $("preview-table").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...columns.map((c) => element("th", { scope: "col", textContent: c.name })))), element("tbody", {}, ...rows)));
  for (const name of MAPPED) {
    const select = document.querySelector(`[data-key=c_${name}]`);
    const none = told.guess[name] ? [] : [element("option", { value: "-", textContent: { count: "(each row is one)", action: "(none: a column for each action)" }[name] || "(none)" })];
    select.replaceChildren(...none, ...told.columns.map((c) => element("option", { value: c.name, textContent: c.name })));
    if (!state[`c_${name}`] || ![...select.options].some((o) => o.value === state[`c_${name}`])) state[`c_${name}`] = told.guess[name] || "-";
    select.value = state[`c_${name}`];
  }
  showBy();
}

function showBy() {
  const taken = MAPPED.slice(1).map((name) => state[`c_${name}`]);
  const free = described.columns.map((c) => c.name).filter((name) => !taken.includes(name) && name !== state.c_game && !name.includes(","));
  const chosen = state.by.split(",").filter(Boolean);
  $("by-boxes").replaceChildren(...["game", ...free.filter((name) => name !== "game")].map((name) => {
    const box = element("input", { type: "checkbox", value: name, checked: chosen.includes(name) });
    return element("label", {}, box, ` ${name}`);
  }));
}

async function runFit() {
  $("run-fit").disabled = true;
  $("fit-status").textContent = "Fitting: the first fit of a kind takes some seconds more …";
  try {
    const response = await fetch(fitAddress("api/fit"));
    if (!response.ok) await read(response);
    await lines(response, (line) => {
      if (line.error) throw new Error(line.error);
      if (line.result) showFit(line.result);
      else $("fit-status").textContent = `Fitting: ${line.done} of ${line.total}`;
    });
    set({ fitted: "1" });
  } catch (error) {
    $("fit-status").textContent = "";
    $("fit-result").hidden = true;
    throw error;
  } finally {
    $("run-fit").disabled = false;
  }
}

async function lines(response, each) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (value || "")).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part) each(JSON.parse(part));
    if (done) return;
  }
}

function showFit(told) {
  $("fit-result").hidden = false;
  $("fit-status").textContent = `${told.estimates.length + told.left_out} estimates from ${told.choices} choices; ` +
    Object.entries(told.statuses).map(([status, n]) => `${n} ${status}`).join(", ") + (told.set_aside ? `; ${told.set_aside} rows set aside` : "");
  $("set-aside").textContent = told.problems;
  $("fit-model").textContent = told.model;
  const heads = [...told.keys, "parameter", "estimate", `${told.level} interval`, "status", "n", "unit"];
  const rows = told.estimates.map((row) => element("tr", {}, ...row.keys.map((k) => element("td", { textContent: k })),
    ...[row.parameter, row.estimate, `[${row.low}, ${row.high}]`].map((text) => element("td", { textContent: text })),
    element("td", {}, element("span", { className: `status ${row.status}`, textContent: row.status })),
    ...[row.n, row.unit].map((text) => element("td", { textContent: text }))));
  $("estimates").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", { scope: "col", textContent: h })))), element("tbody", {}, ...rows)));
  $("left-out").textContent = told.left_out ? `and ${told.left_out} more rows: they are in fits.csv.` : "";
  const none = { text: "Nothing stands out: every parameter has one optimum inside its range.", cells: [], count: 0 };
  $("findings").replaceChildren(...(told.findings.length ? told.findings : [none]).map((f) => {
    const cells = f.cells.map((text) => element("li", { textContent: text }));
    if (f.count > cells.length && cells.length) cells.push(element("li", { textContent: `and ${f.count - cells.length} more: see report.html` }));
    return element("li", { textContent: f.text }, ...(cells.length ? [element("ul", {}, ...cells)] : []));
  }));
  $("downloads").replaceChildren(...["report.html", "fits.csv", "fits.json", "fits.tex", "fits.txt"].map((name) => element("a", { href: fitAddress(`api/download/${name}`), textContent: name, download: name })));
  $("fit-figure").src = told.figure;
  $("glossary").replaceChildren(...told.glossary.flatMap(([status, text]) => [element("dt", { className: status, textContent: status }), element("dd", { textContent: text })]));
}

async function sendTable(file) {
  $("fit-status").textContent = `Reading ${file.name} …`;
  $("fit-result").hidden = true;
  try {
    const { token } = await send("api/tables", file);
    const told = await read(await fetch(`api/table?table=${token}`));
    set({ table: token, fitted: "", c_game: "", c_player: "", c_action: "", c_count: "", by: told.by.join(",") });
    showTable(told);
    $("fit-status").textContent = "Say which column is what, then fit.";
  } catch (error) {
    set({ table: "", fitted: "" });
    showTable(null);
    throw error;
  }
}

// --- observe

const MATCH = ["one", "two", "mix1", "mix2", "engine", "rounds", "warmup", "window", "seed", "catalogue"];
let known = null, seen = null, timer = 0;

async function observeAll() {
  const catalogue = await ask("strategies", address("api/strategies", ["catalogue"]));
  if (catalogue) showCatalogue(catalogue);
  if (state.log) {
    try {
      const log = await ask("log", address("api/log", ["log", "catalogue"]));
      if (log) showLog(log);
    } catch (error) {
      showLog(null);
      set({ log: "", match: "0" });
      await loadMatch();
      throw error;
    }
  } else showLog(null);
  await loadMatch();
}

function showCatalogue(told) {
  known = told;
  for (const [side, mix] of [["one", "mix1"], ["two", "mix2"]]) {
    const codes = told.strategies.map((s) => s.code);
    if (state[side] !== "own" && !codes.includes(state[side])) state[side] = codes[side === "one" ? 0 : 1];
    if (state[mix].split(",").length !== told.moves.length) state[mix] = told.moves.map(() => 1).join(",");
    $(side).replaceChildren(...told.strategies.map((s) => element("option", { value: s.code, textContent: `${s.code}: ${s.name}${s.kind === "reactive" ? " (reacts)" : ""}` })), element("option", { value: "own", textContent: "own mixture" }));
    $(side).value = state[side];
    $(mix).hidden = state[side] !== "own";
    const weights = state[mix].split(",");
    $(mix).replaceChildren(...told.moves.map((move, k) => {
      const input = element("input", { type: "range", min: 0, max: 10, step: 0.5, value: weights[k] });
      const output = element("output", {});
      const label = element("label", {}, move, output, input);
      input.addEventListener("input", () => {
        const now = state[mix].split(",");
        now[k] = input.value;
        set({ [mix]: now.join(",") });
        showShares(mix);
        later("match", loadMatch);
      });
      return label;
    }));
    showShares(mix);
  }
}

function showShares(mix) {
  const weights = state[mix].split(",").map(Number), sum = weights.reduce((a, b) => a + b, 0);
  $(mix).querySelectorAll("output").forEach((output, k) => { output.value = sum > 0 ? `${((100 * weights[k]) / sum).toFixed(0)}%` : "-"; });
}

function showLog(told) {
  $("log-controls").hidden = !told;
  $("own-controls").hidden = Boolean(told);
  $("rounds-pair").classList.toggle("stacked", Boolean(told)); // reasons need the width
  if (!told) return;
  $("log-match").replaceChildren(...told.matches.map((m, i) => element("option", { value: i, textContent: `${m.id}${m.model ? ` (${m.model})` : ""}, ${m.pair}` })));
  $("log-match").value = state.match;
  if (!told.problems.startsWith("nothing was set aside")) complain(`${told.name}: ${told.problems}`);
}

async function loadMatch() {
  const told = await ask("match", state.log ? address("api/logmatch", ["log", "match", "catalogue"]) : address("api/match", MATCH));
  if (!told) return;
  seen = told;
  $("at").max = told.moves.length;
  const t = Math.min(Math.max(Math.trunc(Number(state.t)) || 0, 0), told.moves.length); // an address can say anything
  if (String(t) !== state.t) set({ t: String(t) });
  $("at").value = state.t;
  drawMatch();
}

function drawMatch() {
  if (!seen || !known) return;
  const t = Number(state.t), n = seen.moves.length, rounds = Array.from({ length: t }, (_, k) => k + 1), conventions = ["published", "released", "proper"];
  $("round").value = `${t} / ${n}`;
  drawScore(t, n);
  const series = [];
  if (seen.observer) conventions.forEach((c, k) => series.push({ name: `${seen.model || "observer"}, ${c}`, x: rounds, y: seen.observer[c], colour: colour(k), thick: c === state.convention }));
  if (seen.unions) conventions.forEach((c, k) => series.push({ name: `${seen.observer ? "ideal, " : ""}${c}`, x: rounds, y: seen.unions[c], colour: colour(k), dashed: Boolean(seen.observer), thick: !seen.observer && c === state.convention }));
  const top = Math.max(0.05, ...series.flatMap((s) => s.y.slice(0, t).filter((v) => v !== null)));
  lineChart($("loss-chart"), { title: "Union loss by round", series, xRange: [1, n], yRange: [0, top * 1.05], xLabel: "round", yLabel: "union loss", marks: seen.warmup ? [{ x: seen.warmup, text: "warm-up ends" }] : [] });
  if (seen.pairs) {
    const truth = seen.truth.join("-");
    lineChart($("belief-chart"), { title: "Belief in pairs by round", xRange: [1, n], yRange: [0, 1], xLabel: "round", yLabel: "probability",
      series: Object.entries(seen.pairs).map(([name, y], k) => ({ name: name === truth ? `${name} (true)` : name, x: rounds, y, colour: colour(k), thick: name === truth })) });
  } else $("belief-chart").replaceChildren(element("p", { textContent: "Moves are missing in this match: no belief can be worked out." }));
  drawRounds(t);
  drawHeat(t);
}

function drawScore(t, n) {
  const parts = [];
  if (seen.named && seen.guesses) {
    const truth = seen.truth.join("-");
    const hits = seen.guesses.slice(0, t).filter((g, k) => k >= seen.warmup && g === truth).length;
    parts.push(`Played ${t} of ${n} rounds of ${truth}. The ideal observer named both strategies in ${hits} (${t ? ((100 * hits) / t).toFixed(1) : "0.0"}% of rounds played)`);
    if (seen.rounds) {
      const own = seen.rounds.slice(0, t).filter((r) => r.correct).length;
      parts.push(`${seen.model || "the observer"} in ${own} (${t ? ((100 * own) / t).toFixed(1) : "0.0"}%)`);
    }
  } else parts.push(`Played ${t} of ${n} rounds. An own mixture is not in the catalogue, so it cannot be named`);
  if (seen.ceiling) parts.push(`ceiling over whole matches ${(100 * seen.ceiling.rate).toFixed(1)}% (95% of ${seen.ceiling.matches} simulated matches: ${(100 * seen.ceiling.low).toFixed(1)} to ${(100 * seen.ceiling.high).toFixed(1)}%)`);
  parts.push(`player 1 wins, draws, loses ${seen.law.map((p) => p.toFixed(3)).join(", ")} of the time`);
  $("score").textContent = `${parts.join("; ")}.`;
}

function drawRounds(t) {
  const heads = ["round", "player 1", "player 2", "ideal observer"].concat(seen.rounds ? [seen.model || "observer", "confidence", "its reasons"] : []);
  const truth = seen.truth.join("-"), rows = [];
  for (let k = t - 1; k >= 0 && rows.length < 200; k--) {
    const [one, two] = seen.moves[k].map((m) => (m < 0 ? "?" : known.moves[m])), guess = seen.guesses ? seen.guesses[k] : "";
    const warm = k < seen.warmup;
    const cells = [String(k + 1), one, two].map((text) => element("td", { textContent: text }));
    cells.push(element("td", { textContent: warm ? "(warm-up)" : guess, className: !warm && guess === truth ? "hit" : "" }));
    if (seen.rounds) {
      const round = seen.rounds[k];
      cells.push(element("td", { textContent: round.guess || `(${round.status})`, className: round.correct ? "hit" : "" }), element("td", { textContent: round.confidence === null ? "" : String(round.confidence) }), element("td", { textContent: round.reasoning, className: "why" }));
    }
    rows.push(element("tr", {}, ...cells));
  }
  $("rounds").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", { scope: "col", textContent: h })))), element("tbody", {}, ...rows)));
}

function drawHeat(t) {
  const values = seen.losses[state.convention], codes = known.strategies.map((s) => s.code), marks = [];
  $("heat-title").textContent = `(union, ${state.convention})`;
  const place = (pair, stroke) => {
    const [row, column] = pair.map((code) => codes.indexOf(code));
    if (row >= 0 && column >= 0) marks.push({ row, column, stroke });
    return row >= 0 && column >= 0 ? values[row][column] : null;
  };
  const own = place(seen.truth, "#000");
  const guess = t && seen.guesses && t > seen.warmup ? seen.guesses[t - 1] : "";
  if (guess) place(guess.split("-"), "#d000d0");
  const all = values.flat(), most = Math.max(...all);
  heatMap($("heat"), { title: "Loss of every guess", rows: codes, columns: codes, values, most, marks, rowLabel: "guess: player 1", columnLabel: "guess: player 2" });
  const better = own === null ? 0 : all.filter((v) => v < own - 1e-9).length;
  $("heat-note").textContent = (own === null ? "" : better ? `${better} wrong guesses score better than the truth: this convention does not reward it here. ` : "No guess scores better than the truth. ") +
    "Framed: the truth; in magenta the ideal observer's guess after the last round played.";
}

function go(t) {
  if (!seen) return;
  set({ t: String(Math.min(Math.max(t, 0), seen.moves.length)) });
  $("at").value = state.t;
  drawMatch();
}

function pause() {
  clearInterval(timer);
  timer = 0;
  $("play").textContent = "Play";
}

function play() {
  if (timer) return pause();
  if (seen && Number(state.t) >= seen.moves.length) go(0);
  $("play").textContent = "Pause";
  timer = setInterval(() => {
    go(Number(state.t) + 1);
    if (Number(state.t) >= seen.moves.length) pause();
  }, 120);
}

// --- what happens when somebody does something

const waiting = {};
function later(kind, work, wait = 60) {
  clearTimeout(waiting[kind]);
  waiting[kind] = setTimeout(() => guarded(work), wait);
}

function changed(input) {
  const key = input.dataset.key;
  if (key === "t") { pause(); return go(Number(input.value)); }
  set({ [key]: input.type === "range" ? fromSlider(input) : input.value });
  showOutput(input);
  if (["tau", "gamma", "lam"].includes(key)) later("play", explorePlay, 25);
  else if (key === "levels") later("explore", () => Promise.all([explorePlay(), exploreFacts()]), 150);
  else if (key === "game") { set({ matrix: "" }); $("matrix").value = ""; later("explore", exploreAll, 0); }
  else if (key === "matrix") later("explore", exploreAll, 400);
  else if (["model", "belief"].includes(key)) later("explore", exploreAll, 0);
  else if (key.startsWith("c_")) { set({ fitted: "" }); showBy(); }
  else if (key === "convention") drawMatch();
  else if (["one", "two", "catalogue"].includes(key)) later("observe", observeAll, 0);
  else if ([...MATCH, "match"].includes(key)) later("match", loadMatch, 200);
}

document.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("input", (event) => { if (event.target.dataset.key && event.target.tagName !== "SELECT") changed(event.target); });
document.addEventListener("change", (event) => {
  if (event.target.dataset.key && event.target.tagName === "SELECT") changed(event.target);
  if (event.target.closest("#by-boxes")) set({ by: [...document.querySelectorAll("#by-boxes input:checked")].map((box) => box.value).join(","), fitted: "" });
});
document.querySelector("[role=tablist]").addEventListener("click", (event) => { if (event.target.dataset.tab) chooseTab(event.target.dataset.tab); });
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const tabs = [...document.querySelectorAll("[role=tab]")], at = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs[(to + tabs.length) % tabs.length];
  tab.focus();
  chooseTab(tab.dataset.tab);
});
$("table-file").addEventListener("change", (event) => { const [file] = event.target.files; if (file) guarded(() => sendTable(file)); });
$("games-file").addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (file) guarded(async () => { set({ games: (await send("api/gamefiles", file)).token, fitted: "" }); $("games-name").textContent = `${file.name} is loaded`; });
});
$("log-file").addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (file) guarded(async () => { pause(); set({ log: (await send("api/logs", file)).token, match: "0", t: "0" }); await observeAll(); });
});
$("close-log").addEventListener("click", () => { set({ log: "", match: "0", t: "0" }); $("log-file").value = ""; guarded(observeAll); });
$("run-fit").addEventListener("click", () => guarded(runFit));
$("play").addEventListener("click", play);
$("again").addEventListener("click", () => { pause(); go(0); });
for (const button of document.querySelectorAll("[data-step]")) button.addEventListener("click", () => { pause(); go(Number(state.t) + Number(button.dataset.step)); });

async function start() {
  about = await ask("about", "api/about");
  $("version").textContent = about.version;
  const sets = await ask("games", "api/games");
  $("game").replaceChildren(...sets.map((s) => {
    const group = element("optgroup", { label: s.set });
    group.append(...s.games.map((g) => element("option", { value: g.name, textContent: g.title || g.name })));
    return group;
  }));
  $("model").replaceChildren(...about.explore_models.map((m) => element("option", { value: m.name, textContent: m.label })));
  $("fmodel").replaceChildren(...about.models.map((m) => element("option", { value: m.name, textContent: m.label })));
  if (!["explore", "fit", "observe"].includes(state.tab)) state.tab = "explore";
  showSettings();
  showTab();
  document.body.dataset.ready = "yes";
}
guarded(start);
