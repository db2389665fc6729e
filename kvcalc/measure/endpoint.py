"""A running engine's times to the first token: prompts of rising length, each cold and then warm."""

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any

from kvcalc import units
from kvcalc.errors import UserError, shown
from kvcalc.measure import fits
from kvcalc.measure.addresses import masked
from kvcalc.measure.results import CurveFound, Law, Part, Reading, Setup
from kvcalc.measure.samples import Budget, spread

LENGTHS = tuple(512 * 2**step for step in range(9))  # 512 to 128 Ki tokens
TOKENS = range(1000, 20000)  # ids that every vocabulary of the catalog has, special ones left out
LEAST = 3  # lengths, to fit a curve with its square
SHORTEST_S = 5.0  # that a request may take, however little of the budget is left


def measure(
    address: str, engine_model: str, setup: Setup | None, budget: Budget, progress: Callable[[str], None]
) -> Part:
    """Times to first token at an OpenAI-compatible address like http://host:8000/v1; `setup` says what runs there.

    A prompt is sent twice: first it is computed, then found in the engine's cache. Raises UserError where the server
    can't be reached or refuses.
    """
    cold: list[tuple[int, float]] = []
    warm: list[tuple[int, float]] = []
    warnings: list[str] = []
    chosen = random.Random()
    with _client(address) as client:
        ask = partial(_first, client, engine_model)
        ask(_prompt(chosen, 16), budget)  # connections and kernels are made once
        for tokens in LENGTHS:
            if len(cold) >= LEAST and 3 * (cold[-1][1] + warm[-1][1]) > budget.left_s:
                break
            progress(f"{units.count(tokens)} tokens")
            prompt = _prompt(chosen, tokens)
            try:
                cold.append((tokens, ask(prompt, budget)))
                warm.append((tokens, min(ask(prompt, budget) for _ in range(2))))
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
    note = f"Time to first token of {engine_model} at {masked(address)}, one request at a time, nothing cached."
    curve = CurveFound(setup, tuple(cold), note) if setup else None
    return Part("endpoint", tuple(readings), laws, curve=curve, warnings=tuple(warnings))


def _readings(kind: str, points: list[tuple[int, float]]) -> Iterator[Reading]:
    for tokens, seconds in points:
        yield Reading(f"time to first token, {units.count(tokens)} tokens, {kind}", "s", spread([seconds]))


def _prompt(chosen: random.Random, tokens: int) -> list[int]:
    return chosen.choices(TOKENS, k=tokens)


def _client(address: str) -> Any:
    import httpx

    try:
        return httpx.Client(base_url=address)
    except (httpx.InvalidURL, ValueError) as error:
        said = f"--endpoint {shown(masked(address))} is no address; write http://host:8000/v1"
        raise UserError(said) from error


def _first(client: Any, model: str, prompt: list[int], budget: Budget) -> float:
    """Seconds from the request to the first token, which may take what is left of the budget."""
    import httpx

    body = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0, "stream": True}
    limit, server = max(SHORTEST_S, budget.left_s), masked(str(client.base_url))
    began = perf_counter()
    try:
        with client.stream("POST", "completions", json=body, timeout=limit) as answer:
            if answer.status_code != 200:
                answer.read()
                raise UserError(f"{server} answers {answer.status_code}: {shown(_said(answer.text))}")
            for line in answer.iter_lines():
                if line.startswith("data:") and "[DONE]" not in line:
                    return perf_counter() - began
                if perf_counter() - began > limit:  # it sends, but no token
                    raise httpx.ReadTimeout("")
    except httpx.TimeoutException as error:
        count = units.count(len(prompt))
        raise UserError(f"{server} sent no token in {limit:.3g} s after a prompt of {count}; raise --budget") from error
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise UserError(f"{server} can't be asked: {str(error).lower() or type(error).__name__}") from error
    raise UserError(f"{server} sent no token; is it an OpenAI-compatible server that streams?")


def _said(text: str) -> str:
    """The server's own words."""
    try:
        found = json.loads(text)
        return str(found.get("message") or found["error"]["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
