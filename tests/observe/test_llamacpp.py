"""llama.cpp's start-up log."""

import pytest

from kvcalc.observe import logs

MIB = 2**20


def parse(*lines: str):
    return logs.parse("\n".join(lines))


def test_cells_layers_and_formats_are_read():
    seen = parse(
        "llama_context: n_ctx         = 4096",
        "llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB",
        "llama_kv_cache: size =  512.00 MiB (  4096 cells,  32 layers,  1/1 seqs), K (f16):  256.00 MiB, V (q8_0):  256.00 MiB",
    )
    assert (seen.cells, seen.kv_tokens, seen.layers, seen.max_model_len) == (4096, 4096, 32, 4096)
    assert (seen.k_format, seen.v_format, seen.kv_dtype) == ("fp16", "q8_0", None)
    assert (seen.available_kv_bytes, seen.k_bytes, seen.v_bytes) == (512 * MIB, 256 * MIB, 256 * MIB)


def test_the_older_form_and_its_time_stamps_are_read():
    seen = parse(
        "0.01.439.202 I init: kv_size = 2048, offload = 1, type_k = 'f16', type_v = 'f16', n_layer = 32, can_shift = 1",
        "0.01.448.856 I init:      CUDA0 KV buffer size =   640.00 MiB",
        "0.01.448.868 I llama_context_kv_self: KV self size  =  640.00 MiB, K (f16):  320.00 MiB, V (f16):  320.00 MiB",
    )
    assert (seen.cells, seen.layers, seen.available_kv_bytes) == (2048, 32, 640 * MIB)


def test_an_mb_of_2023_is_a_mib():
    """`kv self size  =  400.00 MB`: llama.cpp divided by 1024 * 1024."""
    assert parse("llama_init_from_file: kv self size  =  400.00 MB").available_kv_bytes == 400 * MIB


def test_windowed_layers_have_a_cache_of_their_own():
    seen = parse(
        "llama_kv_cache_iswa: creating non-SWA KV cache, size = 131072 cells",
        "llama_kv_cache: size = 3072.00 MiB (131072 cells,  12 layers,  1/1 seqs), K (f16): 1536.00 MiB, V (f16): 1536.00 MiB",
        "llama_kv_cache_iswa: creating     SWA KV cache, size = 768 cells",
        "llama_kv_cache: size =   18.00 MiB (   768 cells,  12 layers,  1/1 seqs), K (f16):    9.00 MiB, V (f16):    9.00 MiB",
    )
    assert [(pool.kind, pool.tokens, pool.bytes) for pool in seen.pools] == [
        ("full", 131072, 3072 * MIB),
        ("window", 768, 18 * MIB),
    ]
    assert (seen.available_kv_bytes, seen.kv_tokens) == (3090 * MIB, 131072)


def test_recurrent_states_are_a_pool():
    seen = parse(
        "llama_kv_cache: size =  80.00 MiB (  4096 cells,  10 layers,  1/1 seqs), K (f16):   40.00 MiB, V (f16):   40.00 MiB",
        "llama_memory_recurrent: size =   62.81 MiB (     1 cells,  48 layers,  1 seqs), R (f32):    2.81 MiB, S (f32):   60.00 MiB",
    )
    assert [(pool.kind, pool.slots) for pool in seen.pools] == [("full", None), ("state", 1)]
    assert seen.pools[1].bytes == pytest.approx(62.81 * MIB)


def test_a_draft_models_cache_is_noted_and_not_read():
    line = "llama_kv_cache: size = {0}.00 MiB ( 4096 cells, {1} layers, 1/1 seqs), K (f16): 1.00 MiB, V (f16): 1.00 MiB"
    seen = parse(line.format(512, 32), line.format(2, 1))
    assert (seen.layers, seen.available_kv_bytes) == (32, 512 * MIB)
    assert any("second KV cache" in note for note in seen.notes)


def test_weights_add_up_over_gpus_but_not_the_host():
    seen = parse(
        "build: 5943 (1a67fcc3) with cc",
        "load_tensors:        CUDA0 model buffer size =  4403.50 MiB",
        "load_tensors:        CUDA1 model buffer size =  4000.00 MiB",
        "load_tensors:   CPU_Mapped model buffer size =   281.81 MiB",
        "print_info: general.name     = Llama 3 8B",
        "llama_kv_cache: size = 512.00 MiB ( 4096 cells, 32 layers, 1/1 seqs), K (f16): 256.00 MiB, V (f16): 256.00 MiB",
    )
    assert (seen.version, seen.model) == ("b5943", "Llama 3 8B")
    assert seen.weights_bytes == 8403.5 * MIB
