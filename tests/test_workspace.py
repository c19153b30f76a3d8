"""The workspace: the story of the product, and what every front end asks it."""

from __future__ import annotations

import dataclasses
from functools import reduce
from itertools import combinations

import pytest

from configurator import catalog
from configurator.catalog import VERSIONS
from configurator.core.availability import AUTO, change_to, choices, chosen
from configurator.core.configuration import Change, Configuration
from configurator.core.engine import engine_for
from configurator.core.errors import InputError
from configurator.core.repair import step_cost
from configurator.core.unknown import is_unknown
from configurator.hardware import list_presets, load_hardware
from configurator.models import list_models
from configurator.workspace import DEFAULT_COMMAND, DEFAULT_HARDWARE, Workspace

STORY = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --dcp-size 4 "
    "--dcp-comm-backend ag_rs --dcp-replicate-q-proj"
)
DEEPSEEK = "--model-path deepseek-ai/DeepSeek-V3.1"


def story(release="0.5.19", hardware="h100x8"):
    return Workspace.start(STORY, release=release, hardware=hardware)


def start(arguments, release="0.5.23", hardware="h100x8", **more):
    return Workspace.start(f"{DEEPSEEK} {arguments}", release=release, hardware=hardware, **more)


def broken(workspace):
    return [(f.rule.effect.value, f.rule.slug) for f in workspace.report.findings if f.breaks]


def slugs(workspace):
    return [f.rule.slug for f in workspace.report.findings]


def finding(workspace, slug):
    (found,) = [f for f in workspace.report.findings if f.rule.slug == slug]
    return found


def option(workspace, dest, choice):
    (found,) = [o for o in workspace.options(dest)[dest] if o.choice == choice and type(o.choice) is type(choice)]
    return found


def flags(workspace):
    return dict(workspace.configuration.flags)


# --- the story: a command that is wrong in three ways ---------------------------------------------------------------


def test_it_is_refused_and_would_crash_twice_more():
    assert story().report.verdict == "error"
    assert broken(story()) == [
        ("refuses", "replicate-q-needs-a2a"),
        ("crashes", "tp-mod-dcp-init"),
        ("crashes", "attn-backend-without-dcp"),
    ]


def test_every_finding_says_what_was_asked():
    messages = {f.rule.slug: f.message for f in story().report.findings}
    assert (
        messages["replicate-q-needs-a2a"]
        == "--dcp-replicate-q-proj needs a2a or fi_a2a, and --dcp-comm-backend is ag_rs."
    )
    assert messages["tp-mod-dcp-init"] == "--tp-size 1 is not a multiple of --dcp-size 4."
    assert "becomes fa3, which has no DCP decode path for MLA models" in messages["attn-backend-without-dcp"]


def test_the_refusal_is_fixed_by_another_backend_or_by_letting_q_be():
    workspace = story()
    assert workspace.fixes(finding(workspace, "replicate-q-needs-a2a")) == (
        Change({"dcp_comm_backend": "a2a"}),
        Change(unset=frozenset({"dcp_replicate_q_proj"})),
    )


def test_the_group_is_fixed_by_more_ranks_the_whole_node_first():
    workspace = story()
    found = workspace.fixes(finding(workspace, "tp-mod-dcp-init"))
    assert found[0] == Change({"tp_size": 8})
    assert Change({"tp_size": 4}) in found


def test_the_backend_is_fixed_by_flashinfer():
    workspace = story()
    assert workspace.fixes(finding(workspace, "attn-backend-without-dcp"))[0] == Change(
        {"attention_backend": "flashinfer"}
    )


def test_everything_is_repaired_at_once_the_mildest_first_and_without_dcp_last():
    found = story().repairs()
    assert found[0].change == Change({"dcp_comm_backend": "a2a", "tp_size": 8, "attention_backend": "flashinfer"})
    assert [r.cost for r in found] == sorted(r.cost for r in found)
    assert all("dcp_size" not in r.change.set for r in found[:-1])
    assert found[-1].change == Change({"dcp_size": 1}, frozenset({"dcp_replicate_q_proj"}))
    assert found[-1].cost > 10 * found[0].cost


def test_every_repair_leaves_nothing_that_breaks_and_keeps_the_rest_of_the_command():
    workspace = story()
    for repair in workspace.repairs():
        after = workspace.apply(repair.change)
        assert broken(after) == []
        assert after.report.verdict == repair.verdict
        assert "--model-path deepseek-ai/DeepSeek-V3.1" in after.command.render("as-written")


def test_the_cheapest_repair_reads_as_the_user_would_have_written_it():
    workspace = story()
    after = workspace.apply(workspace.repairs()[0].change)
    assert after.command.render("as-written") == (
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --dcp-size 4 "
        "--tp-size 8 --dcp-comm-backend a2a --dcp-replicate-q-proj --attention-backend flashinfer"
    )


def test_on_h100_fi_a2a_is_blocked_by_the_hardware():
    fi_a2a = option(story(), "dcp_comm_backend", "fi_a2a")
    assert (fi_a2a.state, fi_a2a.blocked_by) == ("blocked", "fact")
    assert "NVIDIA H100" in fi_a2a.reason
    assert story().way_out("dcp_comm_backend", "fi_a2a") is None


@pytest.mark.parametrize(("release", "preset"), [("0.5.19", "gb200-nvl72"), ("0.5.23", "b200x8")])
def test_the_machine_that_would_free_it_is_named(release, preset):
    workspace = start("--tp-size 8 --dcp-size 4 --attention-backend flashinfer", release)
    assert option(workspace, "dcp_comm_backend", "fi_a2a").blocked_by == "fact"
    assert workspace.hardware_that_frees("dcp_comm_backend", "fi_a2a").name == preset
    assert option(workspace.with_hardware(preset), "dcp_comm_backend", "fi_a2a").state == "open"


def test_of_a_machine_that_was_looked_at_none_is_named():
    probed = dataclasses.replace(load_hardware("h100x8"), assumed=False, name="local")
    workspace = start("--tp-size 8 --dcp-size 4", hardware=probed)
    assert option(workspace, "dcp_comm_backend", "fi_a2a").state == "blocked"
    assert workspace.hardware_that_frees("dcp_comm_backend", "fi_a2a") is None


def test_what_is_chosen_is_in_conflict_not_blocked():
    for dest, choice in (
        ("dcp_comm_backend", "ag_rs"),
        ("dcp_replicate_q_proj", True),
        ("dcp_size", 4),
        ("tp_size", 1),
    ):
        chosen = option(story(), dest, choice)
        assert (chosen.state, chosen.chosen, chosen.conflict) == ("open", True, True)


def test_without_a_group_the_exchanges_are_blocked_and_ag_rs_is_not():
    workspace = start("--tp-size 8 --dcp-size 1", "0.5.19")
    states = {o.label: (o.state, o.blocked_by) for o in workspace.options("dcp_comm_backend")["dcp_comm_backend"]}
    assert states["a2a"] == ("blocked", "choice")
    assert states["fi_a2a"] == ("blocked", "fact")
    assert states["ag_rs"][0] == states["auto"][0] == "open"
    assert option(workspace, "dcp_replicate_q_proj", True).state == "blocked"
    assert workspace.way_out("dcp_comm_backend", "a2a").set["dcp_size"] > 1


def test_choosing_a2a_frees_the_replicated_projection():
    before = start("--tp-size 8 --dcp-size 4 --attention-backend flashinfer --dcp-comm-backend ag_rs", "0.5.19")
    blocked = option(before, "dcp_replicate_q_proj", True)
    assert (blocked.state, blocked.blocked_by) == ("blocked", "choice")
    assert before.way_out("dcp_replicate_q_proj", True) == Change({"dcp_comm_backend": "a2a"})
    after = before.choose("dcp_comm_backend", "a2a")
    assert option(after, "dcp_replicate_q_proj", True).state == "open"
    assert broken(after.choose("dcp_replicate_q_proj", True)) == []


def test_an_unset_backend_is_decided_by_the_release_and_the_hardware():
    arguments = "--tp-size 8 --dcp-size 4 --attention-backend flashinfer --dcp-replicate-q-proj"
    old, hopper = start(arguments, "0.5.19"), start(arguments)
    blackwell = start(arguments, hardware="b200x8")
    assert [w.report.resolved["dcp_comm_backend"] for w in (old, hopper, blackwell)] == ["ag_rs", "a2a", "fi_a2a"]
    assert [w.report.decided_by["dcp_comm_backend"] for w in (old, hopper, blackwell)] == [
        "comm-backend-default-static",
        "comm-backend-auto-a2a-xpu",
        "comm-backend-auto-fi-a2a",
    ]
    assert [("refuses", "replicate-q-needs-a2a") in broken(w) for w in (old, hopper, blackwell)] == [True, False, False]
    assert [option(w, "dcp_comm_backend", AUTO).becomes for w in (old, hopper, blackwell)] == ["ag_rs", "a2a", "fi_a2a"]


def test_on_blackwell_the_backend_needs_no_change():
    assert ("crashes", "attn-backend-without-dcp") not in broken(story("0.5.23", "b200x8"))


@pytest.mark.parametrize("release", VERSIONS[2:])
@pytest.mark.parametrize("hardware", ["h100x8", "h200x8", "b200x8", "gb200-nvl72"])
def test_the_story_is_repaired_on_every_release_that_has_its_flags(release, hardware):
    workspace = story(release, hardware)
    assert workspace.report.verdict == "error"
    found = workspace.repairs()
    assert found
    for repair in found:
        assert broken(workspace.apply(repair.change)) == []
    assert found[-1].change.set.get("dcp_size") == 1
    assert all(repair.change.set.get("dcp_size") != 1 for repair in found[:-1])


@pytest.mark.parametrize("release", VERSIONS[:2])
def test_before_0_5_17_its_flags_are_not_known_and_can_be_dropped(release):
    workspace = story(release)
    assert [slug for _, slug in broken(workspace)][:2] == ["cli-flag-unknown", "cli-flag-unknown"]
    assert "it appears in 0.5.17" in workspace.report.findings[0].message
    found = workspace.repairs()
    assert found
    for repair in found:
        assert {"--dcp-comm-backend", "--dcp-replicate-q-proj"} <= repair.change.unset
        assert broken(workspace.apply(repair.change)) == []


# --- a workspace is a value -----------------------------------------------------------------------------------------


def test_undo_is_the_workspace_of_before():
    first = story()
    second = first.choose("dcp_comm_backend", "a2a")
    third = second.choose("tp_size", 8)
    assert first.configuration["dcp_comm_backend"] == "ag_rs"
    assert second.configuration["dcp_comm_backend"] == "a2a"
    assert "tp_size" not in second.configuration
    assert third.configuration["tp_size"] == 8
    assert first == story()
    assert first.report.verdict == "error"
    assert [w.command.render() for w in (first, second, third)] == [w.command.render() for w in (first, second, third)]


def test_a_workspace_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        story().hardware = load_hardware("cpu")


def test_the_same_question_has_the_same_answer():
    assert story().report == story().report
    assert story().repairs() == story().repairs()
    assert story().options() == story().options()


def test_choosing_there_and_back_is_the_command_of_before():
    before = start("--tp-size 8 --dcp-size 4 --dcp-comm-backend a2a")
    there = before.choose("dcp_comm_backend", "ag_rs")
    assert there.choose("dcp_comm_backend", "a2a").command.render() == before.command.render()
    gone = before.choose("dcp_comm_backend", AUTO)
    assert "dcp_comm_backend" not in gone.configuration
    assert "--dcp-comm-backend" not in gone.command.render()


def test_every_choice_can_be_made_and_is_then_chosen():
    workspace = start("--tp-size 8 --dcp-size 4 --dcp-comm-backend a2a --dcp-replicate-q-proj")
    for dest, offered in workspace.options().items():
        for o in offered:
            after = workspace.choose(dest, o.choice)
            assert option(after, dest, o.choice).chosen, (dest, o.label)
            assert sum(other.chosen for other in after.options(dest)[dest]) == 1, (dest, o.label)


def test_a_blocked_choice_can_be_made_all_the_same_and_is_in_conflict_then():
    workspace = start("--tp-size 8 --dcp-size 4 --attention-backend flashinfer")
    after = workspace.choose("dcp_comm_backend", "fi_a2a")
    assert option(after, "dcp_comm_backend", "fi_a2a").conflict
    assert after.report.verdict == "error"


def test_the_way_out_frees_what_it_is_for():
    workspace = story()
    tried = 0
    for dest in ("tp_size", "dcp_size", "dcp_comm_backend", "dcp_replicate_q_proj", "attention_backend"):
        for o in workspace.options(dest)[dest]:
            if o.blocked_by == "choice":
                change = workspace.way_out(dest, o.choice)
                assert change is not None, (dest, o.label)
                after = workspace.choose(dest, o.choice).apply(change)
                assert not option(after, dest, o.choice).conflict, (dest, o.label)
                tried += 1
    assert tried > 10


# --- where one starts -----------------------------------------------------------------------------------------------


def test_without_anything_it_starts_with_a_command_that_runs():
    workspace = Workspace.start()
    assert workspace.command.render("as-written") == DEFAULT_COMMAND
    assert workspace.release.version == catalog.NEWEST
    assert workspace.hardware.name == DEFAULT_HARDWARE
    assert workspace.hardware.assumed
    assert not workspace.model.chosen
    assert broken(workspace) == []
    assert workspace.repairs() == ()


@pytest.mark.parametrize("release", VERSIONS)
def test_the_command_it_starts_with_breaks_on_no_release(release):
    assert broken(Workspace.start(release=release)) == []


def test_text_argv_and_bare_arguments_are_the_same_command():
    words = STORY.split()
    sources = (STORY, words, words[3:], STORY.partition("launch_server ")[2])
    asked = [Workspace.start(source, release="0.5.19", hardware="h100x8") for source in sources]
    assert len({w.configuration for w in asked}) == 1
    assert len({tuple(slugs(w)) for w in asked}) == 1


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"release": "0.5.14"}, "0.5.14"),
        ({"hardware": "h9000"}, "h9000"),
        ({"model": "no-such-model"}, "no-such-model"),
    ],
)
def test_a_name_that_means_nothing_is_an_input_error(more, part):
    with pytest.raises(InputError) as error:
        Workspace.start(STORY, **more)
    assert part in str(error.value)


def test_environment_variables_come_with_the_command():
    workspace = start("--tp-size 8", env={"SGLANG_X": "1"})
    assert workspace.configuration.env == {"SGLANG_X": "1"}
    assert "SGLANG_X=1" in workspace.command.render()
    assert workspace.choose("tp_size", 4).configuration.env == {"SGLANG_X": "1"}
    assert workspace.apply(Change(env={"SGLANG_Y": "2"})).configuration.env == {"SGLANG_X": "1", "SGLANG_Y": "2"}


# --- facts: known, assumed, unknown ---------------------------------------------------------------------------------

PLAIN = "--tp-size 8 --dcp-size 4"
RUNS = "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"


@pytest.mark.parametrize("release", VERSIONS)
@pytest.mark.parametrize("preset", [p.name for p in list_presets()])
def test_an_assumed_machine_and_a_known_model_leave_nothing_undecided(release, preset):
    workspace = start(PLAIN, release, preset)
    undecided = [(f.rule.slug, f.reason) for f in workspace.report.findings if not f.certain and f.rule.effect.breaks]
    assert undecided == []
    assert workspace.report.verdict != "unknown"
    assert not is_unknown(workspace.report.resolved["attention_backend"])


@pytest.mark.parametrize("model", [sheet.facts.name for sheet in list_models()])
def test_every_known_model_is_decided(model):
    workspace = Workspace.start("--tp-size 8 --dcp-size 4", hardware="h100x8", model=model)
    undecided = [(f.rule.slug, f.reason) for f in workspace.report.findings if not f.certain and f.rule.effect.breaks]
    assert undecided == []
    assert not is_unknown(workspace.report.resolved["attention_backend"])


def test_a_model_nobody_knows_is_unknown_never_green():
    workspace = Workspace.start("--model-path somebody/secret-model --tp-size 8 --dcp-size 4", hardware="h100x8")
    assert workspace.report.verdict == "unknown"
    assert workspace.model.facts == {}
    assert workspace.model.note
    assert all(f.reason for f in workspace.report.findings if not f.certain)


def test_what_is_certain_is_said_of_an_unknown_model_too():
    workspace = Workspace.start("--model-path somebody/secret-model --tp-size 8 --dcp-size 3", hardware="h100x8")
    assert workspace.report.verdict == "error"
    assert ("crashes", "tp-mod-dcp-init") in broken(workspace)


@pytest.mark.parametrize("name", ["none", "dummy", "None", "DUMMY"])
def test_a_placeholder_is_validated_at_the_command_line_only(name):
    arguments = f"--model-path {name} --tp-size 8 --dcp-comm-backend a2a --dcp-replicate-q-proj"
    workspace = Workspace.start(arguments, hardware="h100x8")
    assert not [
        f for f in workspace.report.findings if f.rule.stage.value in ("server_args", "model_args") and f.breaks
    ]
    assert ("refuses", "cli-dcp-size-int") in broken(Workspace.start(f"{arguments} --dcp-size four", hardware="h100x8"))


def test_more_ranks_than_gpus_crash_and_are_not_refused():
    workspace = start("--tp-size 16")
    assert [
        (f.rule.effect.value, f.rule.stage.value)
        for f in workspace.report.findings
        if f.rule.slug == "ranks-exceed-gpus"
    ] == [("crashes", "init")]
    assert all(effect != "refuses" for effect, _ in broken(workspace))


def test_a_flag_that_only_the_shell_knows_is_undecided():
    workspace = start('--tp-size "$TP" --dcp-size 4 --attention-backend flashinfer')
    assert "tp_size" not in workspace.configuration
    assert is_unknown(workspace.report.resolved["tp_size"])
    assert workspace.report.verdict == "unknown"
    assert "$TP stands for a value that only the shell knows" in finding(workspace, "tp-mod-dcp-init").reason
    assert not any(o.chosen for o in workspace.options("tp_size")["tp_size"])
    assert broken(workspace.choose("tp_size", 8)) == []


def test_a_backend_that_only_the_shell_knows_is_not_the_default():
    workspace = start('--tp-size 8 --dcp-size 1 --dcp-comm-backend "$BACKEND"', "0.5.19")
    assert is_unknown(workspace.report.resolved["dcp_comm_backend"])
    assert "dcp_comm_backend" not in workspace.report.decided_by
    assert not finding(workspace, "comm-backend-needs-dcp").certain


def test_software_is_as_the_release_pins_it_until_the_machine_says_otherwise():
    workspace = start("--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", hardware="b200x8")
    assert "fi-a2a-flashinfer-init" not in slugs(workspace)
    machine = dataclasses.replace(workspace.hardware, software={"flashinfer_dcp_alltoall": False})
    assert ("crashes", "fi-a2a-flashinfer-init") in broken(workspace.with_hardware(machine))


# --- other release, machine, model ----------------------------------------------------------------------------------


def test_another_release_reads_the_same_words():
    workspace = story("0.5.23")
    older = workspace.with_release("0.5.16")
    assert older.command.render("as-written") == workspace.command.render("as-written")
    assert "dcp_comm_backend" not in older.configuration
    assert older.with_release("0.5.23").configuration == workspace.configuration
    with pytest.raises(InputError):
        workspace.with_release("0.5.99")


def test_another_machine_changes_what_holds_not_what_was_asked():
    workspace = story("0.5.23")
    other = workspace.with_hardware("b200x8")
    assert other.command == workspace.command
    assert slugs(other) != slugs(workspace)
    with pytest.raises(InputError):
        workspace.with_hardware("h9000")


def test_another_model_of_the_catalogue_changes_the_path_too():
    other = start(PLAIN).with_model("llama-3.1-70b")
    assert other.model.facts["model.attention_kind"] == "gqa"
    assert "DeepSeek" not in other.command.render()
    assert "Llama-3.1-70B" in other.command.render()


def test_a_path_of_the_users_own_stays_when_another_model_is_chosen():
    workspace = Workspace.start(f"--model-path /models/mine {PLAIN}", hardware="h100x8").with_model("deepseek-v3.1")
    assert "--model-path /models/mine" in workspace.command.render("as-written")
    assert workspace.model.chosen
    assert workspace.model.facts["model.attention_kind"] == "mla"
    assert workspace.choose("tp_size", 4).model == workspace.model
    assert workspace.load("--model-path /models/other --tp-size 8").model == workspace.model


def test_a_pasted_command_brings_its_model_and_keeps_release_and_machine():
    workspace = story().load(
        "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B-Instruct --tp-size 8 --dcp-size 2"
    )
    assert (workspace.release.version, workspace.hardware.name) == ("0.5.19", "h100x8")
    assert workspace.model.facts["model.attention_kind"] == "gqa"


def test_a_model_can_be_given_as_its_config():
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_attention_heads": 64, "num_key_value_heads": 8,
              "hidden_size": 8192, "num_hidden_layers": 80, "vocab_size": 128256, "torch_dtype": "bfloat16"}  # fmt: skip
    workspace = Workspace.start(PLAIN, hardware="h100x8", model=config)
    assert workspace.model.facts["model.num_kv_heads"] == 8
    assert workspace.report.verdict != "unknown"


# --- what the parser refuses ----------------------------------------------------------------------------------------


def test_the_parsers_refusals_lead_and_then_what_would_come_after():
    workspace = start("--tp-size eight --dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj")
    stages = [f.rule.stage.value for f in workspace.report.findings if f.breaks]
    assert stages[0] == "cli"
    assert "cli" not in stages[1:]
    assert ("refuses", "replicate-q-needs-a2a") in broken(workspace)


@pytest.mark.parametrize(("arguments", "slug", "first"), [
    ("--tp-size 8 --dcp-size four", "cli-dcp-size-int", None),
    (f"{RUNS} --dcp-comm-backend A2A", "cli-comm-backend-choice", Change({"dcp_comm_backend": "a2a"})),
    ("--tp-size 8 --attention-backend flashinfr", "cli-value-choice", Change({"attention_backend": "flashinfer"})),
    (RUNS.replace("size 4", "sise 4"), "cli-flag-unknown", Change({"dcp_size": 4}, frozenset({"--dcp-sise"}))),
    ("--tp-size 8 --no-such-flag", "cli-flag-unknown", Change(unset=frozenset({"--no-such-flag"}))),
])  # fmt: skip
def test_a_misspelt_command_is_fixed(arguments, slug, first):
    workspace = start(arguments)
    found = workspace.fixes(finding(workspace, slug))
    assert found
    if first is not None:
        assert found[0] == first
    for change in found:
        after = workspace.apply(change)
        assert slug not in slugs(after)
        assert broken(after) == []


def test_a_correction_that_breaks_something_else_is_no_fix():
    workspace = start("--tp-size eight")
    assert Change({"tp_size": 8}) in workspace.fixes(finding(workspace, "cli-value-type"))
    assert Change({"tp_size": 16}) not in workspace.fixes(finding(workspace, "cli-value-type"))


def test_misspelt_and_wrong_at_once_is_repaired_together():
    workspace = start("--tp-size 8 --dcp-sise 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj")
    found = workspace.repairs()
    assert found
    for repair in found:
        after = workspace.apply(repair.change)
        assert broken(after) == []
        assert after.report.verdict == repair.verdict
    assert [r.cost for r in found] == sorted(r.cost for r in found)


def test_a_misspelt_command_that_is_right_otherwise_has_one_repair():
    workspace = start("--tp-size 8 --dcp-sise 4 --attention-backend flashinfer")
    (repair,) = workspace.repairs()
    assert repair.change == Change({"dcp_size": 4}, frozenset({"--dcp-sise"}))
    assert broken(workspace.apply(repair.change)) == []


def test_what_is_said_of_the_text_is_no_finding():
    workspace = Workspace.start(f"{STORY} && echo done", release="0.5.19", hardware="h100x8")
    assert slugs(workspace) == slugs(story())
    assert workspace.notes


def test_a_repeated_flag_is_noted_after_what_breaks():
    workspace = start("--tp-size 4 --tp-size 8 --dcp-size 3")
    found = slugs(workspace)
    assert found.index("cli-flag-repeated") > found.index("tp-mod-dcp-init")
    assert workspace.report.resolved["tp_size"] == 8


def test_no_command_at_all_is_a_value_too():
    workspace = Workspace.start("hello world")
    assert not workspace.command.is_launch
    assert workspace.configuration == Configuration()
    assert workspace.repairs() == ()


# --- every finding of many commands ---------------------------------------------------------------------------------

COMMANDS = (
    ("--tp-size 8 --dcp-size 8", "deepseek-v3.1"),
    ("--tp-size 8 --dcp-size 4 --enable-dp-attention --dp-size 4 --attention-backend flashinfer", "llama-3.1-70b"),
    ("--tp-size 16 --nnodes 2 --dcp-size 16 --attention-backend trtllm_mla", "deepseek-v3.1"),
    ("--tp-size 8 --dcp-size 4 --kv-cache-dtype fp8_e4m3 --attention-backend flashinfer", "llama-3.1-70b"),
    ("--tp-size 8 --dcp-size 2 --speculative-algorithm EAGLE --attention-backend flashinfer", "deepseek-v3.1"),
    ("--tp-size 8 --pp-size 2 --dcp-size 4 --disaggregation-mode decode", "qwen3-235b-a22b"),
    ("--tp-size 6 --dcp-size 4 --page-size 64", "deepseek-v3.1"),
    ("--tp-size 0 --dcp-size 0", "deepseek-v3.1"),
    ("--tp-size -8 --dcp-size 999999999 --nnodes 0 --pp-size 0 --dp-size 0", "llama-3.1-70b"),
)


@pytest.mark.parametrize(("arguments", "model"), COMMANDS, ids=[arguments for arguments, _ in COMMANDS])
def test_fixes_and_repairs_keep_their_word(arguments, model):
    turn = [arguments for arguments, _ in COMMANDS].index(arguments)
    for release, hardware in (("0.5.23", "h100x8"), (VERSIONS[turn % len(VERSIONS)], ("mi300x8", "b200x8")[turn % 2])):
        workspace = Workspace.start(arguments.split(), release=release, hardware=hardware, model=model)
        held = {f.rule.code for f in workspace.report.findings if f.certain}
        for found in workspace.report.findings:
            for change in workspace.fixes(found):
                after = workspace.apply(change).report.findings
                assert found.rule.code not in {f.rule.code for f in after}, (arguments, change)
                assert {f.rule.code for f in after if f.breaks} <= held, (arguments, change)
        for repair in workspace.repairs():
            after = workspace.apply(repair.change)
            assert broken(after) == [], (arguments, repair)
            assert after.report.verdict == repair.verdict


@pytest.mark.parametrize(("arguments", "model", "cost"), [
    ("--tp-size 8 --dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj", "deepseek-v3.1", 2.0),
    ("--tp-size 8 --dcp-size 3 --attention-backend fa3", "deepseek-v3.1", 4.0),
    ("--tp-size 16 --attention-backend trtllm_mla --dcp-size 2", "deepseek-v3.1", 2.0),
])  # fmt: skip
def test_no_change_of_one_or_two_flags_is_a_cheaper_repair(arguments, model, cost):
    """Tries every value of every modelled flag, and every pair of such changes that would cost less."""
    workspace = Workspace.start(arguments.split(), release="0.5.21", hardware="h100x8", model=model)
    case, engine = workspace.case, engine_for(workspace.release)
    assert workspace.repairs()[0].cost == cost
    steps = [
        (dest, change_to(engine, dest, choice), step_cost(engine, case, dest, choice))
        for dest in workspace.release.modelled
        for choice in choices(engine, dest, case.configuration)
        if not ((now := chosen(engine, dest, case.configuration)) == choice and type(choice) is type(now))
    ]
    assert len(steps) > 150

    def breaks(change):
        return engine.broken(case.configuration.replace(change), case)

    for _, change, price in steps:
        assert price >= cost or breaks(change), change
    cheap = [step for step in steps if step[2] < cost]
    for (one, first, price), (other, second, more) in combinations(cheap, 2):
        if one != other and price + more < cost:
            assert breaks(first.then(second)), (first, second)


def test_changes_made_one_by_one_are_the_change_made_at_once():
    workspace = story()
    change = workspace.repairs()[0].change
    one_by_one = reduce(lambda w, item: w.choose(*item), change.set.items(), workspace)
    assert flags(one_by_one) == flags(workspace.apply(change))
    assert one_by_one.report == workspace.apply(change).report
