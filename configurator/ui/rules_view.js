// The rules of the release, filtered to what concerns the command, or all, or by a search.

function render({ model, el, signal }) {
  const dc = root(el, "dc-rules");
  attr(dc, "role", "tabpanel");
  attr(dc, "aria-label", "Rules");
  let only = "concerns";
  const filters = Object.entries({ concerns: "Concerning this command", broken: "Not met", all: "All" }).map(([key, label]) =>
    h("button", { type: "button", class: "dc-btn small", "data-key": key, onclick: () => { only = key; draw(); } }, label));
  const search = h("input", { type: "search", class: "dc-field", "aria-label": "Search the rules", placeholder: "Search the rules", oninput: draw });
  const count = h("span", { class: "dc-muted dc-small", role: "status" });
  const body = h("tbody");
  const none = h("p", { class: "dc-muted", hidden: true }, "No rule matches.");
  dc.append(
    h("div", { class: "dc-filters" }, filters, search, count),
    h("div", { class: "dc-wide" }, h("table", { class: "dc-ledger", "aria-label": "Rules" },
      h("thead", null, h("tr", null, ["code", "effect", "rule", "stage", "releases", "source"].map((t) => h("th", { scope: "col" }, t)))), body)), none);

  const STATES = { holds: "not met by this command", unknown: "cannot be decided here", met: "met", decides: "decides a value here" };

  function draw() {
    const data = model.get("data") || {};
    const states = model.get("states") || {};
    if (!data.rules) return;
    filters.forEach((f) => attr(f, "aria-pressed", f.dataset.key === only ? "true" : "false"));
    const wanted = search.value.trim().toLowerCase();
    const rows = data.rules.filter((r) => {
      const state = states[r.code];
      if (only === "concerns" && !state) return false;
      if (only === "broken" && state !== "holds" && state !== "unknown") return false;
      return !wanted || r.search.includes(wanted);
    });
    text(count, `${rows.length} of ${data.rules.length} rules and resolutions of SGLang ${data.release}`);
    none.hidden = rows.length > 0;
    body.replaceChildren(...rows.map((r) => row(r, states[r.code])));
  }

  function row(r, state) {
    return h("tr", { class: state || "" },
      h("td", null, h("span", { class: "mono" }, r.code), state ? h("small", null, STATES[state]) : null),
      h("td", null, badge(r.effect)),
      h("td", { class: "dc-tell" }, h("span", { class: "dc-slug" }, r.slug), h("p", null, rich(r.because)),
        r.example ? h("p", { class: "dc-small dc-muted" }, "For example: ", h("code", null, r.example)) : null),
      h("td", { class: "mono" }, r.stage),
      h("td", { class: "dc-nowrap" }, r.span),
      h("td", { title: r.source.full }, r.source.url ? h("a", { href: r.source.url, target: "_blank", rel: "noreferrer" }, r.source.short) : r.source.short));
  }

  follow(model, "data", signal, draw);
  follow(model, "states", signal, draw);
}

export default { render };
