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
    except ImportError as error:
        raise UserError("--from-hub needs huggingface_hub; run: pip install 'kvcalc[hub]'") from error
    try:
        config = Path(hf_hub_download(name, CONFIG))
    except (HfHubHTTPError, LocalEntryNotFoundError, EntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserError(f"--from-hub {name}: {reason[:200]}; download its config.json and give the file") from error
    try:
        return config, Path(hf_hub_download(name, QUANT))
    except (HfHubHTTPError, LocalEntryNotFoundError, EntryNotFoundError, OSError):
        return config, None
