// The top of the page: pickers, paste box, undo and redo, and the messages of the last action.

function render({ model, el, signal }) {
  const dc = root(el, "dc-topbar");
  const pick = (label, action, tag) => {
    const select = h("select", { "aria-label": label, onchange: () => model.send({ do: action, value: select.value }) });
    const box = h("label", { class: "dc-pick" }, h("span", { class: "dc-pick-label", "aria-hidden": "true" }, label), select, tag);
    return { select, box };
  };
  const assumed = h("span", { class: "dc-tag" });
  const release = pick("SGLang release", "release");
  const hardware = pick("Hardware", "hardware", assumed);
  const chosenModel = pick("Model", "model");
  const probeText = h("span", null, "Probe this machine");
  const probe = h("button", { type: "button", class: "dc-btn quiet", onclick: () => model.send({ do: "probe" }) }, icon("chip"), probeText);
  const step = (label, name, action) => h("button", {
    type: "button", class: "dc-btn quiet icon", "aria-label": label, title: label,
    onclick: (event) => { if (event.currentTarget.getAttribute("aria-disabled") !== "true") model.send({ do: action }); },
  }, icon(name));
  const undo = step("Undo", "undo", "undo");
  const redo = step("Redo", "redo", "redo");
  const theme = h("button", { type: "button", class: "dc-btn quiet icon", onclick: nextTheme });

  const box = h("textarea", {
    class: "dc-field dc-box", "aria-label": "Command or error", rows: "1", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    placeholder: "Paste a launch command or an error message", oninput: sizeBox, onfocus: sizeBox,
  });
  const load = h("button", { type: "button", class: "dc-btn", onclick: send }, "Load");
  const messages = h("div", { class: "dc-messages", role: "log", "aria-label": "Messages", "aria-live": "polite" });

  dc.append(
    h("div", { class: "dc-top" },
      h("h1", null, "DCP configurator"), release.box, hardware.box, chosenModel.box, probe,
      h("span", { class: "dc-space" }), h("span", { class: "dc-steps" }, undo, redo, theme)),
    h("div", { class: "dc-paste" }, h("div", { class: "dc-box-wrap" }, box), load),
    messages,
  );

  function send() {
    model.send({ do: "load", text: box.value });
  }
  box.addEventListener("keydown", (event) => {
    // Enter loads; Shift+Enter begins a line. Neither may reach the notebook, where they would run the cell.
    event.stopPropagation();
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  });
  function sizeBox() {
    box.classList.remove("many");
    box.classList.toggle("many", box.scrollHeight > box.clientHeight + 4);
  }

  function fill(select, items, value) {
    const key = JSON.stringify(items);
    if (select.dataset.key !== key) {
      select.dataset.key = key;
      select.replaceChildren(...items.map((item) => h("option", { value: item.value }, item.label)));
    }
    if (select.value !== value) select.value = value;
  }

  function draw(data) {
    if (!data || !data.releases) return;
    fill(release.select, data.releases.map((r) => ({ value: r, label: r })), data.release);
    fill(hardware.select, data.machines, data.hardware);
    fill(chosenModel.select, data.models, data.model);
    text(assumed, data.assumed ? "assumed" : "probed");
    assumed.classList.toggle("solid", !data.assumed);
    attr(assumed, "title", data.assumed ? "Facts of a preset, not of a machine that was asked" : "Facts that the machine told");
    attr(undo, "aria-disabled", data.can_undo ? null : "true");
    attr(redo, "aria-disabled", data.can_redo ? null : "true");
    text(probeText, data.probing ? "Probing\u2026" : "Probe this machine");
    const key = JSON.stringify(data.notes);
    if (messages.dataset.key === key) return;
    messages.dataset.key = key;
    messages.replaceChildren(...data.notes.map(message));
  }

  function message(note) {
    const close = h("button", { type: "button", class: "dc-btn quiet icon", "aria-label": "Dismiss message", onclick: () => item.remove() }, icon("close"));
    const item = h("div", { class: `dc-message ${note.kind}` }, note.kind === "found" ? found(note) : [icon(note.kind === "error" ? "error" : "arrow"), h("p", null, rich(note.text))], close);
    return item;
  }

  function found(note) {
    return [badge(note.effect), h("div", null,
      h("p", null, h("span", { class: "dc-code" }, note.code), " ", rich(note.text)),
      h("p", { class: "dc-small dc-muted" }, `Line ${note.line}: `, h("code", null, note.quoted), ` Releases ${note.span}.`),
      note.ways.length ? h("p", { class: "dc-small" }, "What to change: ", rich(note.ways.join("; ")), ".") : null)];
  }

  // ---- light and dark -------------------------------------------------------------------------------------------------
  // Voila's page owns its theme; in a notebook the host does, and the choice here is for this page alone.

  const MODES = ["auto", "light", "dark"];
  function themeNow() {
    if (window.dcpTheme) return window.dcpTheme.mode();
    const app = dc.closest(".dc-app");
    return (app && app.dataset.dcTheme) || "auto";
  }
  function nextTheme() {
    const next = MODES[(MODES.indexOf(themeNow()) + 1) % MODES.length];
    if (window.dcpTheme) window.dcpTheme.set(next);
    else {
      const app = dc.closest(".dc-app");
      if (app) app.dataset.dcTheme = next;
    }
    drawTheme();
  }
  function drawTheme() {
    const now = themeNow();
    theme.replaceChildren(icon({ auto: "half", light: "sun", dark: "moon" }[now]));
    attr(theme, "aria-label", `Theme: ${now}`);
    attr(theme, "title", `Theme: ${now}`);
  }
  drawTheme();

  follow(model, "data", signal, draw);
}

export default { render };
