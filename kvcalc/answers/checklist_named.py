"""Which model, engine and split are asked about: as given, as the metrics or the log name them, or assumed."""

from kvcalc.answers import log_names
from kvcalc.answers.checklist_options import ChecklistOptions
from kvcalc.answers.checklist_seen import every
from kvcalc.errors import UserError
from kvcalc.frozen import frozen
from kvcalc.physics import kv
from kvcalc.profiles import catalog
from kvcalc.profiles.model import Model

ENGINES = ("vllm", "sglang", "trtllm", "lmcache")
RULES = "vllm"  # whose pool and options are supposed where nobody names an engine
IDEAL = "ideal"  # whose fixed costs are: none


@frozen
class Run:
    """The engine whose pools and options hold, the one whose fixed costs a fetch has, and the degree of the split."""

    engine: str
    costs: str  # IDEAL where nobody names an engine
    tp: int
    tp_assumed: bool


def run(model: Model, options: ChecklistOptions, gpus: int) -> Run:
    """As given, as read, else vLLM's rules without its costs, over all GPUs of the node or one."""
    found = every(options.read)
    engine = options.engine or next((each.engine for each in found if each.engine in ENGINES), None)
    stated = options.tp or next((each.tp for each in every(options.read) if each.tp), None)
    whole = gpus if kv.splits(model, gpus) else 1
    return Run(engine or RULES, engine or IDEAL, stated or whole, stated is None)


def model(given: Model | str | None, options: ChecklistOptions) -> Model:
    """As given, or the one profile that the name in the metrics or the log fits. Raises UserError."""
    if given is not None:
        return catalog.model(given) if isinstance(given, str) else given
    named, fits = read(options)
    if named is None:
        raise UserError("--model is missing: nothing that was read names one; 'kvcalc models list' lists the profiles")
    if fits is not None:
        return fits
    try:
        return catalog.model(named)
    except UserError as error:
        raise UserError(f"{error}: it is the model that the metrics or the log name; add --model") from None


def read(options: ChecklistOptions) -> tuple[str | None, Model | None]:
    """The first name in the metrics or the log, and the one profile that it fits."""
    named = next((each.model for each in every(options.read) if each.model), None)
    return named, None if named is None else log_names.named(named)[0]
