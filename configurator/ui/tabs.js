// A tab list. The panels are other widgets in the same box; the box carries which one is open, and the style sheet shows it.

function render({ model, el, signal }) {
  const dc = root(el, "dc-tabbar");
  const list = h("div", { class: "dc-tablist", role: "tablist", "aria-label": "Views" });
  dc.append(list);
  let tabs = [];

  function open(at, focus) {
    tabs.forEach((tab, i) => {
      attr(tab.button, "aria-selected", i === at ? "true" : "false");
      attr(tab.button, "tabindex", i === at ? "0" : "-1");
    });
    const box = el.closest(".dc-tabs");
    if (box) {
      for (const panel of box.querySelectorAll(":scope > .dc-panel")) {
        panel.classList.toggle("dc-shown", panel.classList.contains(`dc-panel-${tabs[at].key}`));
      }
      box.dataset.open = tabs[at].key;
    }
    if (focus) tabs[at].button.focus();
    model.send({ do: "open", key: tabs[at].key });
  }

  list.addEventListener("keydown", (event) => {
    const at = tabs.findIndex((tab) => tab.button === event.target);
    const n = tabs.length;
    const to = { ArrowRight: (at + 1) % n, ArrowLeft: (at + n - 1) % n, Home: 0, End: n - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    open(to, true);
  });

  follow(model, "data", signal, (data) => {
    if (!data || !data.tabs) return;
    tabs = data.tabs.map(({ key, title }, i) => ({
      key,
      button: h("button", { type: "button", role: "tab", "aria-selected": i === 0 ? "true" : "false", tabindex: i === 0 ? "0" : "-1", onclick: () => open(i, false) }, title),
    }));
    list.replaceChildren(...tabs.map((tab) => tab.button));
  });
}

export default { render };
