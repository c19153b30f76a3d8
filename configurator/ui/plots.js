// What the planner views share. Plots stretch, text does not: curves are an SVG without an aspect ratio, labels are HTML in per cent.

function svgNode(tag, props) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props || {})) node.setAttribute(name, value);
  return node;
}

/** Up to `most` round numbers from 0 to `end`. */
function ticks(end, most) {
  if (!(end > 0)) return [0];
  const raw = end / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw);
  const found = [];
  for (let value = 0; value <= end * 1.0001; value += step) found.push(value);
  return found;
}

function shortNumber(value) {
  if (value >= 1e6) return `${+(value / 1e6).toFixed(2)} M`;
  if (value >= 1e3) return `${+(value / 1e3).toFixed(1)}k`;
  return String(+value.toFixed(1));
}

/** A plot as one image for screen readers. Everything is in per cent from the left and from the bottom. */
function plot({ label, lines, band, dots, labels, xticks, yticks, axis }) {
  const svg = svgNode("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
  const at = ([x, y]) => `${x.toFixed(2)},${(100 - y).toFixed(2)}`;
  yticks.forEach((t) => svg.append(svgNode("path", { class: "gl", d: `M0 ${100 - t.at}H100` })));
  if (band && band.length) svg.append(svgNode("polygon", { class: "band", points: band.map(at).join(" ") }));
  (dots || []).filter((d) => d.drop).forEach((d) => svg.append(svgNode("path", { class: "drop", d: `M${d.x} ${100 - d.y}V100` })));
  lines.forEach((line) => svg.append(svgNode("polyline", { class: line.class, points: line.points.map(at).join(" ") })));
  svg.append(svgNode("path", { class: "ax", d: "M0 100H100" }));
  return h("figure", { role: "img", "aria-label": label },
    h("div", { class: "dc-plot" }, svg,
      yticks.map((t) => h("span", { class: "yt", style: `bottom:${t.at}%` }, t.text)),
      xticks.map((t) => h("span", { class: "xt", style: `left:${t.at}%` }, t.text)),
      (dots || []).map((d) => h("i", { class: `dot${d.chosen ? " sel" : ""}`, style: `left:${d.x}%;bottom:${d.y}%` })),
      (labels || []).map((l) => h("span", { class: `lb${l.strong ? " strong" : ""}`, style: l.style }, l.text))),
    h("p", { class: "dc-axis" }, axis));
}

/** Which command the figures are of, where it is not the one as written. */
function drawProvenance(el, value) {
  el.hidden = !value;
  if (el.dataset.text === value) return;
  el.dataset.text = value;
  el.replaceChildren(...(value ? [icon("arrow"), h("span", null, rich(value))] : []));
}

/** Notes as a list; nothing where there are none. */
function drawNotes(el, notes) {
  el.hidden = !notes.length;
  el.replaceChildren(...notes.map((note) => h("li", null, icon("warn"), h("span", null, rich(note)))));
}

/** Fields for the context of each request and the batch; they answer when the reader leaves them or presses Enter. */
function questionFields(model) {
  const fields = { context: "Tokens of each request", batch: "Requests in a step" };
  const inputs = {};
  for (const [name, label] of Object.entries(fields)) {
    inputs[name] = h("input", { type: "text", inputmode: "numeric", class: "dc-field dc-number", "aria-label": label, "data-key": name,
      onchange: () => model.send({ do: "ask", [name]: inputs[name].value }) });
  }
  const el = h("div", { class: "dc-asks" }, Object.entries(fields).map(([name, label]) =>
    h("label", null, h("span", { "aria-hidden": "true" }, label), inputs[name])));
  return { el, set: (asked) => Object.entries(asked || {}).forEach(([name, value]) => {
    const now = Number(value).toLocaleString("en");
    if (inputs[name] && inputs[name] !== document.activeElement && inputs[name].value !== now) inputs[name].value = now;
  }) };
}

/** Draw into `target` when `value` differs from what it shows. */
function keepDrawn(target, value, make) {
  const key = JSON.stringify(value);
  if (target.dataset.key === key) return;
  target.dataset.key = key;
  target.replaceChildren(...[make()].flat().filter(Boolean));
}
