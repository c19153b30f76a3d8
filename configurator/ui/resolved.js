// What the server fills in: one line a value, with the reason and the code that explains it.

function render({ model, el, signal }) {
  const dc = root(el, "dc-resolved");
  const title = h("h3");
  const list = h("dl");
  dc.append(title, list);

  follow(model, "data", signal, (data) => {
    if (!data || !data.items) return;
    dc.hidden = !data.items.length;
    text(title, `What SGLang ${data.release} fills in`);
    list.replaceChildren(...data.items.flatMap((item) => [
      h("dt", { class: "mono" }, item.name),
      h("dd", null, h("b", { class: "mono" }, item.value), item.given ? h("span", null, ` instead of ${item.given}`) : null,
        h("span", { class: "dc-muted" }, " ", rich(item.because), " ", h("span", { class: "mono" }, item.code)))]));
  });
}

export default { render };
