"""`levelkit depth ...`: games that tell levels apart, logs of trials in them, and what could be had at best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from levelkit.cli import output
from levelkit.errors import UsageError

if TYPE_CHECKING:
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

    if out is not None and out.suffix.lower() not in (".txt", ".json"):
        raise UsageError(f"cannot write {out}; end it with .txt or .json")
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
    from levelkit.depth import histories as draw
    from levelkit.depth import infer_scale
    from levelkit.report.files import write_whole

    if out is not None and out.suffix.lower() not in (".jsonl", ".csv"):
        raise UsageError(f"cannot write {out}; end it with .jsonl or .csv")
    if infer is not None:
        from levelkit.readers.records import read_records

        output.show(infer_scale([record for _, record in read_records(infer).good]).text)
        return
    chosen = [_game(name, games) for name in games_]
    frame = draw(
        *([chosen] if chosen else []), k_targets=_depths(k), lam=_numbers(lam), draws=draws, repeats=repeats,
        scale=scale, seed=seed,
    )  # fmt: skip
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
