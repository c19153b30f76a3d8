// Capacity: one GPU's memory item by item, tokens against dcp-size, and the best configurations for a goal.

function render({ model, el, signal }) {
  const dc = root(el, "dc-capacity");
  attr(dc, "role", "tabpanel");
  attr(dc, "aria-label", "Capacity");
  const from = h("p", { class: "dc-for" });
  const sentence = h("p", { class: "dc-answer", role: "status", "aria-label": "Capacity in one sentence" });
  const detail = h("p", { class: "dc-muted" });
  const memory = h("section");
  const tokens = h("section");
  const notes = h("ul", { class: "dc-notes", "aria-label": "Notes on capacity" });
  const rows = h("input", { type: "text", inputmode: "numeric", class: "dc-field dc-number", "aria-label": "Measured rows of one rank" });
  const size = h("input", { type: "text", inputmode: "numeric", class: "dc-field dc-number", "aria-label": "Measured at --dcp-size", value: "1" });
  const clear = h("button", { type: "button", class: "dc-btn small quiet", hidden: true, onclick: () => model.send({ do: "uncalibrate" }) }, "Back to the model");
  const calibrate = h("details", { class: "dc-calibrate" },
    h("summary", null, "Calibrate with a measured value"),
    h("p", { class: "dc-muted dc-small" }, "The start-up log of a server prints max_total_num_tokens, which counts rows of one rank. Every other flag must be as it is here; --dcp-size may differ."),
    h("div", { class: "dc-asks" },
      h("label", null, h("span", { "aria-hidden": "true" }, "max_total_num_tokens"), rows),
      h("label", null, h("span", { "aria-hidden": "true" }, h("code", null, "--dcp-size")), size),
      h("button", { type: "button", class: "dc-btn small", onclick: () => model.send({ do: "calibrate", rows: rows.value, dcp: size.value }) }, "Calibrate"), clear));
  const fields = questionFields(model);
  const goals = h("div", { class: "dc-seg", role: "group", "aria-label": "Goal" });
  const told = h("p", { class: "dc-muted dc-small", role: "status" });
  const found = h("ol", { class: "dc-advice", "aria-label": "Advice" });
  const answers = h("section", { class: "dc-answers" }, h("h3", null, "What serves a goal best"),
    h("p", { class: "dc-muted dc-small" }, "Every parallelism of this machine is tried; only what no rule certainly stands against is offered. Dtypes and quantisation stay as they are."),
    h("div", { class: "dc-asks" }, goals, fields.el), told, found);
  dc.append(from, sentence, detail, calibrate, h("div", { class: "dc-two" }, memory, tokens), notes, answers);

  follow(model, "data", signal, (data) => {
    if (!data || !data.sentence) return;
    drawProvenance(from, data.provenance);
    richText(sentence, data.sentence);
    sentence.classList.toggle("dc-bad", data.fits === false);
    text(detail, data.detail || "");
    calibrate.hidden = !data.known;
    clear.hidden = !data.measured;
    memory.parentElement.hidden = !data.known;
    if (data.known) {
      keepDrawn(memory, [data.items, data.total, data.caption, data.machine], () => drawMemory(data));
      keepDrawn(tokens, [data.curve, data.band, data.requests], () => drawTokens(data));
    }
    drawNotes(notes, data.notes || []);
    fields.set(data.asked);
    replaceKeepingFocus(goals, (data.goals || []).map((goal) => h("button", {
      type: "button", "data-key": goal.key, "aria-pressed": goal.key === data.goal ? "true" : "false",
      onclick: () => model.send({ do: "goal", goal: goal.key }),
    }, goal.title)));
  });

  follow(model, "advice", signal, (advice) => {
    const some = Boolean(advice && advice.sentence);
    told.hidden = found.hidden = !some;
    if (!some) return;
    text(told, `${advice.title}: ${advice.sentence}`);
    replaceKeepingFocus(found, advice.items.map((item, at) => h("li", null,
      h("b", null, item.shape), h("span", { class: `dc-tag ${item.verdict === "ok" ? "solid" : ""}` }, item.verdict), h("p", null, item.why),
      item.label
        ? h("button", { type: "button", class: "dc-btn small", "data-key": `use${at}`, onclick: () => model.send({ do: "use", label: item.label }) }, h("span", null, rich(item.label)))
        : h("span", { class: "dc-muted dc-small" }, "The command as it stands."))));
  });

  function drawMemory(data) {
    const shown = data.items.filter((item) => item.gib > 0);
    const all = Math.max(data.total, shown.reduce((sum, item) => sum + item.gib, 0));
    const over = data.items.some((item) => item.gib < 0);
    const bar = h("div", { class: "dc-bar", role: "img", "aria-label": "Memory of one GPU, itemised in the table below" },
      shown.map((item) => h("i", { class: `k-${item.name}`, style: `width:${(100 * item.gib / all).toFixed(3)}%`, title: `${item.label}: ${item.gib.toFixed(2)} GiB` })),
      over ? h("u", { class: "dc-limit", style: `left:${(100 * data.total / all).toFixed(2)}%`, title: `The GPU has ${data.total} GiB` }) : null);
    const marks = ticks(all, 4).filter((value) => value < all * 0.93);
    return [h("h3", null, "Memory of one GPU"), h("p", { class: "dc-muted dc-small" }, data.caption),
      h("div", { class: "dc-barbox" }, bar,
        h("div", { class: "dc-scale", "aria-hidden": "true" },
          marks.map((value) => h("span", { style: `left:${(100 * value / all).toFixed(2)}%` }, value ? String(value) : "0 GiB")),
          h("span", { style: "left:100%" }, all.toFixed(1)))),
      h("div", { class: "dc-wide" }, h("table", { class: "dc-itemised", "aria-label": "Memory of one GPU" },
        h("thead", null, h("tr", null, h("th", null, "Item"), h("th", { class: "num" }, "GiB"), h("th", null, "Basis"))),
        h("tbody", null,
          data.items.map((item) => h("tr", null,
            h("td", null, h("i", { class: `dc-sw ${item.gib > 0 ? `k-${item.name}` : ""}` }), item.label),
            h("td", { class: `num ${item.gib < 0 ? "dc-bad" : ""}` }, item.gib.toFixed(2)),
            h("td", null, item.gib === 0 && item.how === "none" ? "none" : h("span", null, h("b", { class: "dc-basis" }, item.basis), ", ", item.how)))),
          h("tr", { class: "dc-sum" }, h("td", null, "Total per GPU"), h("td", { class: "num" }, data.total.toFixed(2)), h("td", null, data.machine)))))];
  }

  function drawTokens(data) {
    if (!data.curve.some((point) => point.tokens)) {
      return [h("h3", null, "KV tokens against dcp-size"), h("p", { class: "dc-muted dc-small" }, "Nothing to draw: no token fits at any --dcp-size.")];
    }
    const top = Math.max(1, ...data.curve.map((point) => point.high));
    const marks = ticks(top, 4);
    const end = Math.max(top, marks[marks.length - 1]) * 1.06;
    const n = data.curve.length;
    const x = (at) => (n === 1 ? 50 : 8 + 84 * at / (n - 1));
    const y = (value) => 100 * value / end;
    const label = `KV tokens against dcp-size: ${data.curve.map((p) => `${p.dcp}: ${p.tokens.toLocaleString("en")}${p.chosen ? " (this command)" : ""}`).join(", ")}`;
    return [h("h3", null, "KV tokens against dcp-size"), h("p", { class: "dc-muted dc-small" }, data.band),
      plot({
        label, axis: h("code", null, "--dcp-size"),
        lines: [{ class: "l-plain", points: data.curve.map((p, at) => [x(at), y(p.tokens)]) }],
        band: [...data.curve.map((p, at) => [x(at), y(p.high)]), ...data.curve.map((p, at) => [x(at), y(p.low)]).reverse()],
        dots: data.curve.map((p, at) => ({ x: x(at), y: y(p.tokens), chosen: p.chosen })),
        labels: data.curve.map((p, at) => ({
          text: p.text, strong: p.chosen,
          style: `left:${x(at)}%;bottom:calc(${y(p.tokens)}% + 10px);transform:translateX(${at === 0 ? "-20%" : "-100%"})`,
        })),
        xticks: data.curve.map((p, at) => ({ at: x(at), text: String(p.dcp) })),
        yticks: marks.map((value) => ({ at: y(value), text: shortNumber(value) })),
      }),
      h("h3", null, "Requests at once"),
      h("div", { class: "dc-wide" }, h("table", { "aria-label": "Requests at once" },
        h("thead", null, h("tr", null, h("th", { class: "num" }, "tokens each"), h("th", { class: "num" }, "requests"))),
        h("tbody", null, data.requests.map((r) => h("tr", { class: r.asked ? "dc-asked" : "" }, h("td", { class: "num" }, r.context), h("td", { class: "num" }, r.count))))))];
  }
}

export default { render };
