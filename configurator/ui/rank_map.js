// Rank map: nodes, groups and GPUs; a slider chooses a token, and the rank that holds it lights up in every group.

function render({ model, el, signal }) {
  const dc = root(el, "dc-rankmap");
  attr(dc, "role", "tabpanel");
  attr(dc, "aria-label", "Rank map");
  const from = h("p", { class: "dc-for" });
  const sentence = h("p", { class: "dc-answer", role: "status", "aria-label": "Owner of the token" });
  const detail = h("p", { class: "dc-muted" });
  const slider = h("input", { type: "range", min: "0", max: "15", value: "9", "aria-label": "Token position p", oninput: light });
  const output = h("output", { class: "mono dc-small" });
  const place = h("div", { class: "dc-place dc-small" });
  const chooser = h("div", { class: "dc-token" }, h("span", { "aria-hidden": "true" }, "Token position p"), slider, output);
  const map = h("div", { class: "dc-nodes" });
  const link = h("p", { class: "dc-bus" });
  const legend = h("p", { class: "dc-for dc-legend", "aria-hidden": "true" },
    ["on", "hit", ""].map((kind, i) => h("span", null, h("i", { class: `dc-cell ${kind}` }), ["position held by this rank", "chosen token", "position held by another rank"][i])),
    h("span", { class: "dc-count" }));
  const full = h("div", null, chooser, place, map, link, legend);
  dc.append(from, sentence, detail, full);
  let data = null;

  follow(model, "data", signal, (now) => {
    if (!now || now.known === undefined) return;
    data = now;
    drawProvenance(from, now.provenance);
    full.hidden = !now.known;
    text(detail, now.detail || "");
    if (!now.known) { richText(sentence, now.sentence); return; }
    const alone = now.dcp === 1;
    chooser.hidden = place.hidden = legend.hidden = alone;
    if (alone) text(sentence, now.detail);
    detail.hidden = alone;
    attr(slider, "max", String(now.positions - 1));
    text(link, now.link);
    text(legend.querySelector(".dc-count"), `${now.positions} positions, left to right, 8 to a line`);
    keepDrawn(map, [now.nodes, now.dcp, now.positions], () => now.nodes.map(drawNode));
    light();
  });

  function drawNode(node) {
    return h("section", { class: "dc-node", "aria-label": `Node ${node.node}`, "data-node": String(node.node) },
      h("p", { class: "dc-cap" }, h("b", null, `Node ${node.node}`)),
      h("div", { class: "dc-groups" }, node.groups.map((group) => h("div", { class: "dc-group", role: "group", "aria-label": data.dcp > 1 ? `DCP group ${group.group}` : `Rank ${group.group}` },
        h("p", { class: "dc-cap" }, h("b", null, data.dcp > 1 ? `DCP group ${group.group}` : `Rank ${group.group}`), `, ${group.title}`),
        h("div", { class: "dc-gpus" }, group.gpus.map(drawGpu))))));
  }

  function drawGpu(gpu) {
    const held = [];
    for (let p = gpu.dcp_rank; p < data.positions; p += data.dcp) held.push(p);
    return h("div", { class: "dc-gpu", "data-rank": String(gpu.dcp_rank) },
      h("h4", null, `GPU ${gpu.gpu}`, h("span", null, "owner")),
      h("dl", null, gpu.facts.map(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
      data.dcp > 1 ? h("div", { class: "dc-cells", role: "img", "aria-label": `owns positions ${held.join(", ")}` },
        Array.from({ length: data.positions }, (_, p) => h("i", { class: `dc-cell ${p % data.dcp === gpu.dcp_rank ? "on" : ""}`, "data-p": String(p) }))) : null);
  }

  function light() {
    if (!data || !data.known || data.dcp === 1) return;
    const p = Math.min(Number(slider.value), data.positions - 1);
    const owner = data.owners[p];
    attr(slider, "aria-valuetext", `position ${p}, held by DCP rank ${owner.rank}`);
    text(output, `p = ${p} of 0\u2013${data.positions - 1}`);
    const gpus = [...map.querySelectorAll(".dc-gpu")];
    const owners = gpus.filter((gpu) => Number(gpu.dataset.rank) === owner.rank);
    gpus.forEach((gpu) => {
      const own = owners.includes(gpu);
      gpu.classList.toggle("own", own);
      gpu.querySelectorAll(".dc-cell").forEach((cell) => cell.classList.toggle("hit", own && Number(cell.dataset.p) === p));
    });
    const name = (gpu) => gpu.querySelector("h4").firstChild.textContent + (data.nodes.length > 1 ? ` of node ${gpu.closest(".dc-node").dataset.node}` : "");
    const where = owners.length > 4 ? `on ${owners.length} GPUs` : owners.map(name).join(" and ");
    const groups = owners.length === 1 ? "" : owners.length === 2 ? " of both groups" : " of every group";
    text(sentence, `Token ${p} lies on DCP rank ${owner.rank}${groups}, ${where}: ${p} mod ${data.dcp} = ${owner.rank}.`);
    text(place, `In a request that begins at logical page 1: slot ${owner.slot}, row ${owner.slot} // ${data.dcp} = ${owner.row} of that rank, physical page ${owner.row} // ${data.page} = ${owner.page}, offset ${owner.offset}.`);
  }
}

export default { render };
