// The findings, in order of harm. Each item begins with its effect and code; its fixes are buttons.

function render({ model, el, signal }) {
  const dc = root(el, "dc-findings");
  const list = h("ul", { class: "dc-finds", "aria-label": "Findings", tabindex: "-1" });
  const none = h("p", { class: "dc-none dc-muted", tabindex: "-1" });
  dc.append(list, none);

  follow(model, "data", signal, (data) => {
    if (!data || !data.items) return;
    none.hidden = data.items.length > 0;
    text(none, `No finding: none of the ${data.rules} rules of this release stands against the command.`);
    replaceKeepingFocus(list, data.items.map(item), data.items.length ? list : none);
  });

  function item(finding) {
    const { source } = finding;
    return h("li", { class: finding.certain ? "" : "unsure" },
      h("div", { title: finding.title }, badge(finding.effect)),
      h("div", null,
        h("p", null, h("span", { class: "dc-code" }, finding.code), " ", h("span", { class: "dc-msg" }, rich(finding.message))),
        finding.certain ? null : h("p", { class: "dc-unsure" }, icon("question"), h("span", null, "Cannot be decided here: ", rich(finding.reason), ".")),
        h("p", { class: "dc-because" }, rich(finding.because)),
        h("div", { class: "dc-fixes" },
          finding.fixes.map((label) => h("button", {
            type: "button", class: "dc-btn small", "data-key": `${finding.code} ${label}`,
            onclick: () => model.send({ do: "fix", code: finding.code, message: finding.message, label }),
          }, h("span", null, rich(label)))),
          h("span", { class: "dc-src", title: source.full }, `${finding.stage}, since ${finding.since}, `,
            source.url ? h("a", { href: source.url, target: "_blank", rel: "noreferrer" }, source.short) : h("span", null, source.short)))));
  }
}

export default { render };
