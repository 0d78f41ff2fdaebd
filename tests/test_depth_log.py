"""A log of 12,800 trials with planted behaviour: what was planted comes out, with intervals that hold it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import levelkit as lk
from levelkit.depth.agents import AGENTS, PLAN
from levelkit.depth.estimates import trial_choices
from levelkit.depth.summaries import POOLED, summarise
from levelkit.depth.trials import read_trials
from levelkit.errors import DataError, UsageError
from levelkit.report import depthpage, depthtext
from levelkit.report.plots import depth as figures


@pytest.fixture(scope="module")
def log():
    return lk.depth.simulate_log(seed=11)


@pytest.fixture(scope="module")
def trials(log):
    return read_trials(log.records)


@pytest.fixture(scope="module")
def proper(trials):
    return summarise(trials, replicates=500)


@pytest.fixture(scope="module")
def published(trials):
    return summarise(trials, convention="published", replicates=500)


def test_the_design_is_the_studys(log, trials, published):
    assert len(log.records) == len(trials) == 12_800
    every = published.exclusion.set_index("scope").loc[POOLED]
    assert every["n_including"] == 12_800 - 13
    assert every["n_including"] - every["n_excluding"] == every["excluded"]
    assert 320 - 13 <= every["excluded"] <= 320, "320, but for lost ones"


def test_every_planted_share_of_behaviour_is_inside_its_interval(proper):
    told = proper.behaviours
    assert len(told) == len(PLAN) * len(AGENTS)
    assert set(told["status"]) == {"ok"}
    planted = np.array([PLAN[m][b] for m, b in zip(told["model"], told["behaviour"], strict=True)])
    assert ((told["low"] <= planted) & (planted <= told["high"])).all()
    assert (told["share"] - planted).abs().max() < 0.015
    assert (told["high"] - told["low"]).max() < 0.09


def test_planted_rates_of_the_log_are_inside_their_intervals(log, proper):
    """Rates that the plan fixes: agents who iterate or extrapolate in recursive games where both are right."""
    scored = proper.scored.merge(log.planted, on=["trial_id", "model"])
    rows = proper.accuracy.set_index(["model", "game", "condition"])
    for model, plan in PLAN.items():
        row = rows.loc[(model, "m1120", "recursive")]
        right = plan["accurate"] + plan["extrapolating"] + plan["maximising"] + plan["random"] / 21
        assert row["low"] <= right <= row["high"]
        mine = scored[(scored["model"] == model) & (scored["game"] == "m1120") & (scored["condition"] == "recursive")]
        assert row["n"] == 200 - mine["lost"].sum()
    rates = proper.rates.set_index(["model", "rate"])
    low, high = rates.loc[(POOLED, "grounded"), ["low", "high"]]
    assert low <= 0.95 <= high
    mental = scored[scored["counted_proper"] & scored["mentalizing"].notna()]
    split = mental.groupby(mental["accurate"].astype(bool))["mentalizing"].agg(["sum", "size"])
    for truth, planted in ((True, 0.5), (False, 0.25)):
        x, n = split.loc[truth]
        assert abs(x / n - planted) < 3 * np.sqrt(planted * (1 - planted) / n)


def test_each_agent_is_scored_as_what_it_is(log, proper):
    scored = proper.scored.merge(log.planted, on=["trial_id", "model"])
    alive = scored[~scored["lost"]]
    by = {name: alive[alive["agent"] == name] for name in AGENTS}
    assert by["accurate"]["accurate"].all()
    assert by["accurate"].loc[by["accurate"]["counted"], "within_one"].all()
    short = by["one short"]
    assert (short["one_short"] | (short["k_b_status"] == "ambiguous")).all()
    assert by["extrapolating"]["extrapolated"].all()
    ring = by["extrapolating"][(by["extrapolating"]["game"] == "ring") & (by["extrapolating"]["k_target"] >= 4)]
    assert not ring["accurate"].any()
    payers = by["maximising"]
    assert payers.loc[payers["condition"] == "inductive", "eu_consistent"].all()
    assert (payers.loc[payers["condition"] == "inductive", "eu_regret"] < 1e-9).all()
    assert payers.loc[payers["condition"] == "inductive", "br_support"].all()
    assert payers.loc[payers["condition"] == "recursive", "accurate"].all()


def test_accuracy_stands_beside_its_ceilings(proper):
    table = proper.accuracy[(proper.accuracy["game"] == POOLED) & (proper.accuracy["condition"] == "inductive")]
    assert (table["low"] <= table["accuracy"]).all()
    assert (table["accuracy"] <= table["high"]).all()
    at = table.set_index(["model", "lambda"])
    assert at.loc[("agent-a", 10.0), "ceiling"] == pytest.approx(1.0)
    assert at.loc[("agent-c", 3.0), "payoff_consistent"] > 0.6, "a payoff maximiser"
    assert at.loc[("agent-c", 3.0), "accuracy"] < 0.35 < 0.8 < at.loc[("agent-c", 3.0), "ceiling"]


def test_chains_of_those_who_stop_one_short(proper):
    own = proper.chains.set_index(["model", "k_target"])
    assert own.loc[("agent-b", 8), "length"] < own.loc[("agent-a", 8), "length"] < 8
    assert (own["per_step"].dropna() > 0.9).all()
    assert own.loc[("agent-a", 1), "steps"] == 0


def test_the_conventions_differ_as_said(proper, published):
    inductive = published.mentalizing.set_index("model")["n"] - proper.mentalizing.set_index("model")["n"]
    assert inductive[POOLED] == pytest.approx(4 * 300 - 2, abs=15), "k = 1 (240 a model) and the Ring's k = 10 (60)"
    deep = lambda s: s.signals.query("signal == 'k_b' and k_target == 10 and model == 'agent-c' and `lambda` == 10")  # noqa: E731
    assert deep(proper)["n"].iloc[0] < deep(published)["n"].iloc[0], "aliases of level 11 are left out"


def test_text_and_page_hold_the_tables(proper):
    text = depthtext.text(proper)
    assert max(map(len, text.splitlines())) <= 130
    for words in ("12,800 trials", "agent-d", "Mantel-Haenszel", "extrapolating", "pays best", "ceiling"):
        assert words in text
    page = depthpage.page(proper)
    assert page.count("<svg") == 3
    assert "Proper convention" in page
    assert "http" not in page.split("</style>")[1].replace("http-equiv", "")
    assert page == depthpage.page(proper), "the same to the byte"


def test_figures_follow_the_data(proper):
    figure = figures.inductive_signals(proper)
    assert len(figure.axes) == 12
    assert figures.recursive_signals(proper) is not None
    assert len(figures.chains(proper).axes) == 8


def test_a_log_of_one_condition_has_no_empty_figures(log):
    only = [r for r in log.records if r["condition"] == "recursive" and r["game"] == "nash" and r["model"] == "agent-a"]
    found = summarise(read_trials(only), replicates=100)
    assert figures.inductive_signals(found) is None
    assert "ind." not in depthtext.text(found).split("\n")[3]
    assert depthpage.page(found).count("<svg") == 2


def test_behaviours_that_cannot_be_told_apart_have_no_share(log):
    only = [r for r in log.records if r["game"] == "m1120" and r["condition"] == "recursive" and r["k_target"] == 3]
    told = lk.depth.behaviours(only, replicates=20)
    assert set(told["status"]) == {"flat"}, "arithmetic and iteration do the same there"
    assert told["share"].isna().all()


def test_counts_for_estimation(trials):
    choices = trial_choices(trials, "anchor", condition="recursive")
    scored = lk.depth.score(trials)
    mine = scored[(scored["condition"] == "recursive") & (scored["status"] != "api_error")]
    assert choices.counts.sum() + choices.no_choice.sum() == len(mine)
    assert choices.no_choice.sum() == (mine["action_status"] != "ok").sum()
    assert choices.game_of(0).level0[0].argmax() == 20
    assert trial_choices(trials, "uniform").game_of(0).level0 == (None, None)
    assert "anchor" in choices.problems.text()


def test_level_mixtures_by_the_general_model(log):
    """agent-b stops one short in 55% of trials at k = 5, and iterates or does what amounts to it in 35%."""
    only = [r for r in log.records if r["model"] == "agent-b" and r["condition"] == "recursive" and r["k_target"] == 5]
    told = lk.depth.estimate(read_trials(only), lk.LevelK(levels=6), ()).frame().set_index("parameter")
    assert told.loc["eps", "n"] == pytest.approx(80, abs=6)
    four, five = told.loc["share_4"], told.loc["share_5"]
    assert four["low"] < 0.55 / 0.95 < four["high"]
    assert four["estimate"] > five["estimate"] > 0.2
    assert told["estimate"].drop(["share_4", "share_5", "eps"]).max() < 0.1


def test_tqre_recovers_what_drew_the_choices():
    rng = np.random.default_rng(2)
    games = ["m1120", "nash", "ring"]
    model, truth = lk.TQRE(levels=10), {"tau": 2.0, "gamma": 1.2}
    records = []
    for game in games:
        own = lk.game(game)
        law = model.predict(own, tau=truth["tau"], gamma=truth["gamma"] * 10 / own.payoff_range)["player 1"]
        for rep, place in enumerate(rng.choice(len(law), size=400, p=law)):
            head = {"schema": "levelk-trial/1", "trial_id": f"{game}{rep}", "model": "m", "game": game, "rep": rep}
            rest = {"condition": "recursive", "k_target": 1, "lambda": None, "status": "ok"}
            records.append({**head, **rest, "action": int(own.actions[0][place])})
    told = lk.depth.estimate(read_trials(records), "tqre", ()).frame().set_index("parameter")
    assert told.loc["tau", "low"] <= 2.0 <= told.loc["tau", "high"]
    assert told.loc["gamma", "low"] <= 12.0 <= told.loc["gamma", "high"]
    assert set(told["unit"]) == {"levels", "1/range"}


def test_shares_that_a_game_does_not_identify_are_refused(trials):
    only = read_trials([r for r in trials.records if r["game"] == "allpay" and r["k_target"] == 2])
    with pytest.raises(UsageError, match=r"allpay alone: .* rank 11 of 12 types, shares are NOT identified"):
        lk.depth.estimate(only, "level-k", ())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lk.depth.simulate_log({"m": {"accurate": 0.33, "random": 0.67}}), "cannot be divided by the shares"),
        (lambda: lk.depth.simulate_log({"m": {"lazy": 1.0}}), "there is no agent 'lazy'"),
        (lambda: summarise(read_trials([])), "no trial can be scored"),
        (lambda: trial_choices(read_trials([]), "nash"), "choose anchor or uniform"),
        (lambda: trial_choices(read_trials([])), "no trial of condition 'recursive'"),
    ],
)
def test_mistakes_are_told(call, words):
    with pytest.raises((UsageError, DataError), match=words):
        call()


def test_options_are_checked(trials):
    for options, words in (
        ({"convention": "mine"}, "choose published or proper"),
        ({"interval": "exact"}, "choose wilson"),
    ):
        with pytest.raises(UsageError, match=words):
            summarise(trials, **options)
    with pytest.raises(UsageError, match="no column of scored trials"):
        lk.depth.behaviours(trials, by=["colour"])


def test_scored_frame_has_true_types(trials):
    frame = lk.depth.score(trials)
    assert isinstance(frame["accurate"].dtype, pd.BooleanDtype)
    assert isinstance(frame["k_b"].dtype, pd.Int64Dtype)
    assert isinstance(frame["action"].iloc[0], int)


def line(**changes) -> dict:
    head = {"schema": "levelk-trial/1", "trial_id": "t", "model": "m", "game": "nash", "condition": "recursive"}
    return {**head, "k_target": 2, "lambda": None, "rep": 0, "status": "ok", "action": 18, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"action": None, "status": "refusal"},
        {"condition": "inductive", "lambda": 3.0},
        {"game": "letters", "action": "c"},
    ],
)
def test_logs_of_one_trial_give_all_tables(changes):
    letters = lk.Game.symmetric("letters", np.roll(np.eye(12), 1, axis=0), actions=list("abcdefghijkl"), level0="a")
    found = summarise(read_trials([line(**changes)], [letters]), replicates=10)
    assert "1 trials" in depthtext.text(found)
    assert depthpage.page(found).endswith("</html>\n")
    assert depthtext.record(found)["trials"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "api_error", "action": None},
        {"game": "ring", "k_target": 10, "action": 20},
        {"condition": "inductive", "lambda": 3.0, "k_target": 1},
    ],
)
def test_logs_in_which_nothing_counts_are_refused_with_the_reason(changes):
    with pytest.raises(DataError, match="none of 1 trials counts under the proper convention"):
        summarise(read_trials([line(**changes)]), replicates=10)
