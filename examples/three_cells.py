"""One player in three games: what each game alone can tell, and what they tell together."""

import pandas as pd

import levelkit as lk

counts = {  # game: how often each action was taken, by player
    "competitive_base": {1: [9, 15, 6], 2: [4, 8, 18]},
    "stag_hunt_base": {1: [6, 24]},
    "prisoners_dilemma_base": {1: [9, 21]},
}
rows = [(g, p, a, n) for g, players in counts.items() for p, c in players.items() for a, n in enumerate(c)]
choices = lk.read_choices(pd.DataFrame(rows, columns=["game", "player", "action", "count"]))

columns = ["parameter", "estimate", "low", "high", "status", "n", "unit"]
alone = lk.fit(choices, lk.TQRE(), by="game", scale="range").frame()
print(alone[["game", *columns]].round(2).to_string(index=False))
together = lk.fit(choices, lk.TQRE(), scale="range").frame()
print(together[columns].round(2).to_string(index=False))
