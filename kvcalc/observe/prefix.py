"""What stands on a line before an engine's own words: time stamps, levels, loggers, processes, containers.

Only a line that begins with the engine's words is the engine's: in a prompt that it logs, or in a log that it quotes,
the same words stand behind other words or in quotes.
"""

import re
from functools import lru_cache

LONGEST = 400  # characters; what stands before a message is shorter

# Words that say what follows is a user's.
_SPEECH = (
    r"\W*(?:prompts?|users?|assistant|system|human|content|messages?|text|inputs?|outputs?|query|question|answer|requests?"
    r"|responses?|completion|body|payload|data|json|delta)\s*[:=]"
)
_GROUP = r"[\[(<][^\[\](){}<>\"'`]{0,200}[\])>]"  # [gpu_worker.py:298], (EngineCore_0 pid=4242), [1,0]<stdout>
_CHUNK = rf"(?:{_GROUP}|[^\s\"'`\[\](){{}}<>]|\])+"
_WORD = (
    r"[^\w\s\"'`>]{0,8}(?:INFO|WARN|WARNING|ERROR|DEBUG|CRITICAL|FATAL|TRACE|NOTICE|info|warning|error|debug|[A-Z]|AM|PM|UTC|GMT"
    r"|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun|stdout|stderr|vllm|sglang|LMCache|srv|kv)"
)
# A progress bar whose line was not ended.
_BAR = r"[^\"'`|]{0,100}\d%[^\"'`\[\]]{0,200}\d/\d+ \[\d\d:\d\d[^\]\"'`]{0,40}\]"
_PREFIX = re.compile(
    rf"(?:{_BAR})?(?:\s*(?!(?i:{_SPEECH}))(?:"
    rf"{_WORD}"
    r"|[\w.-]+(?=\s+\S+\[\d+\]:\s)"  # the host, in the journal
    r"|[\w.-]+(?=\s+\|\s)"  # the service, of docker compose
    rf"|(?=\S*[\d:|\[\](<_/=]|\S*[.-]\w){_CHUNK}"  # no bare word
    r"|[-*+|:]+"
    r")(?=\s|$))*\s*",
    re.ASCII,
)
_SHAPE = str.maketrans("123456789", "000000000")
_PROCESSES = ("EngineCore", "Worker", "ModelRunner", "TP", "RANK", "<std")
_WORKER = re.compile(
    r"\(((?:EngineCore|Worker|VllmWorker|RayWorker|ModelRunner)[^)]*)\)"  # vLLM
    r"|\[[^\]]*?\b((?:DP\d+ )?(?:PP\d+ )?TP\d+(?: EP\d+)?)\]"  # SGLang
    r"|\[(RANK \d+)\]|\[1,(\d+)\]<std",  # TensorRT-LLM, mpirun
    re.ASCII,
)


def leads(line: str, at: int) -> bool:
    """Is what stands before `at` a prefix, so that the message begins there?"""
    return at == 0 or (at <= LONGEST and _leads(line[:at].translate(_SHAPE)))


@lru_cache(maxsize=1024)
def _leads(shape: str) -> bool:
    """Lines of one kind differ in their digits alone, so a long log has few shapes."""
    return _PREFIX.fullmatch(shape) is not None


def begin(line: str, words: re.Pattern[str]) -> int | None:
    """Where the message begins, if it begins with these words."""
    found = words.search(line)
    return found.start() if found and leads(line, found.start()) else None


def worker(line: str) -> str | None:
    """The process that printed a line, as the line calls it."""
    if not any(word in line for word in _PROCESSES):
        return None
    tags = _WORKER.findall(line, 0, LONGEST)
    return next((tag for tag in reversed(tags[-1]) if tag), None) if tags else None
