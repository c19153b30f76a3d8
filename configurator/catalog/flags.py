"""The flags we model: what each does in our words, the values we offer, and what changing it costs in a repair.

Spellings, types, choices and defaults are the release's own and live in its flag table.
"""

from __future__ import annotations

from configurator.catalog import serving_flags, sizes
from configurator.catalog.serving_flags import ATTENTION, DISAGGREGATION, SPECULATIVE
from configurator.core.expr import hardware
from configurator.core.flag import FlagTable
from configurator.core.release import ModelledFlag

PARALLELISM = "Parallelism"
DCP = "Decode context parallel"

_SIZES = (1, 2, 4, 8, 16)

FLAGS = (
    ModelledFlag(
        dest="tp_size",
        group=PARALLELISM,
        help="Tensor-parallel ranks: how many GPUs share every layer. DCP groups are slices of these.",
        values=(1, 2, 4, 8, 16, 32),
        change_cost=1.0,
        prefer=hardware.gpus_per_tray,
        not_preferred=0.5,
        value_costs={1: 6.0},
    ),
    ModelledFlag(
        dest="nnodes",
        group=PARALLELISM,
        help="Machines that run one server together.",
        values=(1, 2, 4),
        change_cost=8.0,
    ),
    ModelledFlag(
        dest="pp_size",
        group=PARALLELISM,
        help="Pipeline stages: how many slices the layers are cut into, one after the other.",
        values=(1, 2, 4),
        change_cost=6.0,
    ),
    ModelledFlag(
        dest="dp_size",
        group=PARALLELISM,
        help="Replicas that serve different requests; with DP attention, replicas of the attention layers only.",
        values=_SIZES,
        change_cost=5.0,
    ),
    ModelledFlag(
        dest="enable_dp_attention",
        group=PARALLELISM,
        help="Give each data-parallel replica its own attention and KV cache, and share the other layers.",
        change_cost=5.0,
        unset_cost=5.0,
    ),
    ModelledFlag(
        dest="attn_dp_size",
        group=PARALLELISM,
        help="Replicas of the attention layers; the other layers stay shared.",
        values=_SIZES,
        change_cost=5.0,
        shown=False,
    ),
    ModelledFlag(
        dest="attn_cp_size",
        group=PARALLELISM,
        help="Ranks that share the tokens of one prompt in prefill.",
        values=_SIZES,
        change_cost=5.0,
        shown=False,
    ),
    ModelledFlag(
        dest="ep_size",
        group=PARALLELISM,
        help="Ranks that share the experts between them.",
        values=_SIZES,
        change_cost=5.0,
        shown=False,
    ),
    ModelledFlag(
        dest="moe_dp_size",
        group=PARALLELISM,
        help="Replicas of the expert layers.",
        values=_SIZES,
        change_cost=5.0,
        shown=False,
    ),
    ModelledFlag(
        dest="moe_dense_tp_size",
        group=PARALLELISM,
        help="Tensor-parallel width of dense layers beside experts; unset is --tp-size.",
        values=(1,),
        auto="as --tp-size",
        change_cost=4.0,
        shown=False,
    ),
    ModelledFlag(
        dest="moe_a2a_backend",
        group=PARALLELISM,
        help="How tokens travel between experts.",
        values=("none", "deepep", "mooncake", "mori", "flashinfer"),
        change_cost=6.0,
        shown=False,
    ),
    ModelledFlag(
        dest="elastic_ep_backend",
        group=PARALLELISM,
        help="Experts on a group of ranks that can lose and gain members.",
        values=("mooncake", "nixl"),
        auto="off",
        change_cost=6.0,
        unset_cost=5.0,
        shown=False,
    ),
    ModelledFlag(
        dest="max_ep_size",
        group=PARALLELISM,
        help="How far the elastic group may grow.",
        auto="fixed",
        change_cost=5.0,
        unset_cost=4.0,
        shown=False,
    ),
    ModelledFlag(
        dest="load_balance_method",
        group=PARALLELISM,
        help="How requests are shared out over data-parallel replicas.",
        values=("auto", "round_robin", "total_requests", "total_tokens"),
        change_cost=2.0,
        shown=False,
    ),
    ModelledFlag(
        dest="dcp_size",
        group=DCP,
        help="Ranks that stripe one KV cache between them: token p lives on rank p mod dcp-size. 1 is off.",
        values=_SIZES,
        change_cost=3.0,
        unset_cost=100.0,
        value_costs={1: 97.0},
    ),
    ModelledFlag(
        dest="dcp_comm_backend",
        group=DCP,
        help="How partial outputs are exchanged: ag_rs gathers and reduce-scatters, a2a and fi_a2a exchange once.",
        auto="auto",
        change_cost=1.0,
        unset_cost=1.25,
        value_costs={"fi_a2a": 0.5, "ag_rs": 0.5},
    ),
    ModelledFlag(
        dest="dcp_replicate_q_proj",
        group=DCP,
        help="Keep the whole group's Q projection on every rank, so that Q needs no all-gather. Costs memory.",
        values=(True, False),
        auto="auto",
        change_cost=2.0,
        unset_cost=2.0,
    ),
    ModelledFlag(
        dest="attention_backend",
        group=ATTENTION,
        help="Kernels for attention. Under DCP the decode kernels must return the log-sum-exp.",
        values=(
            "flashinfer",
            "trtllm_mla",
            "cutedsl_mla",
            "tokenspeed_mla",
            "flashmla",
            "triton",
            "fa3",
            "fa4",
            "trtllm_mha",
            "aiter",
            "dsa",
            "intel_xpu",
            "ascend",
            "torch_native",
        ),
        auto="auto",
        change_cost=1.0,
        unset_cost=1.25,
        value_costs={
            "triton": 0.25,
            "trtllm_mla": 0.25,
            "cutedsl_mla": 0.5,
            "tokenspeed_mla": 0.75,
            "torch_native": 2.0,
        },
    ),
    ModelledFlag(
        dest="decode_attention_backend",
        group=ATTENTION,
        help="Kernels for decode alone; wins over --attention-backend there.",
        values=("flashinfer", "trtllm_mla", "cutedsl_mla", "tokenspeed_mla", "flashmla", "triton", "fa3", "aiter"),
        auto="as --attention-backend",
        change_cost=1.5,
        unset_cost=1.5,
        value_costs={"triton": 0.25, "cutedsl_mla": 0.25},
    ),
    ModelledFlag(
        dest="prefill_attention_backend",
        group=ATTENTION,
        help="Kernels for prefill alone; wins over --attention-backend there.",
        values=("flashinfer", "trtllm_mla", "triton", "fa3", "fa4", "aiter"),
        auto="as --attention-backend",
        change_cost=2.0,
        unset_cost=1.5,
    ),
    ModelledFlag(
        dest="kv_cache_dtype",
        group=ATTENTION,
        help="How the KV cache is stored. fp8 halves it.",
        values=("auto", "bfloat16", "fp8_e4m3", "fp8_e5m2", "fp4_e2m1"),
        change_cost=3.0,
        unset_cost=3.0,
    ),
    ModelledFlag(
        dest="page_size",
        group=ATTENTION,
        help="Tokens in one page of the KV cache on each rank; a page of a whole DCP group is dcp-size times that.",
        values=(1, 16, 32, 64, 128),
        auto="auto",
        change_cost=2.0,
        unset_cost=2.0,
    ),
    ModelledFlag(
        dest="speculative_algorithm",
        group=SPECULATIVE,
        help="Let a small draft guess several tokens that the model then verifies at once.",
        values=("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK"),
        auto="off",
        change_cost=9.0,
        unset_cost=8.0,
    ),
    ModelledFlag(
        dest="speculative_eagle_topk",
        group=SPECULATIVE,
        help="Branches the draft keeps at each step.",
        values=(1, 2, 4, 8),
        auto="auto",
        change_cost=3.0,
        unset_cost=3.0,
    ),
    ModelledFlag(
        dest="enable_prefill_cp",
        group=DISAGGREGATION,
        help="Split long prompts over the ranks during prefill (context parallelism of the other kind).",
        change_cost=6.0,
        unset_cost=4.0,
    ),
    ModelledFlag(
        dest="cp_strategy",
        group=DISAGGREGATION,
        help="How prefill CP deals a prompt's tokens out to the ranks.",
        values=("zigzag", "interleave"),
        auto="none",
        change_cost=2.0,
        unset_cost=3.0,
        shown=False,
    ),
    ModelledFlag(
        dest="disaggregation_mode",
        group=DISAGGREGATION,
        help="Run prefill and decode on different servers; this one is a prefill or a decode server, or null for both.",
        values=("null", "prefill", "decode"),
        change_cost=20.0,
        unset_cost=20.0,
    ),
)
"""Parallelism, DCP, attention, and what belongs to them."""


def modelled_in(table: FlagTable) -> tuple[ModelledFlag, ...]:
    """Return the modelled flags that *table* has."""
    return tuple(flag for flag in (*FLAGS, *serving_flags.FLAGS, *sizes.FLAGS) if flag.dest in table)
