"""What a user can get wrong: one line on stderr that says what, where and what to do; exit code 2; stdout empty."""

import csv
import os

import pytest

CHAPTER = ("margin", "--model", "llama3-70b")


@pytest.mark.parametrize(("name", "hint"), [
    ("llama3-7b", "llama3-70b"),
    ("lama3-70b", "llama3-70b"),
    ("Llama_3_70B", "llama3-70b"),
    ("deepseekv3", "deepseek-v3"),
    ("gptoss120b", "gpt-oss-120b"),
    ("meta-llama/Meta-Llama-3-70B-Inst", "meta-llama/Meta-Llama-3-70B"),
])  # fmt: skip
def test_unknown_model_is_refused_with_the_nearest(refused, name, hint):
    assert refused("margin", "--model", name) == f"no model {name!r}; did you mean {hint!r}?"


def test_name_like_no_other_says_where_the_names_are(refused):
    assert refused("margin", "--model", "xyzzy") == "no model 'xyzzy'; 'kvcalc models list' lists them"
    assert "kvcalc hardware list" in refused(*CHAPTER, "--hardware", "xyzzy")
    assert "kvcalc hardware list" in refused(*CHAPTER, "--tier", "xyzzy")


def test_unknown_hardware_tier_and_engine_are_refused_with_the_nearest(refused):
    assert refused(*CHAPTER, "--hardware", "h100-pcie").startswith("no node 'h100-pcie'; did you mean 'h100-pcie5'?")
    assert refused(*CHAPTER, "--tier", "ethernet-26g") == "no tier 'ethernet-26g'; did you mean 'ethernet-25g'?"
    engine = refused(*CHAPTER, "--engine", "vlm")
    assert "'vlm'" in engine
    assert "'vllm'" in engine


def test_unknown_node_among_several_is_refused(refused):
    assert "h200-pcie5" in refused(*CHAPTER, "--hardware", "h100-pcie5", "--hardware", "h200-pcie")


NO_LENGTH = ["-5", "1e12", "1.5", "abc", "", " ", "20 GB", "1,5", "nan", "inf", "1e400", "20000x", "-0.5", "٣"]


@pytest.mark.parametrize(
    ("option", "text"), [("--seq", "0"), *((each, text) for each in ("--seq", "--new") for text in NO_LENGTH)]
)
def test_length_that_is_none_is_refused(refused, option, text):
    line = refused(*CHAPTER, option, text)
    assert repr(text) in line or repr(text.strip()) in line
    assert "token" in line


def test_too_long_a_length_says_what_the_longest_is(refused):
    assert (
        refused(*CHAPTER, "--seq", "1e12")
        == "--seq: '1e12' tokens is longer than any prompt; the longest here is 100,000,000"
    )


@pytest.mark.parametrize(("option", "text", "words"), [
    ("--bandwidth", "nvme", "'nvme' has no tier and value"),
    ("--bandwidth", "=7GB/s", "no tier and value"),
    ("--bandwidth", "nvme=", "no tier and value"),
    ("--bandwidth", "nvme=7", "'7' is not a rate"),  # unit missing
    ("--bandwidth", "nvme=7 GB", "'7 GB' is not a rate"),  # unit of another dimension
    ("--bandwidth", "nvme=7 ms", "'7 ms' is not a rate"),
    ("--bandwidth", "nvme=-7 GB/s", "'-7 GB/s' is not a rate"),
    ("--bandwidth", "nvme=0 GB/s", "above zero"),
    ("--bandwidth", "nvme=0", "'0' is not a rate"),
    ("--bandwidth", "nvme=fast", "'fast' is not a rate"),
    ("--bandwidth", "nvme=5,5 GB/s", "'5,5 GB/s' is not a rate"),  # a decimal comma, not 55
    ("--bandwidth", "nvme=7 mB/s", "'7 mB/s' is not a rate"),  # thousandths of a byte
    ("--bandwidth", "tape=7GB/s", "no tier 'tape' here"),
    ("--bandwidth", "network=7GB/s", "fits several tiers"),
    ("--latency", "nvme", "no tier and value"),
    ("--latency", "nvme=5", "'5' is not a time"),
    ("--latency", "nvme=5 GB/s", "'5 GB/s' is not a time"),
    ("--latency", "nvme=-5 us", "'-5 us' is not a time"),
    ("--latency", "tape=5us", "no tier 'tape' here"),
    ("--latency", "network=5us", "fits several tiers"),
    ("--tier", "network", "fits several tiers"),
    ("--kv-dtype", "fp7", "no KV format 'fp7'"),
    ("--kv-dtype", "fp8_ds_mla", "'llama3-70b' as fp8_ds_mla"),  # a latent format on a GQA model
    ("--tp", "3", "use --tp 2"),  # 64 heads don't divide
    ("--tp", "16", "use --tp 8 or less"),  # more than the node's GPUs
    ("--tp", "0", "'--tp'"),
    ("--tp", "-1", "'--tp'"),
    ("--tp", "two", "'--tp'"),
    ("--links", "0", "'0' is not a number of links"),
    ("--links", "x", "'x' is not a number of links"),
    ("--links", "-1", "'-1' is not a number of links"),
    ("--links", "1.5", "'1.5' is not a number of links"),
    ("--links", "9", "use --links 8 or all"),
    ("--prefill", "0", "above zero"),
    ("--prefill", "-5", "'-5' is not a rate"),
    ("--prefill", "x", "'x' is not a rate"),
    ("--prefill", "5 GB/s", "'5 GB/s' is not a rate"),
    ("--prefill", "nan", "'nan' is not a rate"),
    ("--min-margin", "0.5", "a minimum margin is a number from 1, not 0.5"),
    ("--min-margin", "x", "'--min-margin'"),
    ("--min-margin", "nan", "minimum margin"),
    ("--min-margin", "inf", "minimum margin"),
    ("--page", "0", "'--page'"),
    ("--page", "16", "--layout"),
    ("--layout", "per-layer", "--page 16"),
    ("--layout", "sideways", "'sideways'"),
    ("--weights", "int3", "'int3'"),
    ("--weights", "mxfp4", "no MXFP4 experts"),
    ("--fail-if", "never", "'never'"),
    ("--format", "yaml", "'yaml'"),
    ("--wieghts", "fp8", "--wieghts"),
    ("--bandwidht", "nvme=5GB/s", "--bandwidht"),
])  # fmt: skip
def test_bad_option_is_refused_with_what_is_wrong(refused, option, text, words):
    assert words in refused(*CHAPTER, option, text)


def test_zero_latency_needs_no_unit_and_a_value_may_be_given_once(run, refused):
    assert run(*CHAPTER, "--latency", "all=0").code == 0
    assert "given twice" in refused(*CHAPTER, "--latency", "nvme=1us", "--latency", "nvme=2us")
    assert "given twice" in refused(*CHAPTER, "--bandwidth", "nvme=1GB/s", "--bandwidth", "nvme=2GB/s")


def test_formats_that_no_engine_stores_for_a_model_are_refused_with_those_that_are(refused):
    assert "one of bf16, fp16, fp8" in refused("margin", "--model", "deepseek-v3", "--kv-dtype", "int8")
    assert "one of bf16, fp16, fp8_ds_mla" in refused("margin", "--model", "deepseek-v3.2", "--kv-dtype", "q8_0")


def test_split_of_an_odd_number_of_heads_names_one_that_works(refused):
    line = refused("margin", "--model", "qwen2.5-7b")  # 28 heads on the node's 8 GPUs
    assert "28" in line
    assert "--tp 4" in line


def test_model_is_required(refused):
    assert "'--model'" in refused("margin")
    assert "--help" in refused("margin")


def test_unknown_command_names_the_nearest(refused):
    assert "'margin'" in refused("marginn")


def test_option_without_its_value_and_extra_words_are_refused(refused):
    assert "'--seq'" in refused(*CHAPTER, "--seq")
    assert "surplus" in refused(*CHAPTER, "surplus")


def test_node_that_can_not_answer_is_named(refused):
    # an A100 computes no MXFP4: of two nodes the reader must learn which one is meant
    line = refused("margin", "--model", "gpt-oss-120b", "--hardware", "h100-pcie5", "--hardware", "a100-pcie4")
    assert "a100" in line


TIER = """\
kind: tier
name: mine
title: Mine
medium: nvme
path: my path
links: per-node
read:
  bandwidth: 7 GB/s [log]
  latency: 100 us [log]
sources:
  log: {title: My log, address: host a, basis: measured, checked: 2026-11-29}
"""
NODE = """\
kind: node
name: mine
title: Mine
accelerator: h100-sxm
gpus: 8
host_memory: 2 TB [log]
tiers:
  - tier: dram-pcie5
    bandwidth: 50 GB/s [log]
sources:
  log: {title: My log, address: host a, basis: measured, checked: 2026-11-29}
"""


@pytest.mark.parametrize(("right", "wrong", "line", "words"), [
    ("7 GB/s [log]", "7 [log]", 8, ("read.bandwidth", "'7' is not a rate")),  # unit missing
    ("7 GB/s [log]", "7 ms [log]", 8, ("read.bandwidth", "'7 ms' is not a rate")),  # another dimension
    ("7 GB/s [log]", "7 GB [log]", 8, ("read.bandwidth", "'7 GB' is not a rate")),
    ("7 GB/s [log]", "7", 8, ("read.bandwidth", "does not name its source")),
    ("7 GB/s [log]", "7 GB/s [lgo]", 8, ("read.bandwidth", "'lgo'")),  # unknown source
    ("7 GB/s [log]", "-7 GB/s [log]", 8, ("read.bandwidth", "-7 GB/s")),
    ("7 GB/s [log]", "{low: '9 GB/s [log]', typical: '7 GB/s [log]'}", 8, ("read.bandwidth", "order")),
    ("100 us [log]", "100 us [log]\n  latency: 90 us [log]", 10, ("'latency' is given twice",)),  # duplicate key
    ("links: per-node", "links: per-rack", 6, ("links", "per-node")),
    ("links: per-node", "links: per-node\nlane: 3", 7, ("lane", "not a key known here")),
    ("path: my path\n", "", 1, ("path", "missing")),
    ("medium: nvme", "medium: [nvme", None, ("line",)),  # not YAML
    ("read:", "read", 8, ()),  # not YAML
    ("basis: measured", "basis: hearsay", 11, ("sources.log.basis",)),
    ("checked: 2026-11-29", "checked: soon", 11, ("sources.log.checked",)),
    ("name: mine", "name: My Tier", 2, ("name",)),
])  # fmt: skip
def test_malformed_tier_is_refused_with_its_file_line_and_field(refused, tmp_path, right, wrong, line, words):
    assert right in TIER
    file = tmp_path / "mine.yaml"
    file.write_text(TIER.replace(right, wrong))
    for argv in ((*CHAPTER, "--tier", str(file)), ("hardware", "check", str(file))):
        said = refused(*argv)
        assert said.startswith(f"{file}: ")
        assert line is None or f" line {line}: " in said, said
        assert all(word in said for word in words), said


@pytest.mark.parametrize(("right", "wrong", "line", "words"), [
    ("gpus: 8", "gpus: eight", 5, ("gpus",)),
    ("gpus: 8", "gpus: 0", 5, ("gpus",)),
    ("gpus: 8", "gpus: true", 5, ("gpus",)),
    ("gpus: 8", "gpus: 8\ngpus: 4", 6, ("'gpus' is given twice",)),
    ("2 TB [log]", "2 TB/s [log]", 6, ("host_memory", "'2 TB/s' is not a size")),
    ("50 GB/s [log]", "50 [log]", 9, ("tiers.0.bandwidth", "'50' is not a rate")),
])  # fmt: skip
def test_malformed_node_is_refused_with_its_file_line_and_field(refused, tmp_path, right, wrong, line, words):
    assert right in NODE
    file = tmp_path / "mine.yaml"
    file.write_text(NODE.replace(right, wrong))
    said = refused(*CHAPTER, "--hardware", str(file))
    assert said.startswith(f"{file}: line {line}: "), said
    assert all(word in said for word in words), said


MODEL = """\
name: mine
title: Mine
source: log
context: 8192
hidden: 4096
vocabulary: 32000
groups:
  - {kind: full, layers: 32, heads: 32, kv_heads: 8, key_width: 128, value_width: 128}
sources:
  log: {title: My log, address: host a, basis: config, checked: 2026-11-29}
"""


@pytest.mark.parametrize(("right", "wrong", "line", "words"), [
    ("kind: full", "kind: fool", 8, ("groups.0", "fool")),
    ("kv_heads: 8, ", "", 8, ("groups.0", "kv_heads", "missing")),
    ("layers: 32", "layers: 0", 8, ("groups.0", "layers")),
    ("layers: 32", "layers: 32.0", 8, ("groups.0", "layers")),
    ("layers: 32", "layers: yes", 8, ("groups.0", "layers")),
    ("layers: 32", "layers: 32, layers: 16", 8, ("'layers' is given twice",)),
    ("layers: 32", "layers: 32, window: 4", 8, ("groups.0", "window", "not a key known here")),
    ("context: 8192", "context: 8k", 4, ("context",)),
    ("source: log", "source: lgo", 3, ("source", "'lgo'")),
    ("hidden: 4096\n", "", 1, ("hidden", "missing")),
])  # fmt: skip
def test_malformed_model_is_refused_with_its_file_line_and_field(refused, tmp_path, right, wrong, line, words):
    assert right in MODEL
    file = tmp_path / "mine.yaml"
    file.write_text(MODEL.replace(right, wrong))
    for argv in (("margin", "--model", str(file)), ("models", "check", str(file))):
        said = refused(*argv)
        assert said.startswith(f"{file}: line {line}: "), said
        assert all(word in said for word in words), said


def test_well_formed_model_without_feed_forward_fields_is_taken_with_a_rate(run, refused, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(MODEL)
    ran = run("margin", "--model", str(file), "--prefill", "10000", "--format", "json")
    assert ran.json["kv_bytes_per_token"] == 32 * 8 * 256
    assert "--prefill RATE" in refused("margin", "--model", str(file))


def test_names_that_a_node_gets_wrong_are_refused(refused, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(NODE.replace("h100-sxm", "h100-smx"))
    assert "h100-sxm" in refused(*CHAPTER, "--hardware", str(file))
    file.with_name("other.yaml").write_text(NODE.replace("dram-pcie5", "dram-pcie6"))
    assert "dram-pcie" in refused(*CHAPTER, "--hardware", str(file.with_name("other.yaml")))


def test_well_formed_tier_and_node_are_taken(run, tmp_path):
    tier, node = tmp_path / "tier.yaml", tmp_path / "node.yaml"
    tier.write_text(TIER)
    node.write_text(NODE)
    ran = run(*CHAPTER, "--hardware", str(node), "--tier", str(tier), "--format", "csv")
    assert (ran.code, ran.err) == (0, "")
    assert [row["tier"] for row in csv.DictReader(ran.out.splitlines())] == ["dram-pcie5", "dram-pcie5", "mine"]


@pytest.mark.parametrize(("text", "words"), [
    ("", "no keys and values"),
    ("- 1\n- 2\n", "no keys and values"),
    ("just words", "no keys and values"),
    ("\x00", ""),
    ("a: &a [*a]\n", ""),
    ("? [1, 2]\n: 3\n", ""),
    ("a: !!python/object/apply:os.getcwd []\n", ""),
])  # fmt: skip
def test_file_that_is_no_profile_is_refused(refused, tmp_path, text, words):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    for argv in (
        ("margin", "--model", str(file)),
        (*CHAPTER, "--hardware", str(file)),
        (*CHAPTER, "--tier", str(file)),
        ("models", "check", str(file)),
        ("hardware", "check", str(file)),
    ):
        said = refused(*argv)
        assert said.startswith(f"{file}: ")
        assert words in said or argv[1] == "check"


def test_file_that_is_not_there_or_not_text_is_refused(refused, tmp_path):
    missing, binary = tmp_path / "missing.yaml", tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00name")
    assert refused("margin", "--model", str(missing)) == f"{missing}: no such file or directory"
    assert "UTF-8" in refused("margin", "--model", str(binary))
    assert str(tmp_path) in refused("margin", "--model", f"{tmp_path}.yaml")


@pytest.mark.parametrize(("options", "named"), [
    (["--seq", "-1"], "--seq: "),
    (["--new", "nan"], "--new: "),
    (["--prefill", "fast"], "--prefill: "),
    (["--bandwidth", "dram=5"], "--bandwidth dram: "),
    (["--latency", "dram=5"], "--latency dram: "),
])  # fmt: skip
def test_a_value_that_can_not_be_read_names_its_option(refused, options, named):
    assert refused(*CHAPTER, *options).startswith(named)


@pytest.mark.parametrize("options", [
    ["--bandwidth", "dram=1e-300B/s"],
    ["--bandwidth", "dram=1e300B/s"],
    ["--latency", "all=1e300s"],
    ["--prefill", "1e-320"],
    ["--prefill", "1e300"],
    ["--min-margin", "1e308"],
    ["--links", "9" * 5000],
])  # fmt: skip
def test_numbers_that_nothing_in_the_world_has_are_refused(refused, options):
    assert len(refused(*CHAPTER, *options)) < 200


def test_a_node_that_is_named_must_answer_beside_all_others(refused):
    assert "no node 'nowhere'" in refused(*CHAPTER, "--hardware", "all", "--hardware", "nowhere")


def test_help_that_a_refusal_names_is_that_of_the_command(refused):
    assert "'kvcalc margin --help'" in refused("margin")


def test_output_to_a_device_is_refused(refused):
    assert "not a plain file" in refused(*CHAPTER, "--output", "/dev/stdout")


def test_a_pipe_in_place_of_a_profile_is_refused_and_not_waited_for(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "is not a plain file" in refused("models", "check", str(tmp_path / "pipe.yaml"))
    assert "is not a plain file" in refused(*CHAPTER, "--tier", str(tmp_path / "pipe.yaml"))


def test_a_path_that_is_not_text_is_refused_like_another(refused):
    assert "no such file" in refused("margin", "--model", os.fsdecode(b"caf\xe9.yaml"))
