"""What one token costs in the KV cache: bytes of a row on one rank, what DCP shards of it and what every rank repeats.

A *row* is what one rank stores under one physical slot; with DCP it serves one of ``dcp_size`` logical tokens. What is
replicated spans all logical slots, so it costs ``dcp_size`` times its bytes for each row.
"""

from __future__ import annotations

from dataclasses import dataclass

from configurator.planner.deployment import Deployment, MissingFactError

_FP8 = ("fp8_e4m3", "fp8_e5m2")
_RAW_HIP = ("tilelang", "triton", "aiter")
_INDEX_BLOCK = 128
_DEPTH_UNKNOWN = ("STANDALONE", "DFLASH", "DSPARK")


@dataclass(frozen=True)
class Cell:
    """Bytes of one row on one rank.

    Attributes:
        sharded: KV that DCP divides among its ranks.
        index: Keys of a sparse-attention indexer, replicated: bytes per token times ``dcp_size``.
        draft: KV of the draft model that the budget counts; replicated where it is multiplied.
        draft_outside: KV of the draft model that is allocated and that the budget does not count.
        tokens_per_row: Logical tokens that one row stands for.
        notes: What is special about it.
    """

    sharded: int
    index: int = 0
    draft: int = 0
    draft_outside: int = 0
    tokens_per_row: int = 1
    notes: tuple[str, ...] = ()

    @property
    def budgeted(self) -> int:
        """Bytes that a row takes from the KV budget."""
        return self.sharded + self.index + self.draft

    @property
    def replicated(self) -> int:
        """Bytes of a row that DCP does not shard, of those the budget counts."""
        return self.index + self.draft


def cell_of(server: Deployment) -> Cell:
    """Return the row of *server*.

    Raises:
        MissingFactError: A width, count or dtype is not known.

    Source: sglang/srt/model_executor/pool_configurator.py, DefaultPoolConfigurator, 0.5.23.
    """
    dcp, layers = server.dcp_size, server.num_kv_layers
    if layers < 1:
        raise MissingFactError("the model keeps no KV cache")
    if server.value("model.is_hybrid_swa") is True:
        return _windowed(server)
    per_layer = latent_bytes(server) if server.kind != "gqa" else head_bytes(server, dcp)
    sharded, notes = int(per_layer * layers), []
    index = index_bytes(server) * dcp if server.kind == "dsa" else 0
    draft, outside = _draft(server, sharded, layers)
    if server.kind == "gqa" and (stop := gain_stops_at(server)) < dcp:
        notes.append(
            f"The gain stops at --dcp-size {stop}: {server.count('model.num_kv_heads')} KV heads on "
            f"{server.attn_tp_size} ranks are copied {stop} time{'s' if stop > 1 else ''} without DCP, and beyond that "
            f"every rank holds more heads for as many fewer tokens."
        )
    if outside:
        notes.append(
            f"The draft's KV cache spans all logical tokens on every rank, but is budgeted for one in {dcp}: "
            f"{outside} bytes for each row come on top."
        )
    return Cell(sharded, index, draft, outside, dcp, tuple(notes))


def kv_bytes(server: Deployment) -> tuple[float, str]:
    """Return the bytes of one KV element and the dtype's name; ``auto`` is the model's own dtype.

    Raises:
        MissingFactError: The dtype is not known here.
    """
    dtype = str(server.value("kv_cache_dtype") or "auto")
    if dtype == "auto":
        return server.activation_bytes, "the model's dtype"
    if dtype in _FP8:
        return 1.0, dtype
    if dtype in ("bfloat16", "bf16", "float16"):
        return 2.0, dtype
    if dtype == "fp4_e2m1":
        return 0.5 + 1 / 16, dtype  # a scale of one byte for each 16 values
    raise MissingFactError(f"the size of --kv-cache-dtype {dtype} is not on file")


def latent_bytes(server: Deployment) -> float:
    """Return the bytes of one token and layer of an MLA or DSA cache.

    Dense MLA stores ``kv_lora_rank + qk_rope_head_dim`` elements. DSA in fp8 stores the latent in fp8 with a float32
    scale for each 128 values and the rotary part in bf16, unless a kernel with the raw layout reads it.
    """
    rank, rope = server.count("model.kv_lora_rank"), server.count_or("model.qk_rope_head_dim", 0)
    size, dtype = kv_bytes(server)
    if server.kind == "dsa" and dtype == "fp8_e4m3" and not _raw_layout(server):
        return rank + rank // _INDEX_BLOCK * 4 + rope * 2
    return (rank + rope) * size


def _raw_layout(server: Deployment) -> bool:
    prefill, decode = server.value("dsa_prefill_backend"), server.value("dsa_decode_backend")
    if prefill is None and decode is None:
        raise MissingFactError("it is not known which DSA kernels run, and they decide the layout of the KV cache")
    role = server.value("disaggregation_mode")
    reads = {"decode": (decode,), "prefill": (prefill,)}.get(str(role), (prefill, decode))
    if "trtllm" in reads:
        return True
    if server.value("hardware.platform") == "hip" and (prefill in _RAW_HIP or decode in _RAW_HIP):
        return True
    return prefill == decode == "tilelang"


def head_bytes(server: Deployment, dcp_size: int) -> float:
    """Return the bytes of one token and layer of a GQA cache on one rank of a DCP group of *dcp_size*."""
    heads = kv_heads_held(server, dcp_size)
    size, _ = kv_bytes(server)
    return heads * (server.count("model.head_dim") + server.count("model.v_head_dim")) * size


def kv_heads_held(server: Deployment, dcp_size: int) -> int:
    """Return the KV heads one rank holds: those of its whole DCP group, never less than one.

    Source: sglang/srt/configs/model_config.py, get_num_kv_heads, 0.5.23.
    """
    return max(1, server.count("model.num_kv_heads") // max(server.attn_tp_size // dcp_size, 1))


def gain_stops_at(server: Deployment) -> int:
    """Return the DCP size beyond which GQA gains nothing: attention ranks for each KV head, at least 1."""
    return max(1, server.attn_tp_size // server.count("model.num_kv_heads"))


def index_bytes(server: Deployment) -> int:
    """Return the bytes of one token's index keys over all layers that keep them, on one rank.

    Until 0.5.17 every layer kept index keys; since 0.5.18 only layers that choose their own tokens do.
    """
    width, pool = server.count("model.index_head_dim"), server.count_or("model.index_kpool", 1)
    per_layer = -(-(width + width // _INDEX_BLOCK * 4) // pool)
    every = not server.since("0.5.18") or server.value("enable_hisparse") is True
    total = server.count("model.num_attention_layers" if every else "model.num_index_layers")
    return per_layer * -(-total // server.pp_size)


def draft_layers(server: Deployment) -> int:
    """Return the layers of the draft model.

    Raises:
        MissingFactError: The algorithm's draft is a model of its own, whose shape is not known.
    """
    algorithm = str(server.value("speculative_algorithm"))
    if algorithm in _DEPTH_UNKNOWN:
        raise MissingFactError(f"the KV cache of the draft model that {algorithm} runs is not known")
    return max(server.count_or("model.num_nextn_layers", 1), 1)


def _draft(server: Deployment, sharded: int, layers: int) -> tuple[int, int]:
    """Return what the budget counts for the draft, and what is allocated beyond it, in bytes of a row."""
    if not server.drafts:
        return 0, 0
    depth, dcp = draft_layers(server), server.dcp_size
    own = int(sharded * depth / layers)
    if server.kind == "dsa":
        width, pool = server.count("model.index_head_dim"), server.count_or("model.index_kpool", 1)
        keys = -(-(width + width // _INDEX_BLOCK * 4) // pool) * depth
        return (own + keys) * dcp, 0
    return own, own * (dcp - 1)


def _windowed(server: Deployment) -> Cell:
    """Return the row of a model with two pools; its slots are never widened, so DCP adds no token."""
    if server.kind != "gqa":
        raise MissingFactError("a latent cache with a second pool for windowed layers is not modelled here")
    windowed = server.count("model.num_windowed_layers")
    full = server.count("model.num_attention_layers") - windowed
    ratio = server.number("swa_full_tokens_ratio") if server.value("swa_full_tokens_ratio") is not None else 0.8
    per_layer = head_bytes(server, 1)
    sharded = int(per_layer * (full + windowed * ratio) / server.pp_size)
    note = f"Windowed layers have a pool of {ratio:g} tokens for each of the full one; DCP does not widen either."
    return Cell(sharded, notes=(note,))
