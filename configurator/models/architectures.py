"""How SGLang 0.5.23 classes model architectures: names, and the numbers its own config classes fall back to.

Source: sglang 0.5.23, ``sglang/srt/configs/model_config.py`` (``ModelConfig._derive_model_shapes`` and the functions
``is_deepseek_dsa``, ``is_hybrid_swa_model``, ``is_encoder_decoder_model``), restated as data. The server decides by
these names, not by the shape of the config: a file with ``kv_lora_rank`` whose architecture is not named here takes
the ordinary attention path.
"""

from __future__ import annotations

from collections.abc import Mapping

MLA_ARCHITECTURES = frozenset(
    {
        "BailingMoeV2_5ForCausalLM",
        "BailingMoeV3ForCausalLM",
        "BailingMoeV3VLForConditionalGeneration",
        "DeepseekV2ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV3ForCausalLMNextN",
        "DeepseekVL2ForCausalLM",
        "Dots3NoteForCausalLM",
        "Dots3NoteForCausalLMNextN",
        "DotsVLMForCausalLM",
        "Eagle3DeepseekV2ForCausalLM",
        "GigaChat35ForCausalLM",
        "GigaChat35ForCausalLMNextN",
        "Glm4MoeLiteForCausalLM",
        "Glm4MoeLiteForCausalLMNextN",
        "Glm5NextForConditionalGeneration",
        "Glm5NextForConditionalGenerationNextN",
        "GlmMoeDsaForCausalLM",
        "GlmMoeDsaForCausalLMNextN",
        "HYV4ForCausalLM",
        "HYV4ForCausalLMNextN",
        "KimiK25ForConditionalGeneration",
        "KimiK3ForConditionalGeneration",
        "KimiK3LinearForCausalLM",
        "KimiLinearForCausalLM",
        "KimiVLForConditionalGeneration",
        "LongcatFlashForCausalLM",
        "LongcatFlashForCausalLMNextN",
        "MiniCPM3ForCausalLM",
        "MistralLarge3ForCausalLM",
        "MistralLarge3ForCausalLMEagle",
        "SarvamMLAForCausalLM",
    }
)
"""Architectures served with multi-head latent attention, whatever their config holds."""

MLA_IF_LATENT_ARCHITECTURES = frozenset({"PixtralForConditionalGeneration", "BailingMoeForCausalLMNextN"})
"""Architectures served with latent attention only where ``kv_lora_rank`` is set."""

DSA_ARCHITECTURES = frozenset(
    {
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV3ForCausalLMNextN",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
        "GlmMoeDsaForCausalLM",
        "GlmMoeDsaForCausalLMNextN",
        "Glm5NextForConditionalGeneration",
        "Glm5NextForConditionalGenerationNextN",
        "LongcatFlashForCausalLM",
        "LongcatFlashForCausalLMNextN",
        "Dots3NoteForCausalLM",
        "Dots3NoteForCausalLMNextN",
        "HYV4ForCausalLM",
        "HYV4ForCausalLMNextN",
    }
)
"""Architectures with DeepSeek sparse attention where ``index_topk`` is set."""

OTHER_KIND_ARCHITECTURES: Mapping[str, str] = {
    "DeepseekV4ForCausalLM": "DeepSeek-V4's compressed attention",
    "DeepseekV4ForCausalLMNextN": "DeepSeek-V4's compressed attention",
    "DeepseekV4ForCausalLMDSpark": "DeepSeek-V4's compressed attention",
}
"""Architectures whose attention is neither latent nor grouped-query in the sense of the rules."""

STATE_SPACE_ARCHITECTURES = frozenset({"Mamba2ForCausalLM", "MambaForCausalLM", "FalconMambaForCausalLM"})
"""Models without any attention."""

SINK_ARCHITECTURES = frozenset(
    {
        "GptOssForCausalLM",
        "GraniteSWAForCausalLM",
        "GraniteMoeSWAForCausalLM",
        "IQuestQ1ForCausalLM",
        "IQuestQ1MTP",
    }
)
"""Architectures with learned attention sinks; all of them mix sliding-window and full attention."""

SINK_IF_FLAGGED_ARCHITECTURES = frozenset({"MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM", "MiMoV2MTP"})
"""Architectures with sinks where ``add_swa_attention_sink_bias`` or ``add_full_attention_sink_bias`` is set."""

HYBRID_SWA_ARCHITECTURES = (
    SINK_ARCHITECTURES
    | SINK_IF_FLAGGED_ARCHITECTURES
    | frozenset(
        {
            "BeamForCausalLM",
            "DeepseekV4ForCausalLM",
            "DeepseekV4ForCausalLMDSpark",
            "DeepseekV4ForCausalLMNextN",
            "DiffusionGemmaForBlockDiffusion",
            "EmbeddingGemma2Model",
            "Gemma4ForCausalLM",
            "Gemma4ForConditionalGeneration",
            "Gemma4UnifiedForConditionalGeneration",
            "InklingForConditionalGeneration",
            "InklingForConditionalGenerationMTP",
            "LagunaForCausalLM",
            "Llama4ForConditionalGeneration",
            "MellumForCausalLM",
            "MuseGlimmerForCausalLM",
            "MuseGlimmerForConditionalGeneration",
            "Step3p5ForCausalLM",
            "Step3p5MTP",
            "Step3p7ForConditionalGeneration",
            "UnlimitedOCRForCausalLM",
        }
    )
)
"""Architectures with two KV pools: one for layers that see a window, one for layers that see everything."""

ENCODER_DECODER_ARCHITECTURES = frozenset(
    {"WhisperForConditionalGeneration", "MllamaForConditionalGeneration", "MossVLForConditionalGeneration"}
)
"""Architectures with a cross-attention cache."""

CLASS_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    # sglang/srt/configs/hy_v4.py, HYV4Config
    "HYV4ForCausalLM": {
        "vocab_size": 120832,
        "hidden_size": 2816,
        "intermediate_size": 6912,
        "moe_intermediate_size": 768,
        "num_hidden_layers": 34,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "max_position_embeddings": 262144,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 192,
        "qk_rope_head_dim": 64,
        "v_head_dim": 256,
        "index_topk": 2048,
        "index_head_dim": 128,
        "index_n_heads": 16,
        "index_topk_freq": 4,
        "first_k_dense_replace": 1,
        "learnable_sink": True,
        "num_nextn_predict_layers": 1,
    },
    # sglang/srt/configs/iquest_q1.py, IQuestQ1Config: one full layer, 21 blocks of one full and three sliding
    # layers, three full layers.
    "IQuestQ1ForCausalLM": {
        "vocab_size": 160000,
        "hidden_size": 3072,
        "intermediate_size": 1536,
        "num_hidden_layers": 88,
        "num_attention_heads": 48,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 524288,
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "sliding_window": 4096,
        "layer_types": (
            "full_attention",
            *("full_attention", *("sliding_attention",) * 3) * 21,
            *("full_attention",) * 3,
        ),
    },
    # sglang/srt/configs/qwen3_next.py, Qwen3NextConfig, and qwen3_5.py: every fourth layer is full attention.
    "Qwen3NextForCausalLM": {"full_attention_interval": 4},
    "Qwen3_5ForConditionalGeneration": {"full_attention_interval": 4},
    "Qwen3_5MoeForConditionalGeneration": {"full_attention_interval": 4},
    # transformers, Llama4TextConfig
    "Llama4ForConditionalGeneration": {"attention_chunk_size": 8192},
}
"""What a key means that the file leaves out, by architecture; a key given as ``null`` is not left out."""
