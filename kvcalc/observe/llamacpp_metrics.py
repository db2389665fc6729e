"""llama.cpp's metrics (`llama-server --metrics`). It counts the prompt tokens that it computed, not those it found."""

from kvcalc.observe.observation import Observation, Traffic
from kvcalc.observe.rates import fraction
from kvcalc.observe.samples import Window

PREFIX = "llamacpp:"


def observed(window: Window) -> Observation:
    """What llama.cpp's metrics say."""
    window.notes.append("llama.cpp counts no prefix hits: its hit rate is unknown")
    return Observation(
        engine="llamacpp",
        model=window.label("model") or window.label("model_name"),
        traffic=Traffic(
            elapsed_s=window.elapsed_s,
            pool_usage=fraction(window, "llamacpp:kv_cache_usage_ratio"),
            prompt_tokens=window.count("llamacpp:prompt_tokens"),
        ),
        notes=tuple(window.notes),
    )
