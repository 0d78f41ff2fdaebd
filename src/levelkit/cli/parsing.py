"""Arguments in words to what the package takes: "model,game" to a list, "levels=20" to {"levels": 20}."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from levelkit.errors import UsageError


def names(given: Iterable[str]) -> list[str]:
    """Names from texts in which commas separate them: ["model,game"] to ["model", "game"]."""
    return list(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


def pairs(given: Iterable[str], option: str, example: str) -> dict[str, str]:
    """{"levels": "20"} from ["levels=20"]. Raises UsageError where there is no "=" or a name comes twice."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and name and value):
            raise UsageError(f"{option} {text!r}: write {example}")
        if name in found:
            raise UsageError(f"{option} gives {name!r} twice")
        found[name] = value
    return found


def values(given: Iterable[str], option: str = "--set", example: str = "levels=20") -> dict[str, Any]:
    """Options of a model: whole numbers, other numbers, yes and no, else words."""
    return {name: _value(text) for name, text in pairs(given, option, example).items()}


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def numbers(given: Iterable[str], option: str, example: str) -> dict[str, float]:
    """{"tau": 1.5} from ["tau=1.5"]. Raises UsageError where the value is no number."""
    found = {}
    for name, text in pairs(given, option, example).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise UsageError(f"{option} {name}={text}: {text!r} is no number; write {example}") from None
        if found[name] != found[name]:
            raise UsageError(f"{option} {name}={text}: give a number")
    return found


def columns(given: Sequence[str]) -> dict[str, str] | None:
    """{"action": "choice"} from ["action=choice,player=role"]; None where nothing is given."""
    parts = [part for text in given for part in text.split(",") if part.strip()]
    return pairs(parts, "--columns", "action=choice,player=role") or None


def pool(given: Sequence[str]) -> list[str] | dict[str, list[str]]:
    """["model", "game"] from ["model,game"]; {"tau": ["model"]} from ["tau=model"]. Raises UsageError for a mixture."""
    named = [text for text in given if "=" in text]
    if not named:
        return names(given)
    if len(named) < len(given):
        raise UsageError("--pool gives columns both with and without a parameter; write tau=model for each parameter")
    parts: list[str] = []
    for piece in (piece for text in given for piece in text.split(",")):
        if "=" in piece:
            parts.append(piece)
        else:
            parts[-1] += f",{piece}"
    return {name: names([text]) for name, text in pairs(parts, "--pool", "tau=model").items()}


def vary(given: Sequence[str]) -> dict[str, list[str]]:
    """{"gamma": ["game", "cot"]} from ["gamma=game,cot"]."""
    return {name: names([text]) for name, text in pairs(given, "--vary", "gamma=game").items()}


def level(interval: float) -> float:
    """The probability of an interval. Raises UsageError outside (0, 1), where 95 is taken to mean 0.95."""
    if not 0 < interval < 1:
        hint = f"; {interval:g}% is {interval / 100:g}" if 1 < interval < 100 else ""
        raise UsageError(f"--interval {interval:g}: give a probability between 0 and 1, such as 0.95{hint}")
    return interval


def choice(value: str, option: str, allowed: Sequence[str]) -> str:
    """One of a few words. Raises UsageError for another."""
    if value not in allowed:
        raise UsageError(f"{option} {value!r}: choose from {', '.join(allowed)}")
    return value
