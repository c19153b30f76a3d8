// The benchmark: what would run, one run's progress, and its rows; correctness comes before time.

const head = (title) => h("th", { scope: "col" }, title);
const numHead = (title) => h("th", { scope: "col", class: "num" }, title);

function render({ model, el, signal }) {
  const dc = root(el, "dc-bench");
  attr(dc, "role", "tabpanel");
  attr(dc, "aria-label", "Benchmark");
  const banner = h("div", { class: "dc-banner", role: "note" });
  const cases = h("ul", { class: "dc-cases", "aria-label": "What will run" });
  const run = h("button", { type: "button", class: "dc-btn primary", onclick: () => { if (run.getAttribute("aria-disabled") !== "true") model.send({ do: "run" }); } }, icon("play"), "Run benchmark");
  const cancel = h("button", { type: "button", class: "dc-btn", hidden: true, onclick: () => model.send({ do: "cancel" }) }, icon("close"), "Cancel benchmark");
  const about = h("p", { class: "dc-muted dc-small" });
  const title = h("h3");
  const left = h("span", { class: "dc-muted dc-small" });
  const exports_ = h("span", { class: "dc-seg", role: "group", "aria-label": "Export the result" },
    ["json", "csv", "md"].map((f) => h("button", { type: "button", onclick: () => model.send({ do: "export", format: f }) }, { json: "JSON", csv: "CSV", md: "Markdown" }[f])));
  const meter = h("div", { class: "dc-meter", role: "progressbar", "aria-label": "Benchmark progress", "aria-valuemin": "0", "aria-valuemax": "100" }, h("b"));
  const heard = h("span", { class: "dc-vh", role: "status" });
  const sentence = h("p", { class: "dc-say" });
  const selftest = h("p", { class: "dc-small dc-muted" });
  const detail = h("pre", { class: "dc-detail", hidden: true });
  const body = h("tbody");
  const table = h("table", { "aria-label": "Benchmark results" },
    h("thead", null, h("tr", null, ["backend", "replicate-q"].map(head),
      ["#wrong", "max err", "n", "p50 ms", "p90 ms", "p99 ms", "rel. IQR"].map(numHead))), body);
  const footnote = h("p", { class: "dc-small dc-muted dc-foot" });
  const side = h("section", { class: "dc-dist-side" });
  const more = h("div", { class: "dc-more" });
  const state = h("section", { class: "dc-state", "aria-label": "Benchmark run" },
    h("header", null, title, left, exports_, cancel, meter, heard),
    h("div", { class: "dc-statebody" }, sentence,
      h("div", { class: "dc-cols" }, h("section", null, h("h3", null, "Decode step of one layer"), h("div", { class: "dc-wide" }, table), footnote, selftest, detail), side), more));
  dc.append(banner, h("div", { class: "dc-plan" }, cases, run), about, state);

  const received = (message) => { if (message.file) saveFile(message.file, message.text); };
  model.on("msg:custom", received);
  let phase = "idle";

  follow(model, "data", signal, (data) => {
    if (!data || !data.offer) return;
    drawOffer(data.offer, data.run);
    drawRun(data.run);
  });

  function drawOffer(offer, now) {
    const key = JSON.stringify(offer);
    if (dc.dataset.offer !== key) {
      dc.dataset.offer = key;
      banner.hidden = !offer.banner && offer.runs;
      banner.className = `dc-banner ${offer.runs ? "" : "error"}`;
      banner.replaceChildren(icon(offer.runs ? "warn" : "error"), h("p", null, offer.runs ? [h("b", null, "functional"), `: ${offer.banner}.`] : rich(offer.reason)));
      cases.replaceChildren(
        ...(offer.cases.length ? [h("li", { class: "dc-case" }, icon("check"), "TP only (reference)")] : []),
        ...offer.cases.map((c) => h("li", { class: "dc-case", title: c.about }, icon("check"), `${c.backend}${c.replicate_q ? ", replicate-q" : ""}${c.graph ? ", graph" : ""}`)),
        ...offer.unavailable.map((u) => h("li", { class: "dc-case off", title: u.reason }, icon("lock"), h("span", null, `${u.backend}${u.replicate_q ? ", replicate-q" : ""}: ${u.reason}`))));
      richText(about, offer.about);
    }
    const busy = now.phase === "running" || now.phase === "queued";
    attr(run, "aria-disabled", offer.runs && !busy ? null : "true");
    attr(run, "title", busy ? "A run is under way" : offer.runs ? null : offer.reason);
  }

  function drawRun(now) {
    const busy = now.phase === "running" || now.phase === "queued";
    state.hidden = now.phase === "idle";
    text(heard, now.title.replace(/,? ?\d+ steps of each/, ""));
    if (now.phase !== phase) {
      if (busy && document.activeElement === run) cancel.hidden = false;
      phase = now.phase;
    }
    const hadFocus = document.activeElement === cancel;
    cancel.hidden = !busy;
    if (hadFocus && !busy) run.focus({ preventScroll: true });
    richText(title, now.title);
    title.className = now.phase === "error" ? "dc-bad" : "";
    text(left, busy ? now.left : now.where);
    exports_.hidden = busy || !now.can_export;
    meter.hidden = !busy;
    meter.firstChild.style.width = `${100 * now.done}%`;
    attr(meter, "aria-valuenow", String(Math.round(100 * now.done)));
    richText(sentence, now.sentence);
    sentence.hidden = !now.sentence;
    text(footnote, now.footnote);
    text(selftest, now.selftest);
    detail.hidden = !now.detail;
    text(detail, now.detail);
    keep(body, now.rows, () => now.rows.map(row));
    keep(side, now.distribution, () => (now.distribution ? distribution(now.distribution) : []));
    keep(more, [now.stages, now.collectives], () => [stages(now.stages), collectives(now.collectives)].filter(Boolean));
  }

  function keep(target, value, make) {
    const key = JSON.stringify(value);
    if (target.dataset.key === key) return;
    target.dataset.key = key;
    target.replaceChildren(...make());
  }

  function row(r) {
    const first = [h("th", { scope: "row", class: "mono" }, r.backend), h("td", null, r.replicate || "\u2013")];
    if (r.unavailable) return h("tr", { class: "dc-pend" }, first, h("td", { colspan: "7" }, `not available: ${r.unavailable}`));
    if (r.waiting) return h("tr", { class: "dc-pend" }, first, h("td", { colspan: "7" }, "waiting"));
    const num = (value, extra) => h("td", { class: `num ${extra || ""}` }, value === "" || value === null || value === undefined ? "\u2013" : String(value));
    const cells = r.wrong > 0
      ? [num(r.wrong.toLocaleString("en"), "dc-bad"), num(r.error, "dc-bad"), h("td", { colspan: "5", class: "dc-bad" }, "wrong, so not timed")]
      : [num(0, "dc-good"), num(r.error), num(r.n), num(r.p50), num(r.p90), num(r.p99), num(r.iqr)];
    return h("tr", { class: r.provisional ? "dc-pend" : "", title: r.note || null }, first, cells);
  }

  function distribution(d) {
    const most = Math.max(...d.rows.flatMap((r) => r.bins));
    const ns = "http://www.w3.org/2000/svg";
    const bars = (r) => {
      const svg = document.createElementNS(ns, "svg");
      svg.setAttribute("viewBox", `0 0 ${r.bins.length} 100`);
      svg.setAttribute("preserveAspectRatio", "none");
      svg.setAttribute("aria-hidden", "true");
      r.bins.forEach((n, i) => {
        if (!n) return;
        const bar = document.createElementNS(ns, "rect");
        const height = 84 * n / most;
        for (const [k, v] of Object.entries({ x: i + 0.06, y: 100 - height, width: 0.88, height })) bar.setAttribute(k, v);
        svg.append(bar);
      });
      return svg;
    };
    const ticks = [0, 1, 2, 3, 4].map((i) => h("span", { style: `left:${25 * i}%` }, (d.low_ms + (d.high_ms - d.low_ms) * i / 4).toFixed(1)));
    return [h("h3", null, "Distribution, ms per step"), h("p", { class: "dc-small dc-muted" }, "All timed steps up to the 99th percentile; the line is the median."),
      h("div", { class: "dc-dist", role: "img", "aria-label": `Distribution of step times: ${d.rows.map((r) => `${r.label} ${r.p50_label}`).join(", ")}` },
        d.rows.map((r) => [h("span", null, r.label), h("div", { class: r.reference ? "ref" : "" }, bars(r),
          h("u", { style: `left:${(100 * r.p50).toFixed(2)}%`, class: r.p50 > 0.6 ? "flip" : "" }, h("span", null, r.p50_label)),
          r.beyond ? h("em", null, `${r.beyond} beyond`) : null)]),
        h("span"), h("div", { class: "axs" }, ticks))];
  }

  function stages(rows) {
    if (!rows.length) return null;
    let before = null;
    return h("section", null, h("h3", null, "Stages, timed apart"), h("div", { class: "dc-wide" }, h("table", { "aria-label": "Stages" },
      h("thead", null, h("tr", null, ["case", "stage"].map(head), ["p50 \u00b5s", "payload B", "algbw GB/s", "busbw GB/s"].map(numHead))),
      h("tbody", null, rows.map((r) => {
        const again = r.case === before;
        before = r.case;
        return h("tr", null, h("th", { scope: "row" }, again ? h("span", { class: "dc-vh" }, r.case) : r.case), h("td", { class: "mono" }, r.name), [r.time, r.payload, r.algbw, r.busbw].map((v) => h("td", { class: "num" }, v || "\u2013")));
      })))));
  }

  function collectives(rows) {
    if (!rows.length) return null;
    return h("section", null, h("h3", null, "Bare collectives"), h("div", { class: "dc-wide" }, h("table", { "aria-label": "Collectives" },
      h("thead", null, h("tr", null, ["size B", "count"].map(numHead), ["type", "operation"].map(head), ["time \u00b5s", "algbw GB/s", "busbw GB/s", "#wrong"].map(numHead))),
      h("tbody", null, rows.map((r) => h("tr", null, h("td", { class: "num" }, r.size), h("td", { class: "num" }, r.count), h("td", null, r.type), h("td", { class: "mono" }, r.operation),
        [r.time, r.algbw, r.busbw].map((v) => h("td", { class: "num" }, v || "\u2013")), h("td", { class: `num ${r.wrong ? "dc-bad" : "dc-good"}` }, String(r.wrong))))))));
  }

  return () => model.off("msg:custom", received);
}

export default { render };
