// Latency: one layer's time against the context of the batch, where DCP breaks even, and the collectives of a layer.

function render({ model, el, signal }) {
  const dc = root(el, "dc-latency");
  attr(dc, "role", "tabpanel");
  attr(dc, "aria-label", "Latency");
  const from = h("p", { class: "dc-for" });
  const sentence = h("p", { class: "dc-answer", role: "status", "aria-label": "Latency in one sentence" });
  const basis = h("p", { class: "dc-muted" });
  const banner = h("div", { class: "dc-banner dc-invalid", role: "note", hidden: true });
  const fields = questionFields(model);
  const chart = h("section");
  const tables = h("section");
  const body = h("div", { class: "dc-two" }, chart, tables);
  dc.append(from, sentence, basis, banner, fields.el, body);

  follow(model, "data", signal, (data) => {
    if (!data || !data.sentence) return;
    drawProvenance(from, data.provenance);
    richText(sentence, data.sentence);
    body.hidden = basis.hidden = !data.known;
    fields.set(data.asked);
    banner.hidden = !data.known || data.valid;
    if (!data.known) return;
    const [held, why] = data.basis.split("; not valid here: ");
    text(basis, why ? `${held}.` : held);
    keepDrawn(banner, why || "", () => (why ? [icon("warn"), h("p", null, h("b", null, "model not valid here"), `: ${why}`)] : []));
    keepDrawn(chart, [data.lines, data.tokens, data.why_no_lines], () => drawChart(data));
    keepDrawn(tables, [data.lines, data.collectives, data.step, data.total, data.at], () => drawTables(data));
  });

  function style(key) {
    return `l-${key.replace("+", "-")}`;
  }

  function drawChart(data) {
    if (!data.lines.length) return [h("h3", null, "Time per layer against context"), h("p", { class: "dc-muted" }, `Not drawn: ${data.why_no_lines}.`)];
    const end = data.lines[0].points[data.lines[0].points.length - 1][0];
    const top = Math.max(...data.lines.flatMap((line) => line.points.map((p) => p[1]))) || 1;
    const marks = ticks(top, 4);
    const high = Math.max(top, marks[marks.length - 1]);
    const x = (value) => 100 * value / end;
    const y = (value) => 100 * value / high;
    const time = (line, tokens) => {
      const at = Math.min(line.points.length - 2, Math.floor(tokens / end * (line.points.length - 1)));
      const [[x0, y0], [x1, y1]] = [line.points[at], line.points[at + 1]];
      return y0 + (y1 - y0) * (tokens - x0) / (x1 - x0);
    };
    const crossings = data.lines.filter((line) => line.even !== null && line.even <= end);
    const tp = data.lines[0];
    const said = crossings.length ? crossings.map((line) => `${line.label} breaks even at ${line.even_text} tokens`).join("; ") : "no line of DCP crosses the one of TP only";
    return [h("h3", null, "Time per layer against context"),
      h("p", { class: "dc-muted dc-small" }, crossings.length ? "Circles: break-even with TP only." : "No line of DCP crosses the one of TP only."),
      plot({
        label: `Attention and DCP exchange of one layer against context tokens in the batch: ${said}`,
        axis: "context tokens in the batch",
        lines: data.lines.map((line) => ({ class: style(line.key), points: line.points.map(([a, b]) => [x(a), y(b)]) })),
        dots: crossings.map((line) => ({ x: x(line.even), y: y(time(tp, line.even)), chosen: line.chosen, drop: true })),
        labels: [{ text: "TP only", strong: tp.chosen, style: `left:70%;bottom:calc(${y(time(tp, 0.7 * end))}% + 5px);transform:translateX(-100%)` }, ...endLabels(data.lines.slice(1), y)],
        xticks: ticks(end, 4).map((value) => ({ at: x(value), text: shortNumber(value) })),
        yticks: marks.map((value) => ({ at: y(value), text: `${shortNumber(value)} \u00b5s` })),
      })];
  }

  /** Names at the ends of the lines, apart from each other by a line of text however near the lines are. */
  function endLabels(lines, y) {
    const sorted = lines.map((line) => ({ line, at: y(line.points[line.points.length - 1][1]) + 1 })).sort((a, b) => a.at - b.at);
    let free = -Infinity;
    return sorted.map(({ line, at }) => {
      const bottom = Math.max(at, free);
      free = bottom + 6;
      return { text: line.label.replace(/^DCP \d+(, )?/, "") || line.label, strong: line.chosen, style: `right:0;bottom:${bottom.toFixed(2)}%` };
    });
  }

  function drawTables(data) {
    const num = (value) => h("td", { class: "num" }, value || "\u2013");
    return [
      data.lines.length ? [h("h3", null, "Break-even"), h("div", { class: "dc-wide" }, h("table", { "aria-label": "Break-even" },
        h("thead", null, h("tr", null, h("th", null, "Case"), ["fixed \u00b5s", `at ${data.at}, \u00b5s`, "break-even"].map((t) => h("th", { class: "num" }, t)))),
        h("tbody", null, data.lines.map((line) => h("tr", { class: line.chosen ? "dc-asked" : "" },
          h("td", null, key(line), line.label, line.chosen ? " (this command)" : ""), num(line.fixed), num(line.at), num(line.even_text))))))] : null,
      h("h3", null, "Collectives of one layer"),
      h("p", { class: "dc-muted dc-small" }, `S as nccl-tests defines it; ${data.heads} query heads in the group.`),
      data.collectives.length ? h("div", { class: "dc-wide" }, h("table", { "aria-label": "Collectives of one layer" },
        h("thead", null, h("tr", null, h("th", null, "step"), h("th", null, "operation"), ["S, bytes", "per request", "\u00b5s"].map((t) => h("th", { class: "num" }, t)))),
        h("tbody", null, data.collectives.map((c) => h("tr", null, h("td", { class: "mono" }, c.step), h("td", { class: "mono" }, c.operation), num(c.payload), num(c.per_token), num(c.us)))))) :
        h("p", { class: "dc-muted" }, "None: without DCP no layer exchanges anything but the TP all-reduces."),
      h("h3", null, `A whole step: ${data.total}`),
      h("div", { class: "dc-wide" }, h("table", { "aria-label": "A whole step" },
        h("thead", null, h("tr", null, h("th", null, "part of one layer"), h("th", { class: "num" }, "\u00b5s"), h("th", null, "counted for"))),
        h("tbody", null, data.step.map((part) => h("tr", null, h("td", null, part.name), num(part.us), h("td", { class: "dc-muted" }, part.note)))))),
    ].flat();
  }

  function key(line) {
    const svg = svgNode("svg", { class: "dc-key", viewBox: "0 0 22 8", "aria-hidden": "true" });
    svg.append(svgNode("path", { class: style(line.key), d: "M0 4H22" }));
    return svg;
  }
}

export default { render };
