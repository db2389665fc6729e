"""What an engine's pages and fixed costs would make of a restore from DRAM, where no engine is at work."""

from kvcalc.answers import paths
from kvcalc.answers.options import Options
from kvcalc.answers.setting import Setting, loads_of, pages
from kvcalc.frozen import frozen
from kvcalc.profiles import catalog

ENGINE = "vllm"  # the one whose costs are published


@frozen
class Restore:
    """A path from DRAM with the engine at work."""

    tier: str
    links: int
    seconds: float


def restores(setting: Setting) -> tuple[Restore, ...]:
    """Each path from DRAM; none where the question names an engine."""
    drams = [path for path in setting.paths if path.tier.medium == "dram"]
    if not drams or setting.engine.name != "ideal":
        return ()
    engine = catalog.engine(ENGINE)
    load = loads_of(setting.known, setting.model, setting.kv, setting.tp, pages(engine, Options()))(setting.tokens)
    found = []
    for path in drams:
        way = paths.Way(path.tier, path.way.host, setting.tp, engine)
        found.append(Restore(path.tier.name, path.links, way.route(path.links, "typical").fetch(load).seconds))
    return tuple(found)
