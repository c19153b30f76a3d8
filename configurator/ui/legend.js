// The key to the states of an option: shape first, then icon, colour last.

const STATES = [
  ["open", "", ""], ["in conflict", "conflict", "warn"], ["by choice", "choice", "link"],
  ["by a fact", "fact", "lock"], ["undecided", "undecided", "question"], ["slow", "", "slow"],
];

function render({ el }) {
  const dc = root(el, "dc-legend");
  dc.append(h("ul", { "aria-label": "Key to the states of an option" }, STATES.map(([label, kind, name]) => h("li", null, h("i", { class: kind }), name ? icon(name) : null, label))));
}

export default { render };
