"""Architectures of transformers: tiny configurations, of which models with random weights are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.exported_models.architectures import (
    BATCHES,
    TOKENS,
    Architecture,
    Input,
    Mask,
    ThreeSizes,
    also,
)

WORDS = 96
IDS = Input("input_ids", ("batch", "seq"), WORDS, first=3)
MASK = Mask("attention_mask", ("batch", "seq"))
TARGET = Input("decoder_input_ids", ("batch", "out"), WORDS, first=3)
IMAGE = Input("pixel_values", ("batch", 3, 32, 32))
BODY: Mapping[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
TEXT: Mapping[str, Any] = {**BODY, "vocab_size": WORDS, "max_position_embeddings": 64}
"""What most configurations of text models call their sizes."""
DECODER: Mapping[str, Any] = {**TEXT, "use_cache": False}
GROUPED: Mapping[str, Any] = {**DECODER, "num_key_value_heads": 2}
VISION: Mapping[str, Any] = {**BODY, "image_size": 32, "patch_size": 8}
PAIR: Mapping[str, Any] = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "use_cache": False,
}


def row(
    family: str,
    model: str,
    settings: Mapping[str, Any],
    inputs: tuple[Input, ...] = (IDS, MASK),
    sizes: ThreeSizes = TOKENS,
) -> Architecture:
    """An architecture by the name of its class, which begins as its configuration's does."""
    name = model.partition("For")[0].removesuffix("Model").removesuffix("LMHead")
    return Architecture(name, family, model, inputs, sizes, f"{name}Config", settings)


ENCODERS = (
    row("encoder", "BertModel", TEXT),
    row("encoder", "DistilBertForSequenceClassification",
        {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64}),
    row("encoder", "DebertaV2Model",
        {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}),
    row("encoder", "ModernBertModel",
        {**TEXT, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2,
         "local_attention": 8}),
)  # fmt: skip
DECODERS = (
    row("decoder", "GPT2LMHeadModel",
        {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "use_cache": False}),
    row("decoder", "LlamaForCausalLM", GROUPED),
    row("decoder", "MistralForCausalLM", {**GROUPED, "sliding_window": 8}),
    row("decoder", "BloomForCausalLM",
        {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4, "use_cache": False}),
    row("recurrent", "MambaForCausalLM",
        {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "use_cache": False},
        (Input("input_ids", ("batch", 8), WORDS),), BATCHES),
)  # fmt: skip
PAIRS = (
    row("encoder-decoder", "T5ForConditionalGeneration",
        {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "use_cache": False},
        (IDS, MASK, TARGET), also("out", (5, 3, 9))),
    row("encoder-decoder", "BartForConditionalGeneration", {**PAIR, "max_position_embeddings": 64},
        (IDS, MASK, TARGET), also("out", (5, 3, 9))),
)  # fmt: skip
EXPERTS = (
    row("experts", "MixtralForCausalLM", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2,
                                           "experts_implementation": "batched_mm"}),
)  # fmt: skip
IMAGES = (
    row("vision", "ViTForImageClassification", VISION, (IMAGE,), BATCHES),
    row("vision", "SwinForImageClassification",
        {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4},
        (IMAGE,), BATCHES),
    row("convolutional", "ConvNextForImageClassification",
        {"hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 1, 1]}, (IMAGE,), BATCHES),
    row("segmentation", "SegformerForSemanticSegmentation",
        {"hidden_sizes": [8, 8, 16, 16], "num_attention_heads": [1, 1, 2, 2], "depths": [1, 1, 1, 1],
         "decoder_hidden_size": 16}, (IMAGE,), BATCHES),
    row("detection", "YolosForObjectDetection",
        {**VISION, "image_size": [32, 32], "num_detection_tokens": 6}, (IMAGE,), BATCHES),
)  # fmt: skip
SPEECH = (
    row("speech", "Wav2Vec2ForCTC",
        {**BODY, "vocab_size": WORDS, "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 2),
         "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4},
        (Input("input_values", ("batch", "samples")),), also("samples", (400, 640, 1000), BATCHES)),
    row("speech", "WhisperForConditionalGeneration",
        {**PAIR, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 64, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1},
        (Input("input_features", ("batch", 16, 40)), TARGET), also("out", (5, 9, 12), BATCHES)),
)  # fmt: skip
ROWS = (*ENCODERS, *DECODERS, *PAIRS, *EXPERTS, *IMAGES, *SPEECH)
