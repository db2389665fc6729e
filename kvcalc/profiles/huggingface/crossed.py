"""Encoder-decoder models: the decoder's own keys and values, and those of the encoder's output."""

from kvcalc.errors import UserError
from kvcalc.profiles.huggingface.entries import Entries
from kvcalc.profiles.huggingface.grouped import Layers, Widths


def whisper(entries: Entries) -> Layers:
    """Whisper: max_source_positions frames of sound, 1,500 for 30 seconds."""
    return _both(entries, _decoder(entries), entries.count("max_source_positions"))


def bart(entries: Entries) -> Layers:
    """BART, mBART, Pegasus, Marian, M2M-100, BlenderBot: the encoder sees as many tokens as the file's limit."""
    tokens = entries.count("max_position_embeddings")
    entries.assume(f"cross attention is counted for {tokens:,} tokens of the encoder, the most it takes")
    return _both(entries, _decoder(entries), tokens)


def _decoder(entries: Entries) -> Widths:
    heads, hidden = entries.count("decoder_attention_heads"), entries.count("d_model")
    entries.read.update(("num_attention_heads", "num_hidden_layers"))
    if hidden % heads:
        raise UserError(f"{entries.where}: d_model {hidden} does not divide by {heads} heads")
    return Widths(heads, heads, hidden // heads, hidden // heads)


def t5(entries: Entries) -> Layers:
    """T5, mT5, UMT5: heads of d_kv elements; positions are relative, so the limit is what n_positions says."""
    heads, width = entries.count("num_heads"), entries.count("d_kv")
    tokens = entries.maybe("n_positions")
    if tokens is None:
        raise UserError(f"{entries.where}: n_positions is missing: how many tokens the encoder sees isn't known")
    entries.assume(f"cross attention is counted for {tokens:,} tokens of the encoder")
    return _both(entries, Widths(heads, heads, width, width), tokens)


def _both(entries: Entries, shape: Widths, tokens: int) -> Layers:
    entries.read.update(("is_encoder_decoder", "add_cross_attention", "tie_encoder_decoder"))
    entries.read.update(each for each in entries.document if each.startswith(("encoder_", "decoder_")))
    layers = entries.maybe("decoder_layers", "num_decoder_layers") or entries.count("num_layers")
    both = [shape.state("full"), shape.state("cross") | {"encoder_tokens": tokens}]
    return [both for _ in range(entries.bounded(layers))]
