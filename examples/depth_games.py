"""What levels do in the games of depth, and what could be had in them at best."""

import levelkit as lk

ring = lk.depth.sequence("ring", depth=12)
print(ring.actions, ring.k_max, ring.period)
print(sorted(lk.depth.best_responses("ring", 10)), sorted(lk.depth.best_responses("ring", 13, 10)))
print(lk.depth.anchor_report("nash")[["rule", "anchor", "k_max"]].to_string(index=False))
top = lk.depth.ceiling(lam=[3.0, 10.0], simulations=2000)
kept = top[top["counted"]]
columns = ["identified", "plugin", "empirical", "aligned"]
print((100 * kept.groupby(["game", "lambda"], sort=False)[columns].mean()).round(1).to_string())
