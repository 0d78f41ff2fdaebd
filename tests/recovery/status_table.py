"""A thousand cells of known kind, what the fit says of them, and what a fine grid of other code says.

Run it to see the table: python -m tests.recovery.status_table
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import chi2

import levelkit as lk

try:
    import reference as ref
except ModuleNotFoundError:
    from tests import reference as ref

KINDS = ("interior", "all the same", "uniform", "2x2 ridge", "two optima")
PLANTED = dict(zip(KINDS, ("ok", "boundary", "flat", "flat", "multimodal"), strict=True))
WORDS = ("ok", "multimodal", "boundary", "flat")
EACH = 200
DROP = chi2.ppf(0.95, 1) / 2

POOLED = ("competitive_high_stake", "sw94_8", "sw94_1")
SQUARE = ("competitive_base", "competitive_high_stake", "sw94_1", "sw94_2", "sw94_7", "sw94_8")
SMALL = ("stag_hunt_base", "stag_hunt_high_payoff", "prisoners_dilemma_base", "prisoners_dilemma_low_punishment")

TAU = np.concatenate([[0.0], np.geomspace(0.02, 10, 110)])
# per payoff range of the game; pooled games are scaled to the widest of them
SHARP = np.concatenate([[0.0], np.geomspace(0.01, 4000, 150), [np.inf]])


Parts = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Cell:
    """One unit: its kind and its games with counts."""

    kind: str
    parts: Parts


def _span(parts: Parts) -> float:
    return max(lk.game(name).payoff_range for name, _ in parts)


class Grids:
    """Tables of log-probabilities on the grid by game and reference range, made once."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, float], np.ndarray] = {}

    def surface(self, parts: Parts) -> np.ndarray:
        """Log-likelihood of a unit, (len(TAU), len(SHARP))."""
        span, total = _span(parts), 0.0
        for name, counts in parts:
            if (name, span) not in self._tables:
                tau, gamma = ref.grid_2d(TAU, SHARP / span)
                self._tables[name, span] = ref.log_table(ref.tqre(lk.game(name), tau, gamma))
            total = total + np.array(counts) @ self._tables[name, span]
        return np.asarray(total).reshape(len(TAU), len(SHARP))


def modes(surface: np.ndarray, top: float) -> list[tuple[int, float]]:
    """Local maxima within the drop, best first: flat node number, and height above the saddle to a better one.

    Nodes join in order of their height; where two regions meet, the lower peak has ended.
    """
    n, m = surface.shape
    flat = surface.ravel()
    order = np.flatnonzero(flat >= top - DROP)
    order = order[np.argsort(-flat[order], kind="stable")]
    peak: dict[int, int] = {}
    found = {int(order[0]): np.inf}

    def root(node: int) -> int:
        while peak[node] != node:
            peak[node] = peak[peak[node]]
            node = peak[node]
        return node

    for node in map(int, order):
        i, j = divmod(node, m)
        peak[node] = node
        around = [a * m + b for a in range(max(i - 1, 0), min(i + 2, n)) for b in range(max(j - 1, 0), min(j + 2, m))]
        for near in around:
            if near in peak and near != node:
                one, two = sorted((root(node), root(near)), key=lambda r: -flat[r])
                if one != two:
                    found[two] = float(flat[two] - flat[node])
                    peak[two] = one
    kept = [(p, rise) for p, rise in found.items() if rise > 1e-9]
    return sorted(kept, key=lambda pair: -flat[pair[0]])


def verdict(surface: np.ndarray) -> set[str]:
    """The statuses that the grid allows; more than one where a criterion is too close to call."""
    top, uniform = surface.max(), surface[0, 0]
    if top <= uniform + 1e-6:
        return {"flat"}
    allowed: set[str] = set()
    profiles = (surface.max(axis=1), surface.max(axis=0))
    # the worse of the two ends decides whether a profile set covers the whole range
    reach = max(min(p[0], p[-1]) - (top - DROP) for p in profiles)
    # a ridge: gamma makes up for tau over a factor of three, at no cost that a finer grid would not save
    good = TAU[profiles[0] >= top - 0.02]
    if reach > -0.03 or (good[good > 0].size and good.max() > 3 * good[good > 0].min()):
        allowed.add("flat")
        if reach > 0.03 or profiles[0][(TAU > 0.8) & (TAU < 9)].min() > top - 0.02:
            return allowed
    edge = max(surface[-1].max(), surface[:, 0].max(), surface[:, -1].max(), surface[0].max())
    if edge >= top - 0.02:
        allowed.add("boundary")
        if edge >= top - 1e-9:
            return allowed
    rise = max((rise for _, rise in modes(surface, top)[1:]), default=0.0)
    if rise > 1e-3:
        allowed.add("multimodal")
    if rise < 0.03:
        allowed.add("ok")
    return allowed


def refine(parts: Parts, tau: float, sharp: float) -> tuple[float, float, float]:
    """The local maximum near a point, by ever finer grids: tau, gamma per payoff range, log-likelihood."""
    span, here, half = _span(parts), np.log([tau, sharp]), np.array([0.1, 0.15])
    steps = np.linspace(-1, 1, 13)
    best = -np.inf
    for _ in range(24):
        t, g = ref.grid_2d(here[0] + half[0] * steps, here[1] + half[1] * steps)
        t = np.minimum(t, np.log(10.0))
        value = sum(
            np.array(c) @ ref.log_table(ref.tqre(lk.game(name), np.exp(t), np.exp(g) / span)) for name, c in parts
        )
        k = int(np.argmax(value))
        moved = max(abs(t[k] - here[0]) / half[0], abs(g[k] - here[1]) / half[1]) > 0.9
        if value[k] > best:
            best, here = float(value[k]), np.array([t[k], g[k]])
        if not moved:
            half = half / 3
    return float(np.exp(here[0])), float(np.exp(here[1])), best


def stalls(parts: Parts, tau: float, sharp: float, value: float) -> bool:
    """Whether a simplex climbs away from a point: grids along the axes stall on a thin slanting ridge."""
    if not (0 < tau < 10 and 0 < sharp < np.inf):
        return False
    span = _span(parts)

    def minus(z: np.ndarray) -> float:
        t, g = np.exp([min(z[0], np.log(10.0))]), np.exp([z[1]]) / span
        return -float(sum(np.array(c) @ ref.log_table(ref.tqre(lk.game(name), t, g)) for name, c in parts)[0])

    here, best = np.log([tau, sharp]), -value
    for _ in range(4):
        end = minimize(minus, here, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxfev": 1000})
        if end.fun > best - 1e-9:
            break
        here, best = end.x, end.fun
    return bool(-best > value + 1e-3 and np.abs(here - np.log([tau, sharp])).max() > 0.02)


def _line(parts: Parts) -> list[tuple[float, float, float]]:
    """Local maxima at infinite precision: tau, infinity, log-likelihood."""
    tau = np.concatenate([[0.0], np.geomspace(0.01, 10, 4000)])
    value = sum(np.array(c) @ ref.log_table(ref.tqre(lk.game(n), tau, np.full(len(tau), np.inf))) for n, c in parts)
    inner = (value[1:-1] >= value[:-2]) & (value[1:-1] >= value[2:])
    return [(float(tau[k]), np.inf, float(value[k])) for k in np.flatnonzero(inner) + 1]


def second_look(parts: Parts, surface: np.ndarray, said: Sequence[tuple[float, float, float]]) -> set[str]:
    """The statuses allowed when every peak of the grid, and every optimum the fit speaks of, has been refined.

    Grids part one narrow mode into several, and miss modes narrower than a step. said: the fit's optima (tau, gamma per
    payoff range, log-likelihood), which count only if they turn out to be optima.
    """
    first = verdict(surface)
    if first == {"flat"}:
        return first
    ends = _line(parts)
    starts = [(TAU[i], SHARP[j]) for i, j in (divmod(n, len(SHARP)) for n, _ in modes(surface, surface.max() - 1)[:16])]
    for tau, sharp in [*starts, *((t, g) for t, g, _ in said)]:
        if tau > 0 and 0 < sharp < np.inf:
            ends.append(refine(parts, tau, sharp))
    top = max(surface.max(), max(v for *_, v in ends), *(v for *_, v in said))
    near = [e for e in ends if e[2] >= top - 0.05 or (e[2] >= top - DROP and not stalls(parts, *e))]
    allowed = {"flat"} & first
    # what may be the best optimum: refining stops a little short of it where the likelihood jumps
    for best in [e for e in near if e[2] >= top - 0.05]:
        at_end = best[0] > 10 * (1 - 1e-6) or best[1] >= SHARP[-2]
        away = [
            e
            for e in near
            if max(abs(np.log(max(e[k], 1e-9) / max(best[k], 1e-9))) for k in (0, 1) if np.isfinite(e[k] + best[k]))
            > 0.05
        ]
        allowed.add("boundary" if at_end else "multimodal" if away else "ok")
    return allowed or first


def _draw(rng: np.random.Generator, name: str, tau: float, gamma: float, n: int) -> tuple[float, ...]:
    play = ref.tqre(lk.game(name), tau, gamma)
    return tuple(np.concatenate([rng.multinomial(n, p[:, 0]) for p in play]).astype(float))


def cells(grids: Grids, each: int = EACH) -> list[Cell]:
    """`each` units of each kind; a thousand by default."""
    rng = np.random.default_rng(1995)
    out = []
    for _ in range(each):
        at = rng.uniform(0.8, 2.2), rng.uniform(0.15, 0.5)
        out.append(Cell("interior", tuple((name, _draw(rng, name, *at, 3000)) for name in POOLED)))
    for i in range(0, EACH, EACH // each):
        name, profile, n = SQUARE[i % 6], (i // 6) % 9, (5, 10, 20, 40)[(i // 54) % 4]
        counts = np.zeros(6)
        counts[profile // 3] = counts[3 + profile % 3] = n
        out.append(Cell("all the same", ((name, tuple(counts)),)))
    for i in range(each):
        out.append(Cell("uniform", ((SQUARE[i % 6], (float(1 + i // 6),) * 6),)))
    while len(out) < 4 * each:
        name, n = SMALL[len(out) % 4], int(rng.integers(15, 300))
        counts = rng.binomial(n, rng.uniform(0.05, 0.95, 2))
        pairs = tuple(float(v) for c in counts for v in (c, n - c))
        if 0 < sum(pairs[::2]) < 2 * n:
            out.append(Cell("2x2 ridge", ((name, pairs),)))
    while len(out) < 5 * each:
        name = SQUARE[int(rng.integers(6))]
        counts = _draw(rng, name, rng.uniform(0.5, 4), rng.uniform(1, 12) / lk.game(name).payoff_range, 60)
        surface = grids.surface(((name, counts),))
        # kept if the grid shows two modes clearly, away from limits and with profile sets that end
        if verdict(surface) == {"multimodal"} and modes(surface, surface.max())[1][1] > 0.1:
            out.append(Cell("two optima", ((name, counts),)))
    return out


def fit(units: list[Cell]) -> lk.Fits:
    """All units in one fit."""
    names = [name for unit in units for name, _ in unit.parts]
    games = {name: lk.game(name) for name in dict.fromkeys(names)}
    width = max(g.n_counts for g in games.values())
    counts = [np.pad(c, (0, width - len(c))) for unit in units for _, c in unit.parts]
    number = [i for i, unit in enumerate(units) for _ in unit.parts]
    frame = pd.DataFrame({"cell": number, "game": names})
    return lk.fit(
        lk.Choices.from_counts(frame, np.array(counts, float), games),
        lk.TQRE(),
        by="cell",
        intervals=False,
        sensitivity=False,
    )


def optima(fits: lk.Fits, i: int, unit: Cell) -> list[tuple[float, float, float]]:
    """What the fit calls optima of one unit, best first: tau, gamma per payoff range, log-likelihood."""
    result, span = fits.result, _span(unit.parts)
    u = fits.representative[i]
    mine = np.flatnonzero(result.rival_unit == u)
    best = fits.sub_of_row[fits.rows.owner == i][0]
    points = [(*result.params[:, best], result.value[u])]
    points += [(*result.rival_params[:, k], result.rival_value[k]) for k in mine]
    return [(float(t), float(g) * span, float(v)) for t, g, v in points]


def study(each: int = EACH) -> pd.DataFrame:
    """One row per unit, `each` of a kind: kind, planted status, what was said, and what the grid allows."""
    grids = Grids()
    units = cells(grids, each)
    fits = fit(units)
    loglik = fits.stats()["loglik"]
    rows = []
    for i, unit in enumerate(units):
        surface, said = grids.surface(unit.parts), str(fits.status[i])
        off = said != PLANTED[unit.kind]
        rows.append(
            {
                "kind": unit.kind,
                "planted": PLANTED[unit.kind],
                "said": said,
                "grid": second_look(unit.parts, surface, optima(fits, i, unit)) if off else verdict(surface),
                "short": float(surface.max() - loglik[i]),
                "unit": unit,
            }
        )
    return pd.DataFrame(rows)


def table(result: pd.DataFrame) -> str:
    """Planted kind by what was said, with the grid's view of what is off the diagonal."""
    counts = pd.crosstab(result["kind"], result["said"]).reindex(index=KINDS, columns=WORDS, fill_value=0)
    counts.insert(0, "planted", [PLANTED[k] for k in KINDS])
    off = result[result["said"] != result["planted"]]
    excused = sum(row.said in row.grid for row in off.itertuples())
    lines = [counts.to_string(), f"off the diagonal: {len(off)}, of which the grid agrees with the fit in {excused}"]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(study()))
