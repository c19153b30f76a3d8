"""A small flag table in the shape of a real release, enough for every kind of flag the parser knows."""

from __future__ import annotations

import pytest

from configurator.core.flag import FlagSpec, FlagTable

BACKENDS = (
    "triton",
    "flashinfer",
    "fa3",
    "fa4",
    "flashmla",
    "trtllm_mla",
    "trtllm_mha",
    "aiter",
    "ascend",
    "nsa",
    "intel_xpu",
)


def _flag(dest, *spellings, **more):
    return FlagSpec(dest=dest, spellings=spellings or (f"--{dest.replace('_', '-')}",), **more)


def small_table(release="0.5.23"):
    """Return about fifty flags as release *release* spells them."""
    return FlagTable(
        release,
        [
            _flag("model_path", "--model-path", "--model"),
            _flag("tokenizer_path"),
            _flag("host", default="127.0.0.1"),
            _flag("port", type="int", default=30000),
            _flag("trust_remote_code", action="true", type="bool", default=False, nargs="0"),
            _flag("context_length", type="int"),
            _flag("dtype", choices=("auto", "half", "float16", "bfloat16", "float", "float32"), default="auto"),
            _flag("quantization", choices=("awq", "fp8", "modelopt_fp4", "w4afp8", "mxfp4")),
            _flag(
                "kv_cache_dtype",
                choices=("auto", "fp8_e5m2", "fp8_e4m3", "bf16", "bfloat16", "fp4_e2m1"),
                default="auto",
            ),
            _flag("mem_fraction_static", type="float"),
            _flag("max_running_requests", type="int"),
            _flag("chunked_prefill_size", type="int"),
            _flag("page_size", type="int"),
            _flag("schedule_policy", choices=("lpm", "random", "fcfs"), default="fcfs"),
            _flag("tp_size", "--tp-size", "--tensor-parallel-size", "--tp", type="int", default=1),
            _flag("dcp_size", "--dcp-size", "--decode-context-parallel-size", type="int", default=1),
            _flag("dcp_comm_backend", choices=("ag_rs", "a2a", "fi_a2a")),
            _flag("dcp_replicate_q_proj", action="boolean", type="bool", nargs="0"),
            _flag("pp_size", "--pp-size", "--pipeline-parallel-size", type="int", default=1),
            _flag("dp_size", "--dp-size", "--data-parallel-size", "--dp", type="int", default=1),
            _flag("ep_size", "--ep-size", "--expert-parallel-size", "--ep", type="int", default=1),
            _flag("attn_cp_size", type="int", default=1),
            _flag("enable_dp_attention", action="true", type="bool", default=False, nargs="0"),
            _flag("enable_prefill_cp", action="true", type="bool", default=False, nargs="0"),
            _flag("attention_backend", choices=BACKENDS),
            _flag("prefill_attention_backend", choices=BACKENDS),
            _flag("decode_attention_backend", choices=(*BACKENDS, "cutedsl_mla")),
            _flag("dsa_prefill_backend"),
            _flag("dsa_decode_backend"),
            _flag("disaggregation_mode", choices=("null", "prefill", "decode"), default="null"),
            _flag(
                "disaggregation_transfer_backend", choices=("mooncake", "nixl", "ascend", "fake"), default="mooncake"
            ),
            _flag("disaggregation_ib_device"),
            _flag("speculative_algorithm"),
            _flag("speculative_num_steps", type="int"),
            _flag("speculative_eagle_topk", type="int"),
            _flag("speculative_num_draft_tokens", type="int"),
            _flag("enable_hierarchical_cache", action="true", type="bool", default=False, nargs="0"),
            _flag("hicache_ratio", type="float", default=2.0),
            _flag("disable_radix_cache", action="true", type="bool", default=False, nargs="0"),
            _flag("cuda_graph_bs", type="int", nargs="+"),
            _flag("cuda_graph_max_bs", type="int"),
            _flag("lora_paths", nargs="*"),
            _flag("model_checksum", nargs="?"),
            _flag("json_model_override_args", default="{}"),
            _flag("preferred_sampling_params", type="json"),
            _flag("served_model_name"),
            _flag("nnodes", type="int", default=1),
            _flag("node_rank", type="int", default=0),
            _flag("dist_init_addr", "--dist-init-addr", "--nccl-init-addr"),
            _flag("random_seed", type="int"),
            _flag("reasoning_parser"),
            _flag("tool_call_parser"),
            _flag("watchdog_timeout", type="float", default=300),
            _flag("log_level", default="info"),
            _flag("config"),
            _flag("enable_symm_mem", action="true", type="bool", default=False, nargs="0"),
            _flag("help", "--help", "-h", action="help", nargs="0"),
        ],
    )


@pytest.fixture(scope="session")
def table():
    return small_table()
