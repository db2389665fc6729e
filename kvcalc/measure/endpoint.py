"""A running engine's times to the first token: prompts of rising length, each cold and then warm."""

import json
import random
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.measure import fits
from kvcalc.measure.results import CurveFound, Law, Part, Reading, Setup
from kvcalc.measure.samples import Budget, spread

LENGTHS = tuple(512 * 2**step for step in range(9))  # 512 to 128 Ki tokens
TOKENS = range(1000, 20000)  # ids that every vocabulary of the catalog has, special ones left out
LEAST = 3  # lengths, to fit a curve with its square
TIMEOUT_S = 600.0


def measure(
    address: str, engine_model: str, setup: Setup | None, budget: Budget, progress: Callable[[str], None]
) -> Part:
    """Times to first token at an OpenAI-compatible address like http://host:8000/v1; `setup` says what runs there.

    A prompt is sent twice: first it is computed, then found in the engine's cache. Raises UserError where the server
    can't be reached or refuses.
    """
    import httpx

    cold: list[tuple[int, float]] = []
    warm: list[tuple[int, float]] = []
    warnings: list[str] = []
    chosen = random.Random()
    with httpx.Client(base_url=address, timeout=TIMEOUT_S) as client:
        _first(client, engine_model, _prompt(chosen, 16))  # connections and kernels are made once
        for tokens in LENGTHS:
            if len(cold) >= LEAST and 3 * (cold[-1][1] + warm[-1][1]) > budget.left_s:
                break
            progress(f"{units.count(tokens)} tokens")
            prompt = _prompt(chosen, tokens)
            try:
                cold.append((tokens, _first(client, engine_model, prompt)))
                warm.append((tokens, min(_first(client, engine_model, prompt) for _ in range(2))))
            except UserError as error:
                if len(warm) < LEAST:
                    raise
                warnings.append(f"stopped at {units.count(tokens)} tokens: {error}")
                break
    readings = [*_readings("cold", cold), *_readings("warm", warm)]
    laws = (
        Law("recompute: time to first token, cold", fits.curve(cold)),
        Law("restore: warm", fits.curve(warm, square=False)),
    )
    note = f"Time to first token of {engine_model} at {address}, one request at a time, nothing cached."
    curve = CurveFound(setup, tuple(cold), note) if setup else None
    return Part("endpoint", tuple(readings), laws, curve=curve, warnings=tuple(warnings))


def _readings(kind: str, points: list[tuple[int, float]]) -> Iterator[Reading]:
    for tokens, seconds in points:
        yield Reading(f"time to first token, {units.count(tokens)} tokens, {kind}", "s", spread([seconds]))


def _prompt(chosen: random.Random, tokens: int) -> list[int]:
    return chosen.choices(TOKENS, k=tokens)


def _first(client: Any, model: str, prompt: list[int]) -> float:
    """Seconds from the request to the first token."""
    import httpx

    body = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0, "stream": True}
    began = perf_counter()
    try:
        with client.stream("POST", "completions", json=body) as answer:
            if answer.status_code != 200:
                answer.read()
                raise UserError(f"{client.base_url} answers {answer.status_code}: {shown(_said(answer.text))}")
            for line in answer.iter_lines():
                if line.startswith("data:") and "[DONE]" not in line:
                    return perf_counter() - began
    except httpx.HTTPError as error:
        raise UserError(f"{client.base_url} can't be asked: {str(error).lower() or type(error).__name__}") from error
    raise UserError(f"{client.base_url} sent no token; is it an OpenAI-compatible server that streams?")


def _said(text: str) -> str:
    """The server's own words."""
    try:
        found = json.loads(text)
        return str(found.get("message") or found["error"]["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
