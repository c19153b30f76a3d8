"""Why a fact is missing, in words that complete "cannot be decided here: ..."."""

from __future__ import annotations

_WHETHER = {
    "model.has_attention_sinks": "the model has attention sinks",
    "model.has_linear_attention": "the model has layers of linear attention",
    "model.is_dsa": "the model has sparse attention",
    "model.is_encoder_decoder": "the model is an encoder-decoder",
    "model.is_hybrid_swa": "the model has sliding-window layers beside full attention",
    "model.is_mla": "the model keeps a latent cache (MLA)",
    "hardware.mnnvl": "the GPUs of several nodes share one NVLink fabric",
    "software.flashinfer_dcp_alltoall": "the installed FlashInfer has the DCP all-to-all",
    "software.flashinfer_mla_dcp": "the installed FlashInfer has MLA decode for DCP",
}
_WHAT = {
    "model.architecture": "the model's architecture is not known",
    "model.attention_chunk_size": "it is not known whether the model attends within chunks",
    "model.attention_kind": "the model's kind of attention (MLA, sparse or GQA) is not known",
    "model.head_dim": "the width of the model's attention heads is not known",
    "model.index_kpool": "it is not known how many tokens the model pools into one index key",
    "model.max_position_embeddings": "the model's longest context is not known",
    "model.num_experts": "the model's number of experts is not known",
    "model.num_heads": "the model's number of attention heads is not known",
    "model.num_kv_heads": "the model's number of KV heads is not known",
    "model.quantization": "the model's quantization is not known",
    "model.sliding_window": "it is not known whether the model attends within a sliding window",
    "model.torch_dtype": "the type of the model's weights is not known",
    "model.v_head_dim": "the width of the model's value heads is not known",
    "model.weight_block_size": "it is not known whether the model's weights are quantised in blocks",
    "hardware.gpu_name": "the name of the GPU is not known",
    "hardware.gpus_per_node": "the number of GPUs of a node is not known",
    "hardware.memory_gib": "the memory of a GPU is not known",
    "hardware.platform": "it is not known what kind of device this machine has (NVIDIA, AMD, Intel, Ascend or none)",
    "hardware.sm": "the GPU's compute capability (SM) is not known",
    "hardware.gfx": "the GPU's gfx version is not known",
    "software.flashinfer": "the version of the installed FlashInfer is not known",
}


def why_missing(key: str) -> str:
    """Return why the fact *key*, such as ``model.num_kv_heads``, cannot be had: a clause without a full stop."""
    if key in _WHETHER:
        return f"it is not known whether {_WHETHER[key]}"
    if key in _WHAT:
        return _WHAT[key]
    space, _, name = key.partition(".")
    return f"the {space} does not tell its {name.replace('_', ' ')}"


def has_words(key: str) -> bool:
    """Tell whether *key* has words of its own; other keys get a sentence made from the key."""
    return key in _WHETHER or key in _WHAT
