// The verdict, a live region: a screen reader hears it when it changes.

function render({ model, el, signal }) {
  const dc = root(el, "dc-verdict-view");
  const mark = h("span", { class: "dc-mark" });
  const sentence = h("strong");
  const detail = h("small");
  const box = h("div", { class: "dc-verdict", role: "status", "aria-label": "Verdict" }, mark, h("div", null, sentence, detail));
  const jump = h("button", { type: "button", class: "dc-btn small dc-jump", onclick: toFindings }, "Command and findings");
  dc.append(box, jump);

  // On a narrow page they stand below all options.
  function toFindings() {
    const app = dc.closest(".dc-app");
    const region = app && app.querySelector(".dc-cmd");
    if (!region) return;
    region.focus({ preventScroll: true });
    region.closest(".dc-command").scrollIntoView({ block: "start" });
  }

  follow(model, "data", signal, (data) => {
    if (!data || !data.verdict) return;
    box.className = `dc-verdict ${data.verdict}`;
    const name = { ok: "check", warn: "warn", error: "error", unknown: "question" }[data.verdict];
    if (mark.dataset.icon !== name) {
      mark.dataset.icon = name;
      mark.replaceChildren(icon(name));
    }
    richText(sentence, data.sentence);
    richText(detail, data.detail);
  });
}

export default { render };
