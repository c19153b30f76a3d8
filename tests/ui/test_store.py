"""The store: what an action changes, what it tells, and that nothing a user entered is lost."""

import pytest

from configurator.core.availability import AUTO
from configurator.core.configuration import Change
from configurator.ui.store import Store
from configurator.workspace import Workspace

BROKEN = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 "
    "--dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"
)


@pytest.fixture
def store():
    return Store(Workspace.start(BROKEN, release="0.5.19", hardware="h100x8"))


def texts(store):
    return [message["text"] for message in store.messages]


def test_a_choice_gives_a_new_workspace_that_undo_takes_back(store):
    before = store.workspace
    store.choose("dcp_comm_backend", "a2a")
    assert store.workspace.configuration.flags["dcp_comm_backend"] == "a2a"
    assert (store.can_undo, store.can_redo) == (True, False)
    store.undo()
    assert store.workspace == before
    assert (store.can_undo, store.can_redo) == (False, True)
    store.redo()
    assert store.workspace.configuration.flags["dcp_comm_backend"] == "a2a"


def test_a_new_change_ends_what_could_be_redone(store):
    store.choose("dcp_comm_backend", "a2a")
    store.undo()
    store.choose("tp_size", 8)
    assert not store.can_redo


def test_auto_leaves_the_flag_out(store):
    store.choose("dcp_comm_backend", AUTO)
    assert "dcp_comm_backend" not in store.workspace.configuration.flags
    assert "--dcp-comm-backend" not in store.workspace.command.render()


def test_an_equal_workspace_is_no_step_of_the_history(store):
    store.load(BROKEN)
    assert not store.can_undo


def test_views_hear_of_a_change_once(store):
    heard = []
    store.observe(lambda change: heard.append(change.name), "workspace")
    store.apply(Change({"dcp_comm_backend": "a2a", "tp_size": 8}))
    assert heard == ["workspace"]


@pytest.mark.parametrize(
    "text",
    ["", "   \n", "make me a sandwich", "{ not json", '"', "\0", pytest.param('{"a":' + "[" * 60_000, id="deep")],
)
def test_what_cannot_be_loaded_is_said_and_changes_nothing(store, text):
    before = store.workspace
    store.guarded(store.load, text)
    assert store.workspace == before
    assert texts(store), "the user must be told"
    assert all("Traceback" not in text for text in texts(store))


def test_a_command_with_mistakes_is_loaded_as_far_as_it_can_be_read(store):
    store.load("python -m sglang.launch_server --model-path m --tp-size 8 --dcp-size four")
    assert store.workspace.configuration.flags["tp_size"] == 8
    assert store.workspace.report.verdict == "error"


def test_a_config_json_becomes_the_model(store):
    config = (
        '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_attention_heads": 32, '
        '"num_key_value_heads": 8, "hidden_size": 4096, "num_hidden_layers": 32}'
    )
    store.guarded(store.load, config)
    assert store.workspace.model.facts["model.num_kv_heads"] == 8
    assert store.can_undo


def test_an_error_message_is_explained_and_the_command_stays(store):
    before = store.workspace
    store.load("ValueError: --dcp-replicate-q-proj only applies to the a2a/fi_a2a DCP backends, got ag_rs")
    assert store.workspace == before
    assert store.messages[0]["code"] == "DCP206"
    assert store.messages[0]["ways"]


def test_a_flag_is_added_with_its_value(store):
    assert store.add("--mem-fraction-static 0.8")
    assert store.workspace.configuration.flags["mem_fraction_static"] == 0.8


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "empty"),
        ("--mem-fraction-statc 0.8", "--mem-fraction-static"),
        ("tp 8", "no flag"),
        ("--tp-size eight", "--tp-size"),
    ],
)
def test_a_flag_that_cannot_be_added_is_named(store, text, named):
    before = store.workspace
    assert not store.add(text)
    assert store.workspace == before
    assert named in texts(store)[0]


def test_a_fault_of_the_program_becomes_a_sentence(store, caplog):
    def broken():
        raise ZeroDivisionError("inside")

    store.guarded(broken)
    assert "ZeroDivisionError" in texts(store)[0]
    assert "Nothing you entered is lost" in texts(store)[0]
    assert any(record.exc_info for record in caplog.records), "the log keeps the traceback"


def test_the_next_action_empties_the_messages(store):
    store.say("something")
    store.choose("tp_size", 8)
    assert store.messages == []


def test_the_history_is_bounded(store):
    for at in range(500):
        store.choose("tp_size", 4 if at % 2 else 8)
    steps = 0
    while store.can_undo:
        store.undo()
        steps += 1
    assert 100 <= steps <= 400
