"""`levelkit observer`: simulate matches, score an observer's log, find the ceiling, audit a log, tabulate losses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelkit.cli import output
from levelkit.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from levelkit.observer.matches import MatchLog

DATA_PROBLEM = 1
Texts = list[str]
Log = Annotated[list[Path], typer.Argument(help="Logs: rps-observer/1 (.jsonl, .csv) or the authors' detail sheet.")]
Pairs = Annotated[Texts | None, typer.Argument(help="Pairs of strategies, such as H-C.", show_default=False)]
Pair = Annotated[str, typer.Argument(help="Two strategies, such as H-C.", show_default=False)]
CatalogueOption = Annotated[
    str | None, typer.Option("--catalogue", help="rpsls, or a .toml file of yours; else the 19 of the paper.")
]
Rounds = Annotated[int, typer.Option(help="Rounds of a match.")]
Warmup = Annotated[int, typer.Option(help="Rounds before the first guess.")]
Window = Annotated[int, typer.Option(help="Last rounds that the observer sees; 0: all.")]
Engine = Annotated[str, typer.Option(help="reactive, or released_iid: nobody reacts, as in the released code.")]
Lapse = Annotated[float, typer.Option(help="How often a reactive player forgets the rule.")]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
Out = Annotated[list[Path], typer.Option(help="Write to .csv, .tsv, .json, .parquet, .md or .txt.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Convention = Annotated[str, typer.Option(help="published, released or proper.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Exit 0 although records had errors.")]
PlotOption = Annotated[Path | None, typer.Option(help="Draw into .svg, .png or .pdf.", show_default=False)]

app = typer.Typer(
    name="observer",
    help="Rock-Paper-Scissors watched: who plays what, how well can one tell, how well did somebody tell?",
    no_args_is_help=True,
)


@app.command("simulate")
def simulate(
    pair: Pair,
    rounds: Rounds = 200,
    matches: Annotated[int, typer.Option(help="How many matches.")] = 1,
    warmup: Warmup = 10,
    window: Window = 50,
    engine: Engine = "reactive",
    lapse: Lapse = 0.0,
    observer: Annotated[str, typer.Option(help="Who guesses: ideal, nearest or none.")] = "ideal",
    seed: Seed = 0,
    catalogue_: CatalogueOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the matches as a log (.jsonl).", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Play matches and let an observer guess; the log can be scored, audited, or given to another observer.

    [dim]levelkit observer simulate H-C --matches 20 --out matches.jsonl[/dim]
    """
    from levelkit.observer.catalogues import catalogue
    from levelkit.observer.engine import simulate as played
    from levelkit.observer.matches import MatchLog, simulated, write_log
    from levelkit.observer.scores import score
    from levelkit.report import observer as report
    from levelkit.report.records import dumps

    if out is not None and out.suffix.lower() != ".jsonl":
        raise UsageError(f"cannot write a log to {str(out)!r}; end it with .jsonl")
    known = catalogue(catalogue_)
    truth = known.pair(pair)
    seen = window or None
    moves = played(*truth, known, rounds=rounds, matches=matches, engine=engine, lapse=lapse, seed=seed)
    name = "" if observer == "none" else observer
    made = simulated(
        moves, truth, _guesses(observer, moves, known, seen, lapse), warmup=warmup, history_limit=seen, engine=engine,
        seed=seed, model=name,
    )  # fmt: skip
    log = MatchLog(tuple(made), known)
    frame = score(log, matches=0)
    output.show(dumps(report.record(frame)) if json else report.scores(frame, "published"))
    if out is not None:
        output.tell(f"wrote {write_log(log, out)}")


def _guesses(observer: str, moves: Any, known: Any, window: int | None, lapse: float) -> Any:
    from levelkit.observer.ceilings import OBSERVERS, guesses
    from levelkit.observer.ideal import Watcher

    if observer == "none":
        return None
    if observer not in OBSERVERS:
        raise UsageError(f"no observer {observer!r}; choose from {', '.join((*OBSERVERS, 'none'))}")
    return guesses(moves, known, observer, Watcher(window, lapse))


@app.command("score")
def score(
    logs: Log,
    convention: Convention = "published",
    by: Annotated[str, typer.Option(help="A row for each observer, match or round.")] = "observer",
    against: Annotated[Path | None, typer.Option(help="Another observer's log to compare with.")] = None,
    unit: Annotated[str, typer.Option(help="What is shuffled in the comparison: match or block.")] = "match",
    alternative: Annotated[str, typer.Option(help="two-sided, greater or less.")] = "two-sided",
    force: Annotated[bool, typer.Option("--force", help="Shuffle single rounds in spite of everything.")] = False,
    matches: Annotated[int, typer.Option(help="Simulated matches for the ceiling; 0: none.")] = 1000,
    seed: Seed = 0,
    catalogue_: CatalogueOption = None,
    out: Out = [],  # noqa: B006
    plot: PlotOption = None,
    skip_bad: SkipBad = False,
    json: Json = False,
) -> None:
    """Identification rates and losses of a log, beside what an ideal observer would reach.

    [dim]levelkit observer score log.jsonl --convention proper --plot losses.svg[/dim]
    """
    from levelkit.observer import scores
    from levelkit.observer.permutation import compare_observers
    from levelkit.report import observer as report
    from levelkit.report import plots, sheets
    from levelkit.report.plots.observer import curves

    if by not in ("observer", "match", "round"):
        raise UsageError(f"--by {by!r}: choose observer, match or round")
    _check(out, plot, convention)
    log = _read(logs, catalogue_)
    notes: list[str] = []
    if against is not None:
        result = compare_observers(
            log, _read([against], catalogue_), unit=unit, alternative=alternative, seed=seed, force=force
        )
        notes.append(f"Against {against}: {result.text}.")
    with output.progress("Scoring"):
        if by == "observer":
            frame = scores.score(log, convention=convention, matches=matches, seed=seed)
            text = report.scores(frame, convention, notes)
        else:
            made = scores.score_matches if by == "match" else scores.score_rounds
            frame = made(log, convention=convention)
            text = sheets.plain(frame, notes)
        _emit(frame, text, report.record(frame, convention=convention, notes=notes), out, json)
        if plot is not None:
            plots.save(curves(scores.score_rounds(log, convention=convention), convention), plot)
            output.tell(f"wrote {plot}")
    _leave(log, skip_bad)


@app.command("ceiling")
def ceiling(
    pairs: Pairs = None,
    all_: Annotated[bool, typer.Option("--all", help="All pairs of the catalogue.")] = False,
    log: Annotated[Path | None, typer.Option(help="The pairs and settings of this log.", show_default=False)] = None,
    window: Window = 50,
    matches: Annotated[int | None, typer.Option(help="Simulated matches of a pair (4000; 200 with --all).")] = None,
    rounds: Rounds = 200,
    warmup: Warmup = 10,
    engine: Engine = "reactive",
    observer: Annotated[str, typer.Option(help="ideal, or nearest: the mixture nearest to the frequencies.")] = "ideal",
    lapse: Lapse = 0.0,
    hazard: Annotated[float, typer.Option(help="Chance that a player changes strategy; needs --window 0.")] = 0.0,
    seed: Seed = 0,
    catalogue_: CatalogueOption = None,
    out: Out = [],  # noqa: B006
    json: Json = False,
) -> None:
    """How often the best possible observer names both strategies, and how much matches differ in that.

    [dim]levelkit observer ceiling H-C N-G D-Y[/dim]
    """
    import pandas as pd

    from levelkit.observer.catalogues import catalogue
    from levelkit.observer.ceilings import ceiling_table
    from levelkit.report import observer as report

    _check(out, None, None)
    if sum((bool(pairs), all_, log is not None)) != 1:
        raise UsageError("give pairs such as H-C, or --all, or --log FILE")
    known = catalogue(catalogue_)
    options: dict[str, Any] = {"window": window or None, "rounds": rounds, "warmup": warmup, "engine": engine}
    jobs = [(None if all_ else pairs, options)] if log is None else _jobs(_read([log], catalogue_))
    many = matches or (200 if all_ else 4000)
    with output.progress("Simulating") as told:
        frame = pd.concat(
            [
                ceiling_table(
                    wanted, known, matches=many, seed=seed, observer=observer, lapse=lapse, hazard=hazard, told=told,
                    **settings,
                )
                for wanted, settings in jobs
            ],
            ignore_index=True,
        )  # fmt: skip
    notes = [] if all_ else [note for pair in frame["pair"] for note in _twins(pair, known)]
    _emit(frame, report.ceilings(frame, notes), report.record(frame, notes=notes), out, json)


@app.command("audit")
def audit(
    logs: Log,
    catalogue_: CatalogueOption = None,
    out: Out = [],  # noqa: B006
    skip_bad: SkipBad = False,
    json: Json = False,
) -> None:
    """Do the moves of a log follow the declared strategies, did reactive players react, did all observers see the same?

    [dim]levelkit observer audit log.jsonl[/dim]
    """
    from levelkit.observer.audits import audit as check
    from levelkit.report import observer as report
    from levelkit.report import records

    _check(out, None, None)
    log = _read(logs, catalogue_)
    found = check(log)
    more = {"matches": records.rows(found.matches), "designs": records.rows(found.designs)}
    record = report.record(found.players, **more, findings=found.findings, problems=records.rows(log.problems.frame))
    _emit(found.players, report.audit(found), record, out, json)
    _leave(log, skip_bad)


@app.command("losses")
def losses(
    pair: Pair,
    convention: Convention = "published",
    catalogue_: CatalogueOption = None,
    out: Out = [],  # noqa: B006
    plot: PlotOption = None,
    json: Json = False,
) -> None:
    """Losses of every guess about a pair, and whether the truth scores best.

    [dim]levelkit observer losses H-C --convention released --plot heat.svg[/dim]
    """
    from levelkit.observer.catalogues import catalogue
    from levelkit.observer.scoring import loss_table
    from levelkit.observer.steady import outcome
    from levelkit.report import observer as report
    from levelkit.report import plots
    from levelkit.report.plots.observer import heatmap

    _check(out, plot, convention)
    known = catalogue(catalogue_)
    one, two = known.pair(pair)
    frame = loss_table((one, two), known, convention=convention)
    law, name = outcome(one, two, known), f"{one}-{two}"
    text = report.losses(frame, name, convention, law)
    _emit(frame, text, report.record(frame, pair=name, convention=convention, law=list(law)), out, json)
    if plot is not None:
        output.tell(f"wrote {plots.save(heatmap(frame, name, convention), plot)}")


def _check(out: list[Path], plot: Path | None, convention: str | None) -> None:
    """What would fail after the work fails before it."""
    from levelkit.observer.scoring import CONVENTIONS
    from levelkit.report import plots, sheets

    if convention is not None and convention not in CONVENTIONS:
        raise UsageError(f"--convention {convention!r}: choose from {', '.join(CONVENTIONS)}")
    for path in out:
        sheets.suffix_of(path, sheets.NO_LATEX)
    if plot is not None:
        plots.suffix_of(plot)


def _read(paths: list[Path], catalogue_: str | None) -> MatchLog:
    """Logs and detail sheets as one; problems go to standard error."""
    from levelkit.observer.detailsheet import is_detail_sheet, read_detail_sheet
    from levelkit.observer.matches import MatchLog
    from levelkit.observer.reading import read_log

    read = [(read_detail_sheet if is_detail_sheet(path) else read_log)(path, catalogue_) for path in paths]
    log = MatchLog.join(read) if len(read) > 1 else read[0]
    output.show_problems(log.problems)
    return log


def _jobs(log: MatchLog) -> list[tuple[list[tuple[str, str]], dict[str, Any]]]:
    """The pairs of a log by their settings."""
    found: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    for match in log:
        key = (match.history_limit, match.rounds, match.warmup, match.engine or "reactive")
        members = found.setdefault(key, [])
        if match.truth not in members:
            members.append(match.truth)
    names = ("window", "rounds", "warmup", "engine")
    return [(members, dict(zip(names, key, strict=True))) for key, members in found.items()]


def _twins(pair: str, known: Any) -> list[str]:
    from levelkit.observer.ambiguity import twins_by_moves, twins_by_outcomes

    notes = []
    by_outcomes, by_moves = twins_by_outcomes(pair, known), twins_by_moves(pair, known)
    if by_outcomes:
        shown = ", ".join(by_outcomes[:6]) + (", ..." if len(by_outcomes) > 6 else "")
        notes.append(f"{pair} wins, draws and loses exactly as often as {len(by_outcomes)} other pairs ({shown}).")
    if by_moves:
        notes.append(f"{pair} cannot be told from {', '.join(by_moves)} by the moves, first rounds apart.")
    return notes


def _emit(frame: pd.DataFrame, text: str, record: Any, out: list[Path], json: bool) -> None:
    from levelkit.report import records, sheets

    output.show(records.dumps(record) if json else text)
    for path in out:
        output.tell(f"wrote {sheets.write(path, frame, sheets.as_it_is(text), lambda: record)}")


def _leave(log: MatchLog, skip_bad: bool) -> None:
    """Exit 1 where records had errors, unless these may be skipped."""
    if log.has_errors and not skip_bad:
        output.tell("levelkit: records had errors (above); --skip-bad accepts that.")
        raise typer.Exit(DATA_PROBLEM)
