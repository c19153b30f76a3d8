// The flags of the command that have no control of their own, and a box that adds any flag of the release.

function render({ model, el, signal }) {
  const dc = root(el, "dc-other");
  const listId = `dc-flags-${Math.random().toString(36).slice(2)}`;
  const chips = h("ul", { class: "dc-chips", "aria-label": "Other flags of the command" });
  const options = h("datalist", { id: listId });
  const input = h("input", {
    type: "text", class: "dc-field", "aria-label": "Add a flag", placeholder: "Add a flag, with its value", list: listId, spellcheck: "false", autocomplete: "off",
    onfocus: () => { if (!model.get("addable").length) model.send({ do: "list" }); },
  });
  const addButton = h("button", { type: "button", class: "dc-btn small", onclick: send }, "Add");
  dc.append(h("h2", { class: "dc-og-head" }, "Other flags"), h("div", { class: "dc-other-row" }, chips, h("div", { class: "dc-add" }, input, addButton, options)));

  function send() {
    if (input.value.trim()) model.send({ do: "add", text: input.value });
    else input.focus();
  }
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    send();
  });
  const heard = (message) => { if (message.added) input.value = ""; };
  model.on("msg:custom", heard);

  follow(model, "data", signal, (data) => {
    if (!data || !data.chips) return;
    chips.hidden = !data.chips.length;
    replaceKeepingFocus(chips, data.chips.map((chip) => h("li", { class: `dc-chip ${chip.unknown ? "unknown" : ""}`, title: chip.unknown ? "Not known to this release; kept as written" : null },
      chip.unknown ? icon("question") : null, chip.text,
      h("button", { type: "button", "aria-label": `Remove ${chip.text}`, "data-key": chip.key, onclick: () => model.send({ do: "remove", key: chip.key }) }, icon("close")))), input);
  });
  follow(model, "addable", signal, (flags) => {
    options.replaceChildren(...(flags || []).map((f) => h("option", { value: f.flag }, f.choices.length ? f.choices.join(", ") : f.takes)));
  });
  return () => model.off("msg:custom", heard);
}

export default { render };
