"""What the probe makes of machines in every state, over the real NVML binding."""

from __future__ import annotations

import pytest

from configurator.core.unknown import Unknown, is_unknown
from configurator.hardware.snapshot import FabricInfo
from tests.hardware.conftest import H100

CLUSTER = "a1b2c30000d4e5f60718293a4b5c6d7e"
"""With a zero byte inside, as a fabric's identity may have."""

B200 = H100.replace("H100 80GB HBM3", "B200").replace("81559", "183359").replace("sm 90", "sm 100").replace(
    "link_version 6", "link_version 7"
)  # fmt: skip


def test_eight_h100(machine):
    here = machine(H100)
    assert here.problems == ()
    facts = here.to_facts()
    assert {
        key: facts[f"hardware.{key}"]
        for key in ("name", "platform", "assumed", "gpu_name", "sm", "gfx", "gpus_per_node", "mnnvl", "link_kind",
                    "link_gbps", "link_peer", "driver", "cuda_driver")
    } == {
        "name": "local", "platform": "cuda", "assumed": False, "gpu_name": "NVIDIA H100 80GB HBM3", "sm": 90,
        "gfx": None, "gpus_per_node": 8, "mnnvl": False, "link_kind": "nvlink", "link_gbps": 450.0,
        "link_peer": "switch", "driver": "580.95.05", "cuda_driver": "13.0",
    }  # fmt: skip
    assert facts["hardware.memory_gib"] == 81559 / 1024
    # 2619 MHz, two transfers a clock, 5120 bits: the data sheet says 3.35 TB/s.
    assert facts["hardware.hbm_gbps"] == pytest.approx(3352.32)
    assert (facts["hardware.bf16_tflops"], facts["hardware.fp8_tflops"]) == (989, 1979)


def test_each_gpu_of_eight(machine):
    for index, gpu in enumerate(machine(H100).gpus):
        assert gpu.index == index
        assert gpu.uuid == f"GPU-00000000-0000-4000-8000-{index:012x}"
        assert gpu.p2p_peers == tuple(other for other in range(8) if other != index)
        assert (gpu.link.generation, gpu.link.links, gpu.link.links_total) == (4, 18, 18)
        assert gpu.mig is False
        assert gpu.throttle == ()
        assert gpu.other_processes == 0
        assert (gpu.sm_clock_mhz, gpu.sm_clock_max_mhz) == (1980, 1980)
        assert gpu.memory_free_gib == pytest.approx((81559 - 4) / 1024)


def test_no_driver(machine):
    here = machine(driver="none")
    assert here.problems == ("No GPU is visible: no NVIDIA driver is installed.",)
    assert here.gpus == ()
    for key in ("platform", "gpu_name", "sm", "gpus_per_node", "mnnvl", "memory_gib"):
        assert here.to_facts()[f"hardware.{key}"] == Unknown("no NVIDIA driver is installed")
    assert here.to_facts()["software.torch"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (9, "the NVIDIA driver is not loaded"),
        (18, "driver and driver library are of different versions; restart the machine"),
        (4, "permission denied"),
        (20, "the driver answered: Insufficient Memory"),
    ],
)
def test_a_driver_that_does_not_start(machine, code, reason):
    here = machine(f"fail_init {code}\n")
    assert here.problems == (f"No GPU is visible: {reason}.",)
    assert here.to_facts()["hardware.sm"] == Unknown(reason)


def test_a_driver_that_forgot_that_it_was_started(machine):
    here = machine(H100 + "forget_init 1\n")
    assert here.problems == ("No GPU is visible: the driver answered: Uninitialized.",)


def test_a_driver_without_gpus(machine):
    here = machine("count 0\n")
    assert here.problems == ("No GPU is visible: the driver lists no GPU.",)
    assert is_unknown(here.gpus_per_node)


def test_an_old_driver_leaves_unknown_what_it_cannot_say(machine):
    here = machine(H100, driver="old")
    assert here.sm == 90
    assert here.gpus_per_node == 8
    assert here.mnnvl == Unknown("the driver is too old to tell")
    assert here.gpus[0].fabric == Unknown("the driver is too old to tell")
    assert here.gpus[0].other_processes == Unknown("the driver is too old to tell")


def test_an_old_driver_on_a_gpu_that_never_had_a_fabric(machine):
    assert machine("count 1\nsm 80\n", driver="old").mnnvl is False


def test_one_gpu_that_cannot_be_opened(machine):
    here = machine(H100 + "fail.3 nvmlDeviceGetHandleByIndex_v2 15\n")
    assert here.gpus_per_node == 7
    assert [gpu.index for gpu in here.gpus] == [0, 1, 2, 4, 5, 6, 7]
    assert here.problems == ("GPU 3 cannot be asked: the GPU has fallen off the bus.",)
    assert here.gpus[0].p2p_peers == (1, 2, 4, 5, 6, 7)


@pytest.mark.parametrize("lost", [0, 3])
def test_one_gpu_that_stopped_answering(machine, lost):
    everything_but_opening = (
        "GetName", "GetUUID", "GetMemoryInfo", "GetCudaComputeCapability", "GetMigMode", "GetNvLinkState",
        "GetMaxPcieLinkGeneration", "GetCurrPcieLinkWidth", "GetMemoryBusWidth", "GetCurrentClocksThrottleReasons",
        "GetClockInfo", "GetMaxClockInfo", "GetP2PStatus", "GetComputeRunningProcesses_v3", "GetGpuFabricInfoV",
    )  # fmt: skip
    here = machine(H100 + "".join(f"fail.{lost} nvmlDevice{name} 15\n" for name in everything_but_opening))
    assert here.problems == (f"GPU {lost} cannot be asked: the GPU has fallen off the bus.",)
    assert here.gpus_per_node == 7
    assert here.gpu_name == "NVIDIA H100 80GB HBM3"
    assert here.sm == 90


def test_all_gpus_lost(machine):
    here = machine(H100 + "fail nvmlDeviceGetHandleByIndex_v2 15\n")
    assert here.gpus == ()
    assert is_unknown(here.gpus_per_node)
    assert "GPU 0 cannot be asked: the GPU has fallen off the bus" in here.problems[0]


def test_mig(machine):
    here = machine(H100 + "mig.2 1\n")
    assert [gpu.mig for gpu in here.gpus] == [False, False, True, False, False, False, False, False]
    assert here.problems == ("GPU 2 is split by MIG; SGLang sees its slices.",)


def test_a_gpu_that_cannot_be_split(machine):
    here = machine("count 1\nsm 89\n")
    assert here.gpus[0].mig is None
    assert here.problems == ()


def test_a_query_the_gpu_does_not_support_is_unknown_and_no_zero(machine):
    here = machine(
        H100.replace("bus_width 5120\n", "") + "fail nvmlDeviceGetMemoryInfo 3\n"
        "fail nvmlDeviceGetClockInfo 3\n"
    )  # fmt: skip
    silent = Unknown("this GPU or driver does not tell")
    assert here.hbm_gbps == silent
    assert is_unknown(here.memory_gib)
    assert here.gpus[0].memory_free_gib == silent
    assert here.gpus[0].sm_clock_mhz == silent
    assert here.sm == 90


def test_permission_denied_for_one_question(machine):
    here = machine(H100 + "fail nvmlDeviceGetComputeRunningProcesses_v3 4\nfail nvmlDeviceGetMigMode 4\n")
    assert here.gpus[0].other_processes == Unknown("permission denied")
    assert here.gpus[0].mig == Unknown("permission denied")
    assert here.gpus_per_node == 8


def test_a_name_nobody_may_read(machine):
    here = machine(H100 + "fail nvmlDeviceGetName 4\n")
    assert here.gpu_name == Unknown("permission denied")
    assert here.label == "8x GPU, this machine"
    assert here.fp8_tflops == Unknown("permission denied")


def test_no_nvlink(machine):
    here = machine("count 2\nname NVIDIA RTX PRO 6000\nsm 120\npcie_generation 5\npcie_width 16\np2p 5\n")
    assert here.problems == ()
    assert here.link.kind == "pcie"
    assert here.link.gbps == pytest.approx(63.0, rel=0.01)  # PCIe 5 x16: 63e9 bytes/s in each direction
    assert here.link.peer is None
    assert here.mnnvl is False
    assert [gpu.p2p_peers for gpu in here.gpus] == [(), ()]
    assert is_unknown(here.bf16_tflops)


def test_links_that_are_all_down_are_no_links(machine):
    assert machine(H100 + "links_up 0\n").link.kind == "pcie"


def test_links_that_are_partly_down_are_counted_and_told(machine):
    here = machine(H100 + "links_up.5 17\n")
    assert here.gpus[5].link.gbps == 425.0
    assert here.gpus[5].link.links_total == 18
    assert here.problems == ("GPU 5 has 17 of 18 NVLink links up.",)


def test_a_link_question_that_fails_does_not_make_it_pcie(machine):
    here = machine(H100 + "fail nvmlDeviceGetNvLinkState 10\n")
    assert here.link.kind == Unknown("the driver did not answer in time")


def test_eight_b200_share_a_fabric_within_their_node(machine):
    here = machine(B200 + "fabric_clique 0\n")
    assert here.sm == 100
    assert here.mnnvl is False
    assert here.link.gbps == 900.0
    assert here.gpus[0].fabric == FabricInfo(state="completed", clique=0, cluster=None, healthy=None)


def test_gb200_share_a_fabric_across_nodes(machine):
    here = machine(
        B200.replace("count 8", "count 4") + f"fabric_clique 32766\nfabric_cluster {CLUSTER}\nfabric_health 2\n"
    )
    assert here.gpus_per_node == 4
    assert here.mnnvl is True
    assert here.to_facts()["hardware.gpus_per_node"] == 4
    assert here.gpus[3].fabric == FabricInfo(state="completed", clique=32766, cluster=CLUSTER, healthy=True)


@pytest.mark.parametrize(("state", "word"), [(1, "not started"), (2, "in progress")])
def test_a_fabric_that_is_not_ready_is_undecided(machine, state, word):
    here = machine(B200.replace("fabric_state 3", f"fabric_state {state}"))
    assert here.mnnvl == Unknown(f"the fabric's registration is {word}")
    (told,) = here.problems
    assert told.startswith(f"GPU 0, 1, 2, 3, 4, 5, 6, 7: the registration with the NVLink fabric is {word};")
    assert "nvidia-fabricmanager" in told


def test_a_fabric_whose_registration_failed(machine):
    here = machine(B200 + "fabric_status 999\n")
    assert here.mnnvl == Unknown("the fabric's registration failed")
    assert "the registration with the NVLink fabric is failed" not in here.problems[0]
    assert "the registration with the NVLink fabric failed" in here.problems[0]


def test_a_gpu_that_knows_no_fabric(machine):
    here = machine(H100.replace("fabric_state 3\n", ""))
    assert here.gpus[0].fabric is None
    assert here.mnnvl is False


@pytest.mark.parametrize("mask", [0b01, 0b10_01_10, 0b01_10_10_10, 0x200 | 0b10_10_10_10])
def test_a_fabric_that_is_not_healthy_is_told(machine, mask):
    here = machine(B200.replace("count 8", "count 1") + f"fabric_cluster {CLUSTER}\nfabric_health {mask}\n")
    assert here.gpus[0].fabric.healthy is False
    assert here.problems == ("GPU 0: the driver reports that the NVLink fabric is degraded.",)


def test_odd_bytes_in_names_are_shown_and_not_lost(machine):
    here = machine(H100.replace("H100 80GB HBM3", r"H100\xff 80GB") + "uuid.0 GPU-\\xc3\\xa9\\xfe\n")
    assert here.gpu_name == "NVIDIA H100\ufffd 80GB"
    assert here.gpus[0].uuid == "GPU-é\ufffd"
    assert here.gpus[1].uuid == "GPU-00000000-0000-4000-8000-000000000001"


def test_gpus_of_different_kinds(machine):
    here = machine(H100 + "name.7 NVIDIA H200\nmemory_mib.7 143771\n")
    assert here.problems == ("The GPUs differ: NVIDIA H100 80GB HBM3, NVIDIA H200.",)
    assert here.memory_gib == 81559 / 1024


def test_a_gpu_that_is_slowed_down_says_why(machine):
    here = machine(H100 + "throttle.1 0x44\nthrottle.2 0x1\n")
    assert here.gpus[1].throttle == ("power limit of the software", "temperature limit of the hardware")
    assert here.gpus[2].throttle == ()  # idle is no limit
    assert here.problems == (
        "GPU 1 is held down: power limit of the software, temperature limit of the hardware.",
    )  # fmt: skip


def test_gpus_that_others_use(machine):
    here = machine(H100 + "processes.0 2\nmemory_used_mib.0 70000\n")
    assert here.gpus[0].other_processes == 2
    assert here.gpus[0].memory_free_gib == pytest.approx((81559 - 70000) / 1024)


def test_a_link_generation_without_a_known_speed(machine):
    here = machine(B200.replace("link_version 7", "link_version 9"))
    assert here.link.links == 18
    assert here.link.gbps == Unknown("no speed is on file for NVLink 9")
