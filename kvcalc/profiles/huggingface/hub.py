"""A model's configuration from the Hugging Face hub, fetched only when it is asked for by name."""

import re
from pathlib import Path

from kvcalc.errors import UserError, shown
from kvcalc.profiles.huggingface.reading import CONFIG, QUANT

_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def fetch(name: str) -> tuple[Path, Path | None]:
    """Local copies of a model's config.json and, where it has one, its hf_quant_config.json. Needs the network.

    Raises UserError without huggingface_hub, for a name that isn't one, and for a model that can't be reached.
    """
    if not _NAME.fullmatch(name):
        raise UserError(f"--from-hub: {shown(name)} is not ORGANISATION/NAME")
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError
        from huggingface_hub.utils import logging
    except ImportError as error:
        raise UserError("--from-hub needs huggingface_hub; run: pip install 'kvcalc[hub]'") from error
    logging.set_verbosity_error()  # it would tell of each retry
    try:
        config = Path(hf_hub_download(name, CONFIG))
    except LocalEntryNotFoundError as error:
        raise UserError(f"--from-hub {name}: the hub can't be reached; download the config.json and give it") from error
    except (HfHubHTTPError, EntryNotFoundError) as error:
        raise UserError(f"--from-hub {name}: {_reason(error)}; download the config.json and give it") from error
    try:
        return config, Path(hf_hub_download(name, QUANT))
    except (HfHubHTTPError, EntryNotFoundError):
        return config, None


def _reason(error: Exception) -> str:
    """What the hub said, by its class: there is no such model, it asks for a login, or it has no such file."""
    reasons = {
        "GatedRepoError": "asks for a login (hf auth login) and its licence's acceptance",
        "RepositoryNotFoundError": "there is no such model, or it asks for a login (hf auth login)",
        "EntryNotFoundError": f"has no {CONFIG}",
        "RemoteEntryNotFoundError": f"has no {CONFIG}",
    }
    return reasons.get(type(error).__name__, "the hub refused it")
