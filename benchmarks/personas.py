"""Regressions on personas when the truth is known: how often a feature that does nothing gets a star, and how often one
that matters does.

105 personas play one 3x3 game 15 times in each role; log tau is log 1.5 plus the effect of one feature of ten, gamma is
4 per payoff range. Two-step least squares, its weighted form, the bootstrap of personas and the one-step model see the
same choices.

    python benchmarks/personas.py [--sets 200] [--game competitive_base] [--plays 15]

false: share of tests at 5% that reject for the nine features without effect. power: share that reject for the one with
it. covered: share of 95% one-step intervals that hold its planted value. left out: personas without an estimate of tau.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import levelkit as lk

PERSONAS, FEATURES = 105, 10
EFFECTS = (0.0, 0.3)


def data(game: lk.Game, effect: float, plays: int, rng: np.random.Generator) -> tuple[lk.Choices, pd.DataFrame]:
    """Choices of all personas and their features, of which the first has the effect."""
    x = rng.integers(0, 2, (PERSONAS, FEATURES))
    rows = []
    for kind in (0, 1):
        p = lk.TQRE().predict(game, tau=1.5 * np.exp(effect * kind), gamma=4 / game.payoff_range)
        rows.append([np.asarray(v) / np.sum(v) for v in p.values()])
    counts = [np.concatenate([rng.multinomial(plays, p) for p in rows[kind]]) for kind in x[:, 0]]
    cells = pd.DataFrame({"persona": range(PERSONAS), "game": game.name})
    choices = lk.Choices.from_counts(cells, np.array(counts, float), {game.name: game})
    features = pd.DataFrame(x, columns=[f"x{k}" for k in range(FEATURES)])
    return choices, features.assign(persona=range(PERSONAS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--game", default="competitive_base")
    parser.add_argument("--plays", type=int, default=15)
    options = parser.parse_args()
    game, formula = lk.game(options.game), "tau ~ " + " + ".join(f"x{k}" for k in range(FEATURES))
    print(
        f"{options.game}, {options.plays} plays a role, {PERSONAS} personas, {options.sets} data sets for each effect"
    )
    print(f"{'effect':>6}  {'method':<10}{'false':>7}{'power':>7}{'told':>7}{'covered':>9}{'left out':>10}")
    for effect in EFFECTS:
        frames, lost = [], []
        for number in range(options.sets):
            choices, features = data(game, effect, options.plays, np.random.default_rng([7, number]))
            fits = lk.fit(choices, lk.TQRE(), by="persona", sensitivity=False)
            result = lk.regress(fits, formula, features, force=True, replicates=400, seed=number)
            frames.append(result.frame().assign(number=number))
            lost.append(PERSONAS - result.columns[0].used)
        every = pd.concat(frames)
        every = every[every["term"] != "Intercept"]
        for method, part in every.groupby("method", sort=False):
            first = part[part["term"] == "x0"]
            rest = part if effect == 0 else part[part["term"] != "x0"]
            told = part["p"].notna().mean()
            inside = ((first["low"] <= effect) & (first["high"] >= effect))[first["low"].notna()]
            power = f"{(first['p'] < 0.05).mean():7.3f}" if effect else " " * 7
            shown = f"{inside.mean():9.3f}" if method == "one-step" else " " * 9
            false = (rest["p"].dropna() < 0.05).mean()
            print(f"{effect:6.1f}  {method:<10}{false:7.3f}{power}{told:7.3f}{shown}{np.mean(lost):10.1f}", flush=True)


if __name__ == "__main__":
    main()
