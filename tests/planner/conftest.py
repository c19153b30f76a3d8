"""Servers to plan for, built from facts alone: no engine, no catalogue."""

import pytest

from configurator.hardware.presets import preset
from configurator.models.config import ModelFacts
from configurator.models.sheets import find_model
from configurator.planner.deployment import Deployment

FLAGS = {
    "tp_size": 8, "pp_size": 1, "nnodes": 1, "dp_size": 1, "enable_dp_attention": False, "attn_cp_size": 1, "dcp_size": 1,
    "dcp_comm_backend": "a2a", "dcp_replicate_q_proj": None, "kv_cache_dtype": "auto", "page_size": 1,
    "speculative_algorithm": None, "disable_radix_cache": False, "enable_symm_mem": False,
    "cuda_graph_prefill_backend": "disabled", "cuda_graph_decode_backend": "full",
}  # fmt: skip


@pytest.fixture
def serve():
    """Return a server of a model on a machine; keywords are flags, ``facts`` replaces single facts."""

    def make(model, hardware="h200x8", *, release="0.5.23", facts=None, env=None, **flags):
        found = ModelFacts.from_config(model) if isinstance(model, dict) else find_model(model)
        known = {**preset(hardware).to_facts(), **found.to_facts(), **(facts or {})}
        return Deployment(release, {**FLAGS, **flags}, known, env or {})

    return make
