"""The modelled flags of caches, PD disaggregation, speculation and graphs; :mod:`configurator.catalog.flags` has the rest."""

from __future__ import annotations

from configurator.core.flag import FlagValue
from configurator.core.release import ModelledFlag

ATTENTION = "Attention and cache"
CACHE = "Cache tiers and memory"
SPECULATIVE = "Speculative decoding"
DISAGGREGATION = "Prefill and decode servers"
GRAPHS = "CUDA graphs"
OTHER = "Other features"


def _switch(dest: str, group: str, text: str, *, cost: float = 5.0, shown: bool = False) -> ModelledFlag:
    """Return a switch; taking it out of a command costs a little less than putting one in."""
    return ModelledFlag(dest=dest, group=group, help=text, change_cost=cost, unset_cost=cost - 1.0, shown=shown)


def _value(
    dest: str,
    group: str,
    text: str,
    *values: FlagValue,
    auto: str | None = "auto",
    cost: float = 4.0,
    unset: float | None = None,
    shown: bool = False,
) -> ModelledFlag:
    return ModelledFlag(
        dest=dest,
        group=group,
        help=text,
        values=values,
        auto=auto,
        change_cost=cost,
        unset_cost=cost if unset is None else unset,
        shown=shown,
    )


FLAGS = (
    _value(
        "dsa_prefill_backend",
        ATTENTION,
        "Kernels of sparse attention in prefill, for DSA models.",
        *("trtllm", "flashmla_sparse", "flashmla_kv", "fa3", "tilelang", "triton", "aiter"),
        cost=1.5,
    ),
    _value(
        "dsa_decode_backend",
        ATTENTION,
        "Kernels of sparse attention in decode, for DSA models.",
        *("trtllm", "flashmla_sparse", "flashmla_kv", "fa3", "tilelang", "triton", "aiter"),
        cost=1.5,
    ),
    _value(
        "speculative_draft_attention_backend",
        ATTENTION,
        "Attention kernels of the draft model.",
        *("flashinfer", "fa3", "triton", "trtllm_mha"),
        cost=2.0,
    ),
    _value(
        "chunked_prefill_size",
        ATTENTION,
        "Tokens of a prompt computed in one step; -1 takes whole prompts.",
        *(2048, 4096, 8192, 16384, -1),
        cost=2.0,
    ),
    _switch("disable_radix_cache", CACHE, "Do not reuse the KV cache of common prefixes.", cost=4.0),
    _switch(
        "enable_hierarchical_cache", CACHE, "Keep evicted KV in host memory, and in a store beyond it.", shown=True
    ),
    _value(
        "hicache_storage_backend",
        CACHE,
        "Third tier of the hierarchical cache: where host memory spills to.",
        *("file", "mooncake", "nixl", "hf3fs"),
        auto="none",
        cost=3.0,
        unset=3.0,
    ),
    _value(
        "hicache_host_memory_mode",
        CACHE,
        "Whether host memory is a tier of its own, or only a buffer on the way to the store.",
        *("cache", "buffer_only"),
        auto=None,
        cost=2.0,
    ),
    _switch("enable_lmcache", CACHE, "Use LMCache for the tiers beyond the GPU."),
    _switch("enable_hisparse", CACHE, "Keep most of a DSA model's KV in host memory and fetch what is picked."),
    _switch("enable_unified_memory", CACHE, "One memory pool for all kinds of KV cache and state.", shown=True),
    _switch("enable_page_major_kv_layout", CACHE, "Order the KV cache by page, then layer."),
    _switch("enable_kv_cache_sharding", CACHE, "Spread a prefill server's KV cache over its ranks."),
    _switch("enable_symm_mem", OTHER, "Collectives through NCCL symmetric memory.", cost=3.0, shown=True),
    _value(
        "disaggregation_transfer_backend",
        DISAGGREGATION,
        "How KV travels from prefill to decode servers.",
        *("mooncake", "nixl", "mori", "ascend", "fake"),
        auto=None,
        cost=4.0,
        shown=True,
    ),
    _switch("disaggregation_decode_enable_radix_cache", DISAGGREGATION, "Prefix reuse on a decode server.", cost=4.0),
    _value(
        "disaggregation_decode_retraction_backup",
        DISAGGREGATION,
        "Where a decode server keeps the KV of a request it has to take back.",
        *("cpu_tensor", "host_pool"),
        cost=3.0,
    ),
    _value(
        "disaggregation_decode_allocation_policy",
        DISAGGREGATION,
        "When a decode server sets memory aside for a request.",
        *("early", "prefill_complete"),
        auto=None,
        cost=3.0,
    ),
    _value(
        "disaggregation_decode_host_receive_threshold",
        DISAGGREGATION,
        "Share of GPU memory in use above which a decode server receives KV in host memory.",
        auto="off",
        cost=3.0,
    ),
    _switch(
        "disaggregation_decode_enable_offload_kvcache",
        DISAGGREGATION,
        "Write a decode server's finished KV to a store.",
    ),
    _switch("enable_pd_role_switch", DISAGGREGATION, "Let a server change between prefill and decode while it runs."),
    _value("speculative_num_steps", SPECULATIVE, "Steps the draft takes ahead.", *(1, 3, 5), cost=3.0),
    _value("speculative_num_draft_tokens", SPECULATIVE, "Tokens verified at once.", *(2, 4, 8), cost=3.0),
    _value("speculative_draft_model_path", SPECULATIVE, "Where the draft's weights are.", auto="none", cost=9.0),
    _value(
        "speculative_attention_mode",
        SPECULATIVE,
        "Whether verification runs on the prefill or the decode backend.",
        *("prefill", "decode"),
        auto=None,
        cost=2.0,
    ),
    _value(
        "cuda_graph_backend_prefill",
        GRAPHS,
        "How prefill is captured in CUDA graphs.",
        *("breakable", "full", "disabled"),
        cost=2.0,
        shown=True,
    ),
    _value(
        "cuda_graph_backend_decode",
        GRAPHS,
        "How decode is captured in CUDA graphs.",
        *("full", "breakable", "disabled"),
        cost=2.0,
    ),
    _value("cuda_graph_config", GRAPHS, "All CUDA graph settings as one JSON object.", cost=2.0),
    _switch("disable_cuda_graph", GRAPHS, "Capture nothing.", cost=4.0),
    _switch("disable_prefill_cuda_graph", GRAPHS, "Do not capture prefill.", cost=3.0),
    _switch("disable_decode_cuda_graph", GRAPHS, "Do not capture decode.", cost=4.0),
    _switch("enable_deterministic_inference", OTHER, "The same result whatever else is in the batch."),
    _switch("enable_mixed_chunk", OTHER, "Put prefill chunks and decode in one batch.", cost=3.0),
    _switch("disable_overlap_schedule", OTHER, "Do not prepare a batch while the last one runs.", cost=4.0),
    _switch("enable_two_batch_overlap", OTHER, "Overlap two micro-batches."),
    _switch("enable_aiter_allreduce_fusion", OTHER, "Fuse the all-reduce with the next layer's norm, on ROCm."),
    _switch("enable_dp_lm_head", OTHER, "Compute the vocabulary's logits in each data-parallel replica.", cost=3.0),
    _switch("enable_lora", OTHER, "Serve LoRA adapters."),
    _value("dsv4_attn_backend", ATTENTION, "DeepSeek-V4's attention kernels.", auto=None, cost=2.0),
    _value("startup_weight_load_mode", OTHER, "Whether weights load while the server starts.", auto=None, cost=1.0),
    _switch("enable_unified_cache_external_linker", CACHE, "Move KV between GPU and store directly."),
    _switch("enable_nvidia_megakernel", OTHER, "Run a model's forward as one kernel from a plugin."),
    _switch("enable_amd_monokernel", OTHER, "Run a model's forward as one kernel from a plugin, on ROCm."),
    _value("lora_target_modules", OTHER, "Modules that adapters may change.", auto="auto", cost=4.0),
)
