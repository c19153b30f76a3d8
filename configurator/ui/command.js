// The launch command: as written, with the repair as a difference, repaired, or as a file of another format.

function render({ model, el, signal }) {
  const dc = root(el, "dc-command");
  let mode = null;   // what the reader chose to see; null follows the state
  let chosen = 0;    // which repair
  let file = 0;      // which file of a format
  let open = false;  // whether the other repairs are listed

  const modes = { written: "Written", difference: "Difference", repaired: "Repaired" };
  const seg = h("span", { class: "dc-seg", role: "group", "aria-label": "Show the command" });
  const modeButtons = Object.entries(modes).map(([key, label]) => {
    const button = h("button", { type: "button", "data-key": key, onclick: () => { if (button.getAttribute("aria-disabled") !== "true") { mode = key; draw(); } } }, label);
    return button;
  });
  seg.append(...modeButtons);
  const format = h("select", { class: "dc-field", "aria-label": "Format", onchange: () => { file = 0; model.send({ do: "format", format: format.value }); } });
  const what = h("span", { class: "dc-muted dc-small dc-what" });
  const copyText_ = h("span", null, "Copy command");
  const copied = h("span", { class: "dc-vh", role: "status" });
  const copy = h("button", { type: "button", class: "dc-btn", "aria-label": "Copy command", onclick: copyNow }, icon("copy"), copyText_);
  const save = h("button", { type: "button", class: "dc-btn icon", "aria-label": "Save as file", title: "Save as file", onclick: saveNow }, icon("save"));
  const files = h("span", { class: "dc-seg", role: "group", "aria-label": "File", hidden: true });
  const region = h("div", { class: "dc-cmd", role: "region", "aria-label": "Launch command", tabindex: "0" });

  const fixTitle = h("h3");
  const fixNote = h("p");
  const others = h("button", { type: "button", class: "dc-btn quiet", "aria-expanded": "false", onclick: () => { open = !open; draw(); } });
  const apply = h("button", { type: "button", class: "dc-btn primary", onclick: applyNow }, "Apply repair");
  const list = h("ul", { class: "dc-repairs" });
  const bar = h("section", { class: "dc-fixall", "aria-label": "Repair everything" },
    h("div", { class: "dc-fixhead" }, h("div", null, fixTitle, fixNote), h("div", { class: "dc-acts" }, others, apply)), list);

  dc.append(
    h("div", { class: "dc-cmdbar" }, h("h2", null, "Launch command"), seg, files, h("span", { class: "dc-end" }, format, what, copy, save), copied),
    region, bar,
  );

  const found = () => (model.get("repairs") || {}).repairs || [];
  const current = () => found()[Math.min(chosen, found().length - 1)];

  function draw() {
    const data = model.get("data") || {};
    const emitted = model.get("emitted") || {};
    if (!data.lines) return;
    const repairs = found();
    if (chosen >= repairs.length) chosen = 0;
    const repair = current();
    const asFile = Boolean(emitted.files && emitted.files.length) || Boolean(emitted.refused || emitted.why);
    const shown = repair ? (mode || "difference") : "written";

    if (format.dataset.key !== data.formats.join()) {
      format.dataset.key = data.formats.join();
      format.replaceChildren(...data.formats.map((f) => h("option", { value: f }, f)));
    }
    format.value = emitted.format || "shell";
    seg.hidden = asFile;
    for (const button of modeButtons) {
      const key = button.dataset.key;
      attr(button, "aria-pressed", key === shown ? "true" : "false");
      attr(button, "aria-disabled", key !== "written" && !repair ? "true" : null);
      attr(button, "title", key !== "written" && !repair ? "There is nothing to repair" : null);
    }
    const nothing = asFile && !emitted.files.length;
    for (const button of [copy, save]) {
      attr(button, "aria-disabled", nothing ? "true" : null);
      attr(button, "title", nothing ? "Nothing is written out in this format yet" : button === save ? "Save as file" : null);
    }
    drawFiles(emitted);
    text(what, asFile ? "" : shown === "repaired" ? "repaired:" : repair ? "as written:" : "");

    if (asFile) drawEmitted(emitted);
    else if (shown === "difference") fill(repair.diff.map(({ op, text: line }) => h({ same: "span", del: "del", ins: "ins" }[op], null, line)));
    else fill((shown === "repaired" ? repair.lines : data.lines).map((line) => h("span", null, line)));
    drawRepairs(repairs, repair);
  }

  function fill(lines) {
    const key = lines.map((line) => line.tagName + line.textContent).join("\n");
    if (region.dataset.shown === key) return;
    region.dataset.shown = key;
    region.replaceChildren(...lines);
  }

  function drawFiles(emitted) {
    const many = (emitted.files || []).length > 1;
    files.hidden = !many;
    if (file >= (emitted.files || []).length) file = 0;
    if (!many) return;
    replaceKeepingFocus(files, emitted.files.map((f, i) => h("button", {
      type: "button", "data-key": f.name, "aria-pressed": i === file ? "true" : "false", onclick: () => { file = i; draw(); },
    }, f.name)));
  }

  function drawEmitted(emitted) {
    if (emitted.files.length) {
      fill(emitted.files[file].text.replace(/\n$/, "").split("\n").map((line) => h("span", null, line)));
      return;
    }
    region.dataset.shown = "";
    region.replaceChildren(h("div", { class: "dc-cmd-note" },
      h("p", null, rich(emitted.why || emitted.refused)),
      emitted.refused ? h("p", { class: "dc-muted" }, "A command that would break is written out only when you ask for it; its reasons then stand in a comment.") : null,
      emitted.refused ? h("button", { type: "button", class: "dc-btn small", onclick: () => model.send({ do: "force" }) }, "Write it out all the same") : null));
  }

  function drawRepairs(repairs, repair) {
    const verdict = (model.get("repairs") || {}).verdict;
    const { busy } = model.get("repairs") || {};
    bar.hidden = verdict !== "error";
    attr(bar, "aria-busy", busy ? "true" : null);
    region.classList.toggle("tall", bar.hidden);
    if (bar.hidden) {
      open = false;
      return;
    }
    if (busy) {
      text(fixTitle, "Repair everything: looking for repairs\u2026");
      richText(fixNote, "The page stays usable meanwhile.");
    } else if (!repair) {
      text(fixTitle, "Repair everything: no change of flags repairs this");
      richText(fixNote, "What stands in the way are facts of the machine, the model or the release; choose another of these.");
    } else {
      const n = repair.changes;
      text(fixTitle, `Repair everything: ${n} change${n === 1 ? "" : "s"}, then ${repair.verdict === "ok" ? "no finding is left" : repair.verdict === "warn" ? "only remarks are left" : "nothing that is known stands against it"}`);
      richText(fixNote, `${repair.label}. ${repair.keeps}`);
    }
    others.hidden = repairs.length < 2;
    text(others, open ? "Hide the others" : `${repairs.length - 1} other repair${repairs.length === 2 ? "" : "s"}`);
    attr(others, "aria-expanded", open ? "true" : "false");
    apply.hidden = !repair;
    list.hidden = !open;
    if (open) {
      replaceKeepingFocus(list, repairs.map((r, i) => h("li", null, h("button", {
        type: "button", "data-key": r.text, "aria-pressed": i === chosen ? "true" : "false", onclick: () => { chosen = i; mode = mode === "written" ? null : mode; draw(); },
      }, h("span", null, rich(r.label)), h("small", null, rich(r.keeps))))));
    }
  }

  function applyNow() {
    const repair = current();
    chosen = 0;
    open = false;
    if (repair) model.send({ do: "apply", text: repair.text });
    region.focus({ preventScroll: true });
  }

  function shownText() {
    const emitted = model.get("emitted") || {};
    if (emitted.files && emitted.files.length) return { name: emitted.files[file].name, text: emitted.files[file].text };
    const repair = current();
    return { name: "launch.sh", text: mode === "repaired" && repair ? repair.text : model.get("data").text };
  }

  async function copyNow() {
    if (copy.getAttribute("aria-disabled") === "true") return;
    const done = await copyText(shownText().text);
    text(copyText_, done ? "Copied" : "Press Ctrl+C");
    text(copied, done ? "Copied" : "The browser does not allow copying; the text is selected, press Ctrl+C");
    if (!done) window.getSelection().selectAllChildren(region);
    setTimeout(() => { text(copyText_, "Copy command"); text(copied, ""); }, 1600);
  }

  function saveNow() {
    if (save.getAttribute("aria-disabled") === "true") return;
    const shown = shownText();
    saveFile(shown.name, shown.text.endsWith("\n") ? shown.text : `${shown.text}\n`);
  }

  follow(model, "data", signal, draw);
  follow(model, "repairs", signal, draw);
  follow(model, "emitted", signal, draw);
}

export default { render };
