"""Architectures that SGLang treats alike, by the class names it dispatches on.

Restated from the release named with each; a name that an older release does not know cannot occur there.
"""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, wheel
from configurator.core.expr import Expr, model, step
from configurator.core.rule import Resolution

ARCHITECTURE = model.architecture

_FAMILY_15 = (
    "DeepseekV3ForCausalLM",
    "DeepseekV32ForCausalLM",
    "KimiK25ForConditionalGeneration",
    "MistralLarge3ForCausalLM",
    "PixtralForConditionalGeneration",
    "GlmMoeDsaForCausalLM",
)
_FAMILY_17 = (*_FAMILY_15, "LongcatFlashForCausalLM", "LongcatFlashForCausalLMNextN")
_FAMILY_19 = (*_FAMILY_17, "Dots3NoteForCausalLM")
_FAMILY_20 = (*_FAMILY_19, "Glm5NextForConditionalGeneration", "HYV4ForCausalLM", "HYV4ForCausalLMNextN")


def _family(number: int, slug: str, release: str, names: tuple[str, ...]) -> Resolution:
    return fills(
        f"MDL{number}",
        slug,
        order.MODEL - 5,
        when=ARCHITECTURE.is_in(*names),
        sets={"step.deepseek_family": True},
        because="The release gives this model DeepSeek's defaults.",
        source=wheel("arg_groups/overrides.py", "_DEEPSEEK_FAMILY_ARCHS", None, release),
    )


FAMILY_15 = _family(880, "deepseek-family-15", "0.5.16", _FAMILY_15)
FAMILY_17 = _family(881, "deepseek-family-17", "0.5.18", _FAMILY_17)
FAMILY_19 = _family(882, "deepseek-family-19", "0.5.19", _FAMILY_19)
FAMILY_20 = _family(883, "deepseek-family", "0.5.23", _FAMILY_20)
DEEPSEEK: Expr = step.deepseek_family.holds()
"""Models with DeepSeek's own defaults, as the release lists them."""

KIMI_K3: Expr = ARCHITECTURE.equals("KimiK3ForConditionalGeneration")
KIMI_K25: Expr = ARCHITECTURE.equals("KimiK25ForConditionalGeneration")
DEEPSEEK_V3: Expr = ARCHITECTURE.equals("DeepseekV3ForCausalLM")
DEEPSEEK_V4: Expr = ARCHITECTURE.equals("DeepseekV4ForCausalLM")
GLM_DSA: Expr = ARCHITECTURE.equals("GlmMoeDsaForCausalLM")
HYV4: Expr = ARCHITECTURE.is_in("HYV4ForCausalLM", "HYV4ForCausalLMNextN")
IQUEST: Expr = ARCHITECTURE.is_in("IQuestQ1ForCausalLM", "IQuestQ1MTP")
NEMOTRON_H: Expr = ARCHITECTURE.is_in("NemotronHForCausalLM", "NemotronHPuzzleForCausalLM")
GPT_OSS: Expr = ARCHITECTURE.equals("GptOssForCausalLM")
DIFFUSION_GEMMA: Expr = ARCHITECTURE.equals("DiffusionGemmaForBlockDiffusion")

QWEN35: Expr = ARCHITECTURE.is_in("Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration")
QWEN_HYBRID: Expr = ARCHITECTURE.is_in(
    "Qwen3NextForCausalLM",
    "Qwen3_5MoeForConditionalGeneration",
    "InternS2PreviewForConditionalGeneration",
    "InternS2MobiusForConditionalGeneration",
    "Qwen3_5ForConditionalGeneration",
)
"""Gated-delta hybrids. Source: arg_groups/model_overrides/qwen3_5.py:18, 0.5.23."""

KDA: Expr = ARCHITECTURE.is_in("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration", "KimiK3LinearForCausalLM")
"""Kimi delta attention beside full attention. Source: configs/model_config.py:230, 0.5.23."""

FUSED_KV_WRITE: Expr = ARCHITECTURE.is_in(
    "Qwen3MoeForCausalLM",
    "BailingMoeForCausalLM",
    "BailingMoeV2ForCausalLM",
    "GptOssForCausalLM",
    "SDARForCausalLM",
    "SDARMoeForCausalLM",
    "LLaDA2MoeModelLM",
    "MellumForCausalLM",
)
"""Models that write the KV cache inside the rotary kernel. Source: models/qwen3_moe.py:733 and its like, 0.5.23."""

MLA_WITHOUT_HOOK: Expr = ARCHITECTURE.is_in(
    "LongcatFlashForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "BailingMoeV2_5ForCausalLM",
    "BailingMoeLinearForCausalLM",
    "BailingMoeV3ForCausalLM",
    "SarvamMLAForCausalLM",
    "Dots3NoteForCausalLM",
    "GigaChat35ForCausalLM",
    "Glm5NextForConditionalGeneration",
    "HYV4ForCausalLM",
)
"""MLA models whose classes do not prepare what DCP's prefill needs; read from every model class of 0.5.23."""

MULTIMODAL: Expr = ARCHITECTURE.is_in(
    *[
        "BailingMM2NativeForConditionalGeneration",
        "BailingMMNativeForConditionalGeneration",
        "BailingMoeV3VLForConditionalGeneration",
        "CLIPModel",
        "Cohere2VisionForConditionalGeneration",
        "Cosmos3EdgeForConditionalGeneration",
        "DeepseekOCRForCausalLM",
        "DeepseekVL2ForCausalLM",
        "DiffusionGemmaForBlockDiffusion",
        "Dots3NoteForCausalLM",
        "DotsOCRForCausalLM",
        "DotsVLMForCausalLM",
        "EmbeddingGemma2Model",
        "Ernie4_5_VLMoeForConditionalGeneration",
        "Gemma3ForConditionalGeneration",
        "Gemma3nForConditionalGeneration",
        "Gemma4ForConditionalGeneration",
        "Gemma4UnifiedForConditionalGeneration",
        "Glm4vForConditionalGeneration",
        "Glm4vMoeForConditionalGeneration",
        "Glm5NextForConditionalGeneration",
        "GlmAsrForConditionalGeneration",
        "GlmImageForConditionalGeneration",
        "GlmOcrForConditionalGeneration",
        "Grok1AForCausalLM",
        "Grok1VForCausalLM",
        "InternS1ForConditionalGeneration",
        "InternS1ProForConditionalGeneration",
        "InternS2MobiusForConditionalGeneration",
        "InternS2PreviewForConditionalGeneration",
        "InternVLChatModel",
        "JetVLMForConditionalGeneration",
        "KimiK25ForConditionalGeneration",
        "KimiK3ForConditionalGeneration",
        "KimiVLForConditionalGeneration",
        "Lfm2VlForConditionalGeneration",
        "LightOnOCRForConditionalGeneration",
        "Llama4ForConditionalGeneration",
        "LlavaForConditionalGeneration",
        "LlavaLlamaForCausalLM",
        "LlavaMistralForCausalLM",
        "LlavaQwenForCausalLM",
        "LlavaVidForCausalLM",
        "LocateAnythingForConditionalGeneration",
        "MiDashengLMModel",
        "MiMoV2ASRForCausalLM",
        "MiniCPMO",
        "MiniCPMV",
        "MiniMaxM3SparseForConditionalGeneration",
        "Mistral3ForConditionalGeneration",
        "MllamaForConditionalGeneration",
        "MossVLForConditionalGeneration",
        "MultiModalityCausalLM",
        "MuseGlimmerForConditionalGeneration",
        "MuseSparkForConditionalGeneration",
        "NVILAForConditionalGeneration",
        "NVILALiteForConditionalGeneration",
        "NemotronH_Nano_Omni_Reasoning_V3",
        "NemotronH_Nano_VL_V2",
        "NemotronH_Omni_Reasoning_V3",
        "POINTSV15ChatModel",
        "PaddleOCRVLForConditionalGeneration",
        "Phi4MMForCausalLM",
        "PixtralForConditionalGeneration",
        "Qwen2AudioForConditionalGeneration",
        "Qwen2VLForConditionalGeneration",
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen3ASRForConditionalGeneration",
        "Qwen3OmniMoeForConditionalGeneration",
        "Qwen3VLForConditionalGeneration",
        "Qwen3VLMoeForConditionalGeneration",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "Qwen4ExpForConditionalGeneration",
        "Sarashina2VisionForCausalLM",
        "Step3VLForConditionalGeneration",
        "Step3p7ForConditionalGeneration",
        "StepVLForConditionalGeneration",
        "UnlimitedOCRForCausalLM",
        "VoxtralForConditionalGeneration",
        "WhisperForConditionalGeneration",
    ]
)
"""Models with an image, video or audio tower, over all releases. Source: multimodal_model_archs, model_config.py."""
