"""`levelkit depth ...`: games that tell levels apart, logs of trials in them, and what could be had at best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from levelkit.cli import output
from levelkit.errors import UsageError

if TYPE_CHECKING:
    from levelkit.depth.trials import Trials
    from levelkit.games import Game

app = typer.Typer(
    name="depth",
    help="Games that tell levels of reasoning apart: check, histories, score, ceiling, estimate, search.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

SHOWN = 10  # levels, where no depth is asked for

Games = Annotated[Path | None, typer.Option(help="Games: .toml, .nfg or a folder; else those that come along.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@app.command("check")
def check(
    game: Annotated[str, typer.Argument(help="A game by name, or a .toml file with certificates.")],
    depth: Annotated[
        int | None, typer.Option(help="Require that levels up to this one all differ; else 10 are shown.")
    ] = None,
    anchor: Annotated[
        str | None, typer.Option(help="What level 0 does: an action, or uniform; else what the game states.")
    ] = None,
    player: Annotated[str, typer.Option(help="Whose levels.")] = "1",
    tie: Annotated[str, typer.Option(help="Of several best replies, the first or the last.")] = "first",
    games: Games = None,
    out: Annotated[Path | None, typer.Option(help="Write to .txt or .json.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Which action each level takes, how deep levels differ, and what may pass for depth.

    Exit status 1 if --depth is given and not reached, or if a certificate does not hold.

    [dim]levelkit depth check ring --depth 9[/dim]
    """
    from levelkit.depth.checks import check as look
    from levelkit.report import depthcheck
    from levelkit.report.files import write_whole
    from levelkit.report.records import dumps

    if out is not None:
        _suffix(out, (".txt", ".json"))
    if depth is not None and depth < 1:
        raise UsageError(f"--depth {depth}: give a level of at least 1")
    if game.lower().endswith(".toml"):
        _verify(Path(game), json)
        return
    found = look(_game(game, games), depth or SHOWN, anchor=_anchor(anchor), player=player, tie=tie)
    text, data = depthcheck.sheet(found), dumps(found.record())
    if out is not None:
        write_whole(out, data if out.suffix.lower() == ".json" else text)
        output.tell(f"wrote {out}")
    output.show(data if json else text)
    raise typer.Exit(0 if depth is None or found.passes else 1)


def _verify(path: Path, json: bool) -> None:
    from levelkit.depth.certificates import faults, read_certificates
    from levelkit.report import depthcheck
    from levelkit.report.records import dumps

    pairs = read_certificates(path)
    if not pairs:
        raise UsageError(f"{path} holds no [[certificate]]; to check a game of it: depth check NAME --games {path}")
    found = [(certificate, faults(certificate, game)) for certificate, game in pairs]
    if json:
        output.show(dumps([{"game": c.game, "holds": not wrong, "faults": wrong} for c, wrong in found]))
    else:
        output.show("".join(depthcheck.certificate_text(c, wrong) for c, wrong in found))
    raise typer.Exit(1 if any(wrong for _, wrong in found) else 0)


def _game(name: str, source: Path | None) -> str | Game:
    if source is None:
        return name
    from levelkit.games import read_games

    known = read_games(source)
    if name not in known:
        raise UsageError(f"there is no game {name!r} in {source}; there are {', '.join(list(known)[:12])}")
    return known[name]


def _anchor(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


@app.command("histories")
def histories(
    games_: Annotated[list[str], typer.Argument(help="Games by name; none for the four of the study.")] = [],  # noqa: B006
    k: Annotated[
        str, typer.Option("--k", help="Target depths, such as 1-10 or 2,5; opponents are one level below.")
    ] = "1-10",
    lam: Annotated[str, typer.Option("--lam", help="Precisions of the opponents.")] = "1,3,10",
    draws: Annotated[int, typer.Option(help="Actions in a history.")] = 30,
    repeats: Annotated[int, typer.Option(help="Histories for each game, depth and precision.")] = 1,
    scale: Annotated[str, typer.Option(help="Payoffs divided by: belief_range, game_range or raw.")] = "belief_range",
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same histories.")] = 0,
    games: Games = None,
    out: Annotated[Path | None, typer.Option(help="Write to .jsonl or .csv.", show_default=False)] = None,
    infer: Annotated[
        Path | None, typer.Option("--infer", help="Instead: which scale was a .jsonl file of histories drawn with?")
    ] = None,
) -> None:
    """Draw what opponents of a level did before, or infer the payoff scale of histories.

    [dim]levelkit depth histories ring --k 2-9 --lam 10 --seed 1 --out ring.jsonl[/dim]
    """
    from levelkit.depth.draws import histories as draw
    from levelkit.depth.draws import infer_scale
    from levelkit.depth.instruments import STUDY_GAMES
    from levelkit.report.files import write_whole

    if out is not None:
        _suffix(out, (".jsonl", ".csv"))
    if infer is not None:
        from levelkit.readers.records import read_records

        output.show(infer_scale([record for _, record in read_records(infer).good]).text)
        return
    chosen = [_game(name, games) for name in games_] or list(STUDY_GAMES)
    frame = draw(chosen, _depths(k), _numbers(lam), draws=draws, repeats=repeats, scale=scale, seed=seed)
    lines = frame.to_json(orient="records", lines=True, force_ascii=False)
    if out is None:
        output.show(lines)
        return
    if out.suffix.lower() == ".csv":
        flat = frame.assign(history=[";".join(map(str, h)) for h in frame["history"]])
        lines = flat.to_csv(index=False, lineterminator="\n")
    write_whole(out, lines)
    output.tell(f"wrote {out}: {len(frame):,} histories")


def _depths(text: str) -> list[int]:
    """1-3,7 as [1, 2, 3, 7]."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdigit() and (last.isdigit() or not dash)):
            raise UsageError(f"--k {text!r}: write depths such as 1-10 or 2,5")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{text!r}: write numbers such as 1,3,10") from None


Extra = Annotated[
    Path | None, typer.Option("--games", help="Games that the log names beside the study's four: a .toml file.")
]


@app.command("score")
def score(
    trials: Annotated[Path, typer.Argument(help="Log of trials: .jsonl, one levelk-trial/1 record a line.")],
    games: Extra = None,
    convention: Annotated[str, typer.Option(help="proper, or published: as the study computes.")] = "proper",
    interval: Annotated[str, typer.Option(help="wilson, clopper-pearson or wald.")] = "wilson",
    level: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.95,
    replicates: Annotated[int, typer.Option(help="Of the cell-cluster bootstrap; 0 leaves it out.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    out: Annotated[
        list[Path],
        typer.Option(help=".html: page; .csv: a row per trial; .json: all tables; .txt.", show_default=False),
    ] = [],  # noqa: B006
    figures: Annotated[
        Path | None, typer.Option(help="Write the figures as .svg into this folder, which exists.", show_default=False)
    ] = None,
    json: Json = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Exit status 0 although lines were set aside.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first line that has to be set aside.")] = False,
) -> None:
    """Score trials: depth of action and belief, accuracy beside its ceilings, chains, mentalizing.

    Exit status 1 if any line had to be set aside, unless --skip-bad.

    [dim]levelkit depth score trials.jsonl --out report.html[/dim]
    """
    from levelkit.cli.parsing import level as probability

    for path in out:
        _suffix(path, (".html", ".csv", ".json", ".txt"))
    if figures is not None and not figures.is_dir():
        raise UsageError(f"--figures {figures}: there is no such folder; make it first")
    if replicates < 0:
        raise UsageError(f"--replicates {replicates}: give 0 or more")
    probability(level)

    from levelkit.depth.summaries import convention_of, summarise
    from levelkit.report import depthpage, depthtext
    from levelkit.report.files import write_whole
    from levelkit.report.records import dumps

    read = _trials(trials, games, strict)
    output.show_problems(read.problems)
    with output.progress("Scoring"):
        found = summarise(
            read, convention=convention_of(convention), interval=interval, level=level, replicates=replicates, seed=seed
        )
        written = list(out)
        if figures is not None:
            from levelkit.report.plots import depth as drawn

            written += drawn.write(found, figures)
        for path in out:
            body = {
                ".html": lambda: depthpage.page(found),
                ".csv": lambda: found.scored.to_csv(index=False, lineterminator="\n"),
                ".json": lambda: dumps(depthtext.record(found)),
                ".txt": lambda: depthtext.text(found),
            }[path.suffix.lower()]()
            write_whole(path, body)
    output.show(dumps(depthtext.record(found)) if json else depthtext.text(found))
    for path in written:
        output.tell(f"wrote {path}")
    if read.problems.n_set_aside and not skip_bad:
        raise typer.Exit(1)


def _trials(path: Path, games: Path | None, strict: bool = False) -> Trials:
    from levelkit.depth.trials import read_trials
    from levelkit.games import read_games

    return read_trials(path, list(read_games(games).values()) if games is not None else (), strict=strict)


def _suffix(path: Path, known: tuple[str, ...]) -> None:
    if path.suffix.lower() not in known:
        raise UsageError(f"cannot write {path}; end it with {' or '.join(known)}")


@app.command("ceiling")
def ceiling(
    trials: Annotated[
        Path | None,
        typer.Argument(help="Log of trials with histories; without it cells are simulated.", show_default=False),
    ] = None,
    games: Extra = None,
    game: Annotated[list[str], typer.Option("--game", help="Simulate these games.", show_default=False)] = [],  # noqa: B006
    k: Annotated[str, typer.Option("--k", help="Target depths to simulate.")] = "1-10",
    lam: Annotated[str, typer.Option("--lam", help="Precisions of the opponents.")] = "1,3,10",
    scale: Annotated[str, typer.Option(help="Payoffs divided by: belief_range, game_range or raw.")] = "belief_range",
    unknown_lam: Annotated[
        bool, typer.Option("--unknown-lam", help="The reasoner does not know which of the precisions it is.")
    ] = False,
    draws: Annotated[int, typer.Option(help="Actions in a simulated history.")] = 30,
    simulations: Annotated[int, typer.Option(help="Histories for each cell.")] = 4000,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write all cells to .csv or .json.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """What an ideal reasoner and a payoff maximiser would score in each cell.

    [dim]levelkit depth ceiling --lam 10 --simulations 20000[/dim]
    """
    from levelkit.depth.ceilings import ceiling as compute
    from levelkit.depth.instruments import STUDY_GAMES
    from levelkit.report import depthtext
    from levelkit.report.files import write_whole
    from levelkit.report.records import dumps, rows

    if out is not None:
        _suffix(out, (".csv", ".json"))
    with output.progress("Simulating" if trials is None else "Computing"):
        if trials is None:
            chosen = [_game(name, games) for name in game] or list(STUDY_GAMES)
            found = compute(
                games=chosen,
                k_targets=_depths(k),
                lam=_numbers(lam),
                known_lam=not unknown_lam,
                scale=scale,
                draws=draws,
                simulations=simulations,
                seed=seed,
            )
        else:
            read = _trials(trials, games)
            output.show_problems(read.problems)
            found = compute(read, lam=_numbers(lam), known_lam=not unknown_lam)
    if out is not None:
        body = dumps(rows(found)) if out.suffix.lower() == ".json" else found.to_csv(index=False, lineterminator="\n")
        write_whole(out, body)
        output.tell(f"wrote {out}")
    output.show(dumps(rows(found)) if json else depthtext.ceilings(found))


@app.command("estimate")
def estimate(
    trials: Annotated[Path, typer.Argument(help="Log of trials: .jsonl.")],
    games: Extra = None,
    model: Annotated[str, typer.Option(help="level-k, tqre, poisson-ch, or any other name of a model.")] = "tqre",
    by: Annotated[
        str, typer.Option(help="Columns: one estimate each; of model, condition, k_target, lambda, game.")
    ] = "model",
    level0: Annotated[str, typer.Option("--level0", help="What level 0 does: anchor, or uniform.")] = "anchor",
    condition: Annotated[str, typer.Option(help="recursive, inductive or both.")] = "recursive",
    fix: Annotated[list[str], typer.Option(help="Hold a parameter: eps=0.05.", show_default=False)] = [],  # noqa: B006
    scale: Annotated[str, typer.Option(help="raw payoffs, or divided by each game's range.")] = "range",
    no_intervals: Annotated[bool, typer.Option("--no-intervals", help="Leave intervals out; faster.")] = False,
    out: Annotated[
        list[Path], typer.Option(help="As for levelkit fit: .html, .csv, .json, ...", show_default=False)
    ] = [],  # noqa: B006
    json: Json = False,
) -> None:
    """Fit level mixtures, TQRE or cognitive hierarchy to the actions of trials.

    [dim]levelkit depth estimate trials.jsonl --model tqre --by model,k_target[/dim]
    """
    from levelkit.cli import parsing
    from levelkit.report import tables

    held = parsing.numbers(fix, "--fix", "eps=0.05")
    for path in out:
        tables.format_of(path)
    if condition not in ("recursive", "inductive", "both"):
        raise UsageError(f"--condition {condition!r}: choose recursive, inductive or both")

    from levelkit.depth.estimates import estimate as fit

    read = _trials(trials, games)
    output.show_problems(read.problems)
    with output.progress("Fitting") as told:
        fits = fit(
            read,
            model,
            parsing.names([by]),
            level0=level0,
            condition=None if condition == "both" else condition,
            fixed=held,
            scale=scale,
            intervals=not no_intervals,
            progress=told,
        )
        for path in out:
            tables.write(fits, path)
    output.show(tables.table(fits, "json" if json else "text"))
    output.tell(f"level 0: {level0}")
    for path in out:
        output.tell(f"wrote {path}")


@app.command("search")
def search(
    family: Annotated[str, typer.Argument(help="money-request, ring, demand, contest or matrix.")],
    actions: Annotated[int, typer.Option(help="How many actions.")] = 20,
    depth: Annotated[int, typer.Option(help="Levels 0 to this one have to differ.")] = 15,
    monotone: Annotated[bool, typer.Option("--monotone", help="Sequences may also go one way only.")] = False,
    lam: Annotated[float, typer.Option(help="Precision of the opponents of a payoff maximiser.")] = 10.0,
    batches: Annotated[int, typer.Option(help="How many batches; with --state those done before count.")] = 50,
    batch: Annotated[int, typer.Option(help="Games in a batch.")] = 2048,
    keep: Annotated[int, typer.Option(help="How many games to write.")] = 3,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same games.")] = 0,
    state: Annotated[
        Path | None, typer.Option(help="File to go on from, and to save to after each batch.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Games with certificates: .toml.")] = Path("found.toml"),
    json: Json = False,
) -> None:
    """Look for games in which levels differ to a wanted depth, with margins, and aligned with payoffs.

    Exit status 1 if none was found.

    [dim]levelkit depth search ring --actions 20 --depth 15 && levelkit depth check found.toml[/dim]
    """
    _suffix(out, (".toml",))

    import dataclasses

    from levelkit.depth.certificates import certified_toml
    from levelkit.depth.searches import search as look
    from levelkit.report import depthcheck
    from levelkit.report.files import write_whole
    from levelkit.report.records import dumps

    with output.progress("Searching") as told:
        found = look(
            family,
            actions,
            depth,
            non_monotone=not monotone,
            lam=lam,
            batches=batches,
            batch=batch,
            keep=keep,
            seed=seed,
            state=state,
            progress=told,
        )
    if json:
        output.show(dumps([dataclasses.asdict(one) for one in found.certificates]))
    else:
        output.show(depthcheck.found_text(found))
    if not found.games:
        raise typer.Exit(1)
    title = f"Found by levelkit depth search {family}, {actions} actions, depth {depth}"
    write_whole(out, certified_toml(zip(found.certificates, found.games, strict=True), title))
    output.tell(f"wrote {out}; levelkit depth check {out} verifies it")
