"""What a Hugging Face ``config.json`` says about a model, as one frozen value.

``ModelFacts.from_config`` classes the attention as SGLang does: by the architecture's name (see ``architectures``).
What the file does not say stays :class:`~configurator.core.unknown.Unknown` with the reason; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown, is_unknown
from configurator.models import architectures as arch
from configurator.models.fields import Fields
from configurator.models.layers import count_index_layers, count_layers
from configurator.models.quantization import quantization_of
from configurator.models.shapes import (
    AttentionKind,
    Count,
    MaybeCount,
    architecture_of,
    attention_kind_of,
    dtype_of,
    has_sinks_of,
    head_dim_of,
    is_hybrid_swa_of,
    mla_head_dim,
    none_if_absent,
    num_dense_layers_of,
    num_kv_heads_of,
    sure,
    text_fields,
    value_dim_of,
)

NEEDED_NUMBERS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
"""Keys without which the shape rules and the planners have nothing to work with (MLA needs its five widths too)."""


_MLP_WIDTHS = ("intermediate_size", "ffn_dim", "n_inner")
_DRAFT_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "num_mtp_layers")


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """Facts about one model. ``None`` means the model has none of it, Unknown that the source does not say.

    Attributes:
        name: What the user calls it: a sheet name, or the name of the folder or file.
        source: Where the numbers come from.
        architecture: First entry of ``architectures``, the class name SGLang dispatches on.
        model_type: ``model_type`` of the whole model.
        attention_kind: ``mla``, ``dsa`` or ``gqa`` (MHA and MQA included); hybrids by their full-attention layers;
            ``None`` for a model without attention.
        num_heads: Query heads of the whole model, before any tensor parallelism.
        num_kv_heads: KV heads as the config states them; for MLA that is not the one latent head of the cache.
        head_dim: Width of a query head in elements; for MLA ``qk_nope_head_dim + qk_rope_head_dim``.
        v_head_dim: Width of a value head in elements.
        kv_lora_rank: MLA: width of the cached latent. ``None`` for other kinds, as the next three.
        q_lora_rank: MLA: width of the query's low-rank projection; ``None`` also where queries have none.
        qk_rope_head_dim: MLA: rotary part of a query head, cached beside the latent.
        qk_nope_head_dim: MLA: the other part of a query head.
        hidden_size: Width of the residual stream.
        num_layers: Decoder layers, draft layers not counted.
        num_attention_layers: Layers with a KV cache.
        num_windowed_layers: Those of them that see a sliding window or a chunk only.
        num_linear_layers: Layers with a recurrent state instead of a KV cache.
        index_topk: DSA: tokens the indexer picks. ``None`` for other kinds, as the next four.
        index_kpool: DSA: tokens pooled into one index key; 1 where the config is silent.
        index_head_dim: DSA: width of an index key.
        index_n_heads: DSA: heads of the indexer.
        num_index_layers: DSA: layers that keep index keys of their own.
        quantization: Method by SGLang's name (``fp8``, ``awq``, ``modelopt_fp4``, ...), ``None`` for plain weights.
        weight_block_size: Rows and columns that share one scale, for block-quantised weights.
        torch_dtype: ``bfloat16``, ``float16`` or ``float32``.
        max_position_embeddings: Longest position, in tokens.
        vocab_size: Rows of the embedding.
        num_experts: Routed experts per MoE layer.
        num_shared_experts: Experts every token passes.
        num_experts_per_token: Routed experts a token visits.
        num_dense_layers: Leading layers without experts, ``None`` for a model without experts.
        intermediate_size: Width of a dense MLP, ``None`` where every layer has experts only.
        moe_intermediate_size: Width of one expert.
        num_parameters: Published total of parameters; a sheet's number, a config does not hold it.
        is_hybrid_swa: Whether SGLang keeps two KV pools, one for windowed layers.
        sliding_window: Window in tokens.
        attention_chunk_size: Chunk in tokens, for attention within chunks.
        has_attention_sinks: Whether softmax has learned sinks.
        is_encoder_decoder: Whether there is a cross-attention cache.
        has_linear_attention: Whether any layer has a recurrent state.
        num_nextn_layers: Draft (MTP) layers shipped with the checkpoint.
        tie_word_embeddings: Whether embedding and output head are one matrix.
    """

    name: str
    source: str
    architecture: str | Unknown
    model_type: str | Unknown
    attention_kind: AttentionKind | Unknown | None
    num_heads: Count
    num_kv_heads: Count
    head_dim: Count
    v_head_dim: Count
    kv_lora_rank: MaybeCount
    q_lora_rank: MaybeCount
    qk_rope_head_dim: MaybeCount
    qk_nope_head_dim: MaybeCount
    hidden_size: Count
    num_layers: Count
    num_attention_layers: Count
    num_windowed_layers: Count
    num_linear_layers: Count
    index_topk: MaybeCount
    index_kpool: MaybeCount
    index_head_dim: MaybeCount
    index_n_heads: MaybeCount
    num_index_layers: MaybeCount
    quantization: str | Unknown | None
    weight_block_size: tuple[int, ...] | Unknown | None
    torch_dtype: str | Unknown
    max_position_embeddings: Count
    vocab_size: Count
    num_experts: MaybeCount
    num_shared_experts: MaybeCount
    num_experts_per_token: MaybeCount
    num_dense_layers: MaybeCount
    intermediate_size: MaybeCount
    moe_intermediate_size: MaybeCount
    num_parameters: Count
    is_hybrid_swa: bool | Unknown
    sliding_window: MaybeCount
    attention_chunk_size: MaybeCount
    has_attention_sinks: bool | Unknown
    is_encoder_decoder: bool
    has_linear_attention: bool | Unknown
    num_nextn_layers: MaybeCount
    tie_word_embeddings: bool

    @property
    def is_mla(self) -> bool | Unknown:
        """Whether the cache holds one latent per token (MLA and DSA)."""
        return self.attention_kind if is_unknown(self.attention_kind) else self.attention_kind in ("mla", "dsa")

    @property
    def is_dsa(self) -> bool | Unknown:
        """Whether attention is DeepSeek sparse attention."""
        return self.attention_kind if is_unknown(self.attention_kind) else self.attention_kind == "dsa"

    @property
    def gaps(self) -> tuple[tuple[str, str], ...]:
        """The facts that are Unknown, each with its reason, in the order of the fields."""
        found = ((field.name, getattr(self, field.name)) for field in fields(self))
        return tuple((name, value.reason) for name, value in found if is_unknown(value))

    def to_facts(self) -> dict[str, object]:
        """Return every fact as ``model.NAME``; Unknown values stay in, with their reason."""
        facts: dict[str, object] = {f"model.{field.name}": getattr(self, field.name) for field in fields(self)}
        return facts | {"model.is_mla": self.is_mla, "model.is_dsa": self.is_dsa}

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, object],
        *,
        name: str = "config.json",
        source: str = "config.json",
        num_parameters: int | None = None,
        standalone_quantization: Mapping[str, object] | None = None,
    ) -> ModelFacts:
        """Read a parsed ``config.json``.

        Args:
            config: The JSON object.
            name: What to call the model.
            source: Where the numbers come from.
            num_parameters: Published total, where known.
            standalone_quantization: Contents of ``hf_quant_config.json`` beside the file, which ModelOpt writes.

        Raises:
            InputError: The object is no model's config, or holds values no model has.
        """
        outer = Fields(config, "config.json")
        architecture = architecture_of(outer)
        model_type = outer.text("model_type")
        if architecture is None and model_type is None:
            raise InputError(
                f'{name} is not the config of a model: it names neither "architectures" nor "model_type". '
                f"Give the config.json of a Hugging Face checkpoint, with {', '.join(NEEDED_NUMBERS)}.",
                part=name,
            )
        text = text_fields(outer, arch.CLASS_DEFAULTS.get(architecture or "", {}))
        latent = text.get("kv_lora_rank") is not None
        kind = attention_kind_of(architecture, latent, text.get("index_topk") is not None)
        mla = kind in ("mla", "dsa")
        dsa = kind == "dsa"
        num_layers = sure(text.count("num_hidden_layers", "n_layer", "n_layers", "num_layers", limit="layers"))
        hidden_size = sure(text.count("hidden_size", "n_embd", "d_model", limit="dim"))
        num_heads = sure(text.count("num_attention_heads", "n_head", "n_heads", limit="heads"))
        widths = {
            key: text.count(key, limit="dim", zero=key == "qk_rope_head_dim") if mla else None
            for key in ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim")
        }
        head_dim = mla_head_dim(widths) if mla else head_dim_of(text, hidden_size, num_heads)
        value_dim = text.count("v_head_dim", limit="dim", zero=True)
        counts = count_layers(text, num_layers, chunked=architecture == "Llama4ForConditionalGeneration")
        experts = none_if_absent(
            text, "n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts", limit="experts"
        )
        moe = isinstance(experts, int)
        quantization, block = quantization_of(outer, text, standalone_quantization)
        windowless = text.has("use_sliding_window") and not text.flag("use_sliding_window")
        return cls(
            name=name,
            source=source,
            architecture=architecture or Unknown('config.json has no "architectures"'),
            model_type=model_type or Unknown('config.json has no "model_type"'),
            attention_kind=kind,
            num_heads=num_heads,
            num_kv_heads=num_kv_heads_of(text, num_heads, model_type),
            head_dim=head_dim,
            v_head_dim=value_dim if isinstance(value_dim, int) and value_dim else value_dim_of(text, head_dim, mla),
            hidden_size=hidden_size,
            num_layers=num_layers,
            num_attention_layers=counts.attention,
            num_windowed_layers=counts.windowed,
            num_linear_layers=counts.linear,
            index_topk=text.count("index_topk", limit="tokens") if dsa else None,
            index_kpool=(none_if_absent(text, "index_kpool", limit="tokens") or 1) if dsa else None,
            index_head_dim=text.count("index_head_dim", limit="dim") if dsa else None,
            index_n_heads=text.count("index_n_heads", limit="heads") if dsa else None,
            num_index_layers=count_index_layers(text, num_layers) if dsa else None,
            quantization=quantization,
            weight_block_size=block,
            torch_dtype=dtype_of(text, outer),
            max_position_embeddings=sure(
                text.count("max_position_embeddings", "model_max_length", "n_positions", "max_seq_len", limit="tokens")
            ),
            vocab_size=sure(text.count("vocab_size", limit="dim")),
            num_experts=experts,
            num_shared_experts=none_if_absent(text, "n_shared_experts", "num_shared_experts", limit="experts"),
            num_experts_per_token=none_if_absent(
                text, "num_experts_per_tok", "num_experts_per_token", "moe_topk", "experts_per_token", limit="experts"
            ),
            num_dense_layers=num_dense_layers_of(text) if moe else None,
            intermediate_size=none_if_absent(text, *_MLP_WIDTHS, limit="dim")
            if moe
            else sure(text.count(*_MLP_WIDTHS, limit="dim")),
            moe_intermediate_size=none_if_absent(text, "moe_intermediate_size", limit="dim") if moe else None,
            num_parameters=num_parameters or Unknown("a config.json does not state the number of parameters"),
            is_hybrid_swa=is_hybrid_swa_of(architecture, text),
            sliding_window=None if windowless else none_if_absent(text, "sliding_window", limit="tokens"),
            attention_chunk_size=none_if_absent(text, "attention_chunk_size", limit="tokens"),
            has_attention_sinks=has_sinks_of(architecture, text),
            is_encoder_decoder=architecture in arch.ENCODER_DECODER_ARCHITECTURES or outer.flag("is_encoder_decoder"),
            has_linear_attention=counts.linear if isinstance(counts.linear, Unknown) else counts.linear > 0,
            num_nextn_layers=none_if_absent(text, *_DRAFT_LAYERS, limit="layers"),
            tie_word_embeddings=text.flag("tie_word_embeddings") or outer.flag("tie_word_embeddings"),
            **widths,
        )
