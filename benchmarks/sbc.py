"""Are posteriors calibrated? Ranks of the truth among posterior draws, over data sets made from the prior.

    python benchmarks/sbc.py [--sets 500] [--hierarchical 0]

TQRE, exact posteriors: one cell of one game (20 choices a player), and three games pooled. With --hierarchical N also N
data sets of six units with tau and gamma partially pooled over them, by NUTS, compiled once for all data sets; the
first two are also run by `levelkit.posterior`, which must give the same distribution. A calibrated posterior gives
uniform ranks: twenty bins are compared by chi-square. Prints a table, and draws the histograms into
benchmarks/results/sbc.svg; results/sbc.csv keeps the table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from scipy import stats

import levelkit as lk
from levelkit.inference import bayes, collapsed, hierarchy, likelihood, priors, sampling
from levelkit.inference.exact import Posteriors
from levelkit.report.plots import style as st

RESULTS = Path(__file__).parent / "results"
PRIOR = {"tau": "lognormal(0.4, 0.5)", "gamma": "lognormal(0.5, 0.8)"}
SINGLE = ("competitive_base",)
POOLED = ("competitive_base", "competitive_high_stake", "sw94_8")
DRAWS, BINS, UNITS, N = 199, 20, 6, 20
KEPT = 500  # draws of each chain, and as many of warm-up


def choices(games: tuple[str, ...], tau: np.ndarray, gamma: np.ndarray, rng: np.random.Generator) -> lk.Choices:
    """N choices a player in each game at each (tau, gamma per payoff range)."""
    known = {name: lk.game(name) for name in games}
    counts, rows = [], []
    for s, (t, g) in enumerate(zip(tau, gamma, strict=True)):
        for name, game in known.items():
            play = lk.TQRE(tau_max=60.0).predict(game, tau=float(t), gamma=float(g) / game.payoff_range)
            counts.append(np.concatenate([rng.multinomial(N, p / p.sum()) for p in play.values()]))
            rows.append({"set": s, "game": name})
    width = max(len(c) for c in counts)
    padded = np.array([np.pad(c, (0, width - len(c))) for c in counts], float)
    return lk.Choices.from_counts(pd.DataFrame(rows), padded, known)


def exact(games: tuple[str, ...], sets: int, seed: int) -> dict[str, np.ndarray]:
    """Ranks 0..DRAWS of the truth by parameter."""
    rng = np.random.default_rng(seed)
    chosen = priors.chosen(lk.TQRE(), PRIOR)
    truth = {name: priors.draw(chosen[name], sets, rng) for name in ("tau", "gamma")}
    made = choices(games, truth["tau"], truth["gamma"], rng)
    post = lk.posterior(
        made, lk.TQRE(), by="set", prior=PRIOR, scale="range", draws=DRAWS, chains=1, seed=seed, tolerance=1e-2
    )
    return {name: (post.draws(name) < truth[name][:, None]).sum(axis=1) for name in truth}


def pooled(sets: int, seed: int) -> dict[str, np.ndarray]:
    """Ranks of typical values, spreads and the first unit's parameters, from thinned chains."""
    found: dict[str, list[int]] = {}
    chosen = priors.chosen(lk.TQRE(), PRIOR)
    program: Sampler | None = None
    for s in range(sets):
        rng = np.random.default_rng([seed, s])
        truth, unit = {}, {}
        for name in ("tau", "gamma"):
            typical, spread = float(priors.draw(chosen[name], 1, rng)[0]), abs(rng.normal(0, hierarchy.SPREAD))
            truth |= {f"{name}_typical": typical, f"{name}_sd_set": spread}
            unit[name] = typical * np.exp(spread * rng.normal(size=UNITS))
        made = choices(SINGLE, unit["tau"], unit["gamma"], rng)
        cells = likelihood.group(made, ["set"])
        bound = Posteriors.of(likelihood.Likelihood(lk.TQRE(), cells, "range"), chosen, {})
        program = program or Sampler(cells.keys, chosen)
        draws = program.draws(bound, seed=s)
        if s < 2:
            post = lk.posterior(
                made, lk.TQRE(), pool="set", prior=PRIOR, scale="range", draws=KEPT, warmup=KEPT, chains=2, seed=s
            )
            for name in ("tau", "gamma"):
                same = stats.ks_2samp(post.draws(name)[0, ::5], draws[name][::5]).pvalue
                if same < 1e-3:
                    raise SystemExit(f"data set {s}: {name} of the first unit differs from levelkit.posterior's")
        for name, value in (truth | {f"{name}_unit": unit[name][0] for name in unit}).items():
            own = draws[name.removesuffix("_unit")]
            thin = own[:: len(own) // DRAWS][:DRAWS]
            found.setdefault(name, []).append(int((thin < value).sum()))
        print(f"  hierarchical {s + 1} of {sets}", end="\r", flush=True)
    print()
    return {name: np.array(ranks) for name, ranks in found.items()}


class Sampler:
    """NUTS on the population's model, with the units' tables as an argument, so that it is compiled once."""

    def __init__(self, keys: pd.DataFrame, chosen: Mapping[str, Any]) -> None:
        parameters = lk.TQRE().parameters
        self.structures = [hierarchy.structure(p, chosen[p.name], keys, (), ("set",)) for p in parameters]
        self.run = sampling.Run(draws=KEPT, warmup=KEPT, chains=2)
        self.chains = jax.jit(self._chains, static_argnums=0)

    def _chains(self, nodes: tuple[tuple[float, ...], ...], values: jax.Array, keys: jax.Array) -> dict[str, jax.Array]:
        kernel = sampling.nuts(
            hierarchy.integrated(self.structures, collapsed.Tables(tuple(map(np.array, nodes)), values)),
            self.run.accept,
        )
        state = kernel.init(keys, self.run.warmup, None, (), {})

        def step(state: Any, _: Any) -> tuple[Any, Any]:
            state = kernel.sample(state, (), {})
            return state, state.z

        _, z = jax.lax.scan(step, state, None, length=self.run.warmup + self.run.draws)
        kept = jax.tree.map(lambda a: jnp.moveaxis(a[self.run.warmup :], 0, 1), z)
        return dict(jax.vmap(jax.vmap(kernel.postprocess_fn((), {})))(kept))

    def draws(self, bound: Posteriors, seed: int) -> dict[str, np.ndarray]:
        """Draws of the population's parameters, and of the first unit's."""
        tables = collapsed.tables(bound)
        keys = jax.random.split(jax.random.PRNGKey(seed), self.run.chains)
        nodes = tuple(tuple(line.tolist()) for line in tables.nodes)
        drawn = {k: np.asarray(v) for k, v in self.chains(nodes, jnp.asarray(tables.values), keys).items()}
        full = bayes.units_given(bound, self.structures, tables, drawn, seed)
        own = {p.name: full[i, 0] for i, p in enumerate(lk.TQRE().parameters)}
        return {k: v.ravel() for k, v in drawn.items() if v[0, 0].size == 1} | own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--hierarchical", type=int, default=0)
    options = parser.parse_args()
    jobs = {
        "single cell": lambda: exact(SINGLE, options.sets, 1),
        "three games pooled": lambda: exact(POOLED, options.sets, 2),
    }
    if options.hierarchical:
        jobs["hierarchical"] = lambda: pooled(options.hierarchical, 3)
    rows, ranks = [], {}
    for name, job in jobs.items():
        start = time.perf_counter()
        for parameter, own in job().items():
            seen = np.bincount(own * BINS // (DRAWS + 1), minlength=BINS)
            ranks[name, parameter] = seen
            p = stats.chisquare(seen).pvalue
            rows.append({"posterior": name, "parameter": parameter, "data_sets": len(own), "chi2_p": p})
        rows[-1]["seconds"] = time.perf_counter() - start
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format=lambda v: f"{v:.3f}"))
    table.to_csv(RESULTS / "sbc.csv", index=False, lineterminator="\n", float_format="%.4g")
    with st.style():
        columns = max(2, (len(ranks) + 1) // 2)
        figure = st.new_figure(2.6 * columns, 4.0)
        for axes, ((name, parameter), seen) in zip(figure.subplots(2, columns).ravel(), ranks.items(), strict=False):
            low, high = stats.binom(seen.sum(), 1 / BINS).ppf([0.005, 0.995])
            axes.axhspan(low, high, color=st.LIGHT, zorder=0)
            axes.bar(np.arange(BINS), seen, width=0.9, color=st.BLUE)
            axes.set_title(f"{name}: {parameter}")
            axes.set_xlabel("rank of the truth (20 bins)")
    st.save(figure, RESULTS / "sbc.svg")


if __name__ == "__main__":
    main()
