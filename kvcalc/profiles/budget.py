"""Budget profiles: what an engine's version takes of a GPU beside weights and KV cache."""

from typing import Literal

from kvcalc.profiles.fields import Count, Percent, Profile, Size, Word
from kvcalc.profiles.markers import part

Share = Literal["of-device", "of-device-with-activations-beside", "of-free"]


@part
class Activation:
    """The peak of a profiling run: a sum of what each thing takes that such a run allocates."""

    fixed: Size
    vocabulary: Size  # an entry of the vocabulary, logits and their copies for all sequences of a batch
    hidden: Size  # an element of the hidden state, for all tokens of a batch
    expert: Size  # an element that is sent to a 16-bit expert: hidden width x experts of a token


@part
class Batch:
    """What an engine puts in a step where nothing else is asked for."""

    tokens: Count
    sequences: Count


@part
class Budget(Profile):
    """How one version of an engine comes from a GPU's memory to its KV pool."""

    kind: Literal["budget"]
    engine: Literal["vllm", "sglang", "trtllm"]
    version: Word
    share: Share  # what the fraction that the user gives is of
    utilization: Percent | None = None  # the default of that fraction
    batch: Batch  # that the peak was measured with
    small_memory: Size | None = None  # below it, and on an A100, the engine's batch is `small_batch`
    small_batch: Batch | None = None
    activation: Activation
    graphs: Size  # CUDA graphs, taken after the pool
    non_torch_alone: Size  # context and libraries, one GPU
    non_torch_parallel: Size  # with communication buffers of tensor parallelism
    error: Percent | None = None  # of the pool, 90th percentile on the rows that it was fitted to; None: not known
