"""One self-contained HTML page about a trial log: tables and figures, what they mean and what they leave out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from levelkit.depth.summaries import HEADLINE_LAMBDA, Summary
from levelkit.report import depthtext, words
from levelkit.report.html import render, svg
from levelkit.report.plots import depth as figures

PROPER = (
    "Proper convention: inductive trials at k = 1, whose opponents play at random, are left out; so are ambiguous "
    "targets, from every table; a stated belief is looked up to the deepest level that the game tells apart; at k = 10 "
    "actions that one level too many would take as well are left out of the mean depth; within one counts every depth "
    "that an action matches."
)
PUBLISHED = (
    "Published convention: as Zhang and Sarkar (2026) compute. Inductive trials at k = 1 count although their "
    "opponents play at random; the mentalizing table counts ambiguous Ring trials, the others do not."
)
SIGNALS = (
    "Dashed: the target. Bars: 95% intervals from the wider of the ordinary and the cell-clustered standard error. "
    "Unresolved signals are left out, so agreement is an upper estimate."
)
HEADLINE = (
    f"Exact accuracy, and within one level in brackets, per cent; inductive at λ = {HEADLINE_LAMBDA:g} where the log "
    "has it. Intervals and sample sizes stand in the next table."
)
CEILINGS = (
    "A low level accuracy is no failure to reason where the scored action is not what pays: compare it with the "
    "ceiling and with what a payoff maximiser would score."
)
MIXED = (
    "Inductive trials whose transcript says that the opponent reasons about the player. Pooled accuracies mix easy and "
    "hard cells; the Mantel-Haenszel difference compares within cells."
)
RULES = (
    "Shares of rules that may lead to the same action, estimated together over all trials with an action; flat: the "
    "rules cannot be told apart in these trials."
)


def page(found: Summary, title: str = "") -> str:
    """The page as text; the same for the same log and versions."""
    return render(
        "depth.html.j2",
        title=title or "Depth of reasoning: scored trials",
        facts=list(_facts(found)),
        blocks=list(_blocks(found)),
        set_aside=found.trials.problems.text(),
    )


def _facts(found: Summary) -> Iterable[tuple[str, str]]:
    scored = found.scored
    kept = scored["counted" if found.convention == "published" else "counted_proper"]
    yield "Trials", f"{len(scored):,} scored, {int(kept.sum()):,} counted, {found.trials.lines_read:,} lines read"
    yield "Models", ", ".join(words.plain(m) for m in dict.fromkeys(scored["model"]))
    yield "Games", ", ".join(dict.fromkeys(scored["game"]))
    lams = sorted(set(scored["lambda"].dropna()))
    told = ", ".join(dict.fromkeys(scored["condition"]))
    yield "Conditions", told + (f"; λ = {', '.join(f'{v:g}' for v in lams)}" if lams else "")
    scales = sorted(set(scored["payoff_scale"].dropna()))
    if scales:
        yield "Payoff scale of histories", ", ".join(scales)
    yield "Convention", PUBLISHED if found.convention == "published" else PROPER
    wider = f"{100 * found.level:g}%: {found.interval}, or the bootstrap of whole cells where that is wider; per cent"
    yield "Intervals", wider


def _block(
    heading: str,
    texts: Sequence[str] = (),
    table: tuple[list[str], list[list[str]]] | None = None,
    left: int = 1,
    figure: Any = None,
    caption: str = "",
    explained: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    head, rows = table or ([], [])
    drawn = svg(figure, heading.split()[0].lower() + str(len(heading)), heading) if figure is not None else None
    return {
        "heading": heading,
        "texts": texts,
        "head": head,
        "rows": rows,
        "left": left,
        "figure": drawn,
        "caption": caption,
        "explained": list(explained),
    }


def _blocks(found: Summary) -> Iterable[dict[str, Any]]:
    yield _block("Reaching the target depth", [HEADLINE], depthtext.pivot(found))
    yield _block(
        "Accuracy beside what could be had",
        [CEILINGS],
        depthtext.accuracy_rows(found.accuracy),
        left=3,
        explained=depthtext.EXPLAINED.items(),
    )
    for heading, figure in (
        ("Depth of action and belief, recursive", figures.recursive_signals(found)),
        ("Depth of action and belief, inductive", figures.inductive_signals(found)),
    ):
        if figure is not None:
            yield _block(heading, figure=figure, caption=SIGNALS)
    chains = figures.chains(found)
    if chains is not None:
        yield _block(
            "Written chains",
            table=_chains(found),
            figure=chains,
            caption="Share of adjacent steps that are best replies, and mean length of the run. Not joined between "
            "depths 4 and 5, where the description of opponents changes form.",
        )
    yield _block("Belief against action", ["Trials in which both signals resolve."], _agreement(found), left=2)
    yield _block("Shares with both intervals", table=depthtext.rate_rows(found.rates), left=2)
    if len(found.mentalizing):
        yield _block("Mentalizing", [MIXED], depthtext.mentalizing_rows(found.mentalizing))
    if len(found.exclusion):
        yield _block("What leaving out ambiguous targets does", table=depthtext.exclusion_rows(found.exclusion))
    yield _block("Rules of behaviour", [RULES], depthtext.behaviour_rows(found.behaviours), left=2)
    health = found.health
    yield _block("How the trials ended", table=(list(health.columns), [[str(v) for v in r] for r in health.to_numpy()]))


def _chains(found: Summary) -> tuple[list[str], list[list[str]]]:
    head = [
        "model",
        "k",
        "n",
        "steps",
        "right, pooled",
        "interval",
        "mean of trials",
        "length",
        "repeats",
        "own action",
    ]
    rows = [
        [
            words.plain(r["model"]),
            str(r["k_target"]),
            f"{r['n']:,}",
            f"{r['steps']:,}",
            depthtext.percent(r["per_step"]),
            depthtext.between(r["low"], r["high"]),
            depthtext.percent(r["per_step_mean"]),
            f"{r['length']:.2f}",
            depthtext.percent(r["repeats"]),
            depthtext.percent(r["own_action"]),
        ]
        for r in found.chains.to_dict("records")
    ]
    return head, rows


def _agreement(found: Summary) -> tuple[list[str], list[list[str]]]:
    head = ["model", "condition", "n", "both resolve", "equal", "belief deeper", "action deeper"]
    shares = ("resolved", "equal", "belief_deeper", "action_deeper")
    rows = [
        [words.plain(r["model"]), r["condition"], f"{r['n']:,}", *(depthtext.percent(r[c]) for c in shares)]
        for r in found.agreement.to_dict("records")
    ]
    return head, rows
