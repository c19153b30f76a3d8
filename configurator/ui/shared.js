// Shared by every view: Python puts this text in front of each view's own script, so a view is one module with no import.
// Nothing here, or in a view, turns data into markup: elements are made one by one and text goes in as text.

const ICONS = {
  stop: ["M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3z", "M5 8h6"],
  bolt: ["M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z"],
  neq: ["M3 6h10M3 10h10M11 2.5 5 13.5"],
  ignore: ["M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0", "m4 12 8-8"],
  rewrite: ["M2.5 13.5 3 10.5 10.5 3l2.5 2.5-7.5 7.500z"],
  slow: ["M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0", "M8 4.500V8l2.500 1.800"],
  question: ["M1.800 8a6.200 6.200 0 1 0 12.400 0a6.200 6.200 0 1 0-12.400 0", "M6.200 6.200a1.900 1.900 0 1 1 2.600 1.800c-.6.3-.8.6-.8 1.200", "M8 11.400v.1"],
  link: ["M6.500 9.500a2.700 2.700 0 0 0 4 .2l2-2a2.700 2.700 0 0 0-3.900-3.900l-.9.9", "M9.500 6.500a2.700 2.700 0 0 0-4-.2l-2 2a2.700 2.700 0 0 0 3.900 3.900l.9-.9"],
  lock: ["M4.200 7h7.600a1.200 1.200 0 0 1 1.200 1.200v4.600a1.200 1.200 0 0 1-1.200 1.200H4.200A1.200 1.200 0 0 1 3 12.800V8.200A1.200 1.200 0 0 1 4.200 7z", "M5.200 7V5a2.800 2.800 0 0 1 5.600 0v2"],
  check: ["m3 8.500 3.300 3.300L13 4.800"],
  warn: ["M8 2 1.800 13.500h12.400z", "M8 6.500v3.200M8 11.800v.1"],
  pin: ["M5.500 1.800h5l-.8 4.700 2.300 2.300H4l2.300-2.300zM8 8.800v5.400"],
  copy: ["M7 5.500h5.500A1.500 1.500 0 0 1 14 7v5.500a1.500 1.500 0 0 1-1.500 1.500H7a1.500 1.500 0 0 1-1.500-1.500V7A1.500 1.500 0 0 1 7 5.500z", "M10.500 5.500V3.200A1.200 1.200 0 0 0 9.300 2H3.200A1.200 1.200 0 0 0 2 3.200v6.100a1.200 1.200 0 0 0 1.200 1.200h2.300"],
  save: ["M8 2v8M4.800 7 8 10.200 11.200 7M2.500 13.500h11"],
  undo: ["M5.500 3 2.500 6l3 3", "M2.500 6h7a4 4 0 0 1 0 8H7"],
  redo: ["m10.500 3 3 3-3 3", "M13.500 6h-7a4 4 0 0 0 0 8H9"],
  play: ["M4.500 2.500 13 8l-8.500 5.500z"],
  close: ["m4 4 8 8M12 4l-8 8"],
  chip: ["M5 4h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1z", "M6 1.500V4M10 1.500V4M6 12v2.500M10 12v2.500M1.500 6H4M1.500 10H4M12 6h2.500M12 10h2.500"],
  arrow: ["M2 8h10M8.500 4.500 12 8l-3.500 3.500"],
  error: ["M1.700 8a6.300 6.300 0 1 0 12.600 0a6.300 6.300 0 1 0-12.600 0", "m5.600 5.600 4.800 4.800M10.400 5.600l-4.800 4.800"],
  circle: ["M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0"],
  half: ["M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0", "M8 2.200v11.600M9.500 2.500v11M11 3.200v9.600M12.500 4.500v7"],
  sun: ["M5 8a3 3 0 1 0 6 0a3 3 0 1 0-6 0", "M8 1.200v1.600M8 13.200v1.600M1.200 8h1.600M13.200 8h1.600M3.200 3.200l1.100 1.100M11.700 11.700l1.100 1.100M12.800 3.200l-1.100 1.100M4.300 11.700l-1.100 1.100"],
  moon: ["M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z"],
};

const EFFECT_ICON = {
  refuses: "stop", crashes: "bolt", corrupts: "neq", ignores: "ignore",
  rewrites: "rewrite", slows: "slow", unverified: "question", fills: "arrow",
};

/** Make an element. `props`: `class`, `on<event>` listeners, anything else an attribute; null and false are left out. */
function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else attr(el, name, value);
  }
  add(el, children);
  return el;
}

/** Append strings, nodes and nested lists of them; null and false are left out. */
function add(el, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(el, child);
    else el.append(child);
  }
}

/** Set an attribute when it differs; null, undefined and false take it away, true gives an empty one. */
function attr(el, name, value) {
  if (value === null || value === undefined || value === false) {
    if (el.hasAttribute(name)) el.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (el.getAttribute(name) !== text) el.setAttribute(name, text);
}

/** Set the text of an element when it differs, so that screen readers hear only what is new. */
function text(el, value) {
  if (el.textContent !== value) el.textContent = value;
}

function icon(name) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "dc-ic");
  svg.setAttribute("aria-hidden", "true");
  for (const d of ICONS[name] || []) {
    const path = document.createElementNS(ns, "path");
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

/** Text with its flags and its `quoted` words set in code type. */
function rich(value) {
  const out = [];
  const pattern = /`([^`]+)`|(?<![\w-])(--[a-z][a-z0-9-]*[a-z0-9])/g;
  let at = 0;
  for (const m of value.matchAll(pattern)) {
    if (m.index > at) out.push(value.slice(at, m.index));
    out.push(h("code", null, m[1] || m[2]));
    at = m.index + m[0].length;
  }
  if (at < value.length) out.push(value.slice(at));
  return out;
}

/** Fill an element with rich text when the text differs. */
function richText(el, value) {
  if (el.dataset.text === value) return;
  el.dataset.text = value;
  el.replaceChildren(...rich(value));
}

function badge(effect) {
  return h("span", { class: `dc-badge ${effect}` }, icon(EFFECT_ICON[effect] || "question"), effect === "fills" ? "fills in" : effect);
}

/** The root of a view. Plain key presses end here: in a notebook, "d" twice would otherwise delete the cell. */
function root(el, className) {
  const dc = h("div", { class: `dc ${className}` });
  el.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey || event.altKey)) event.stopPropagation();
  });
  el.append(dc);
  return dc;
}

/** Follow a trait: call `draw` now and at every change until the view goes. */
function follow(model, name, signal, draw) {
  const update = () => draw(model.get(name));
  model.on(`change:${name}`, update);
  if (signal) signal.addEventListener("abort", () => model.off(`change:${name}`, update));
  update();
}

/** Put new children in, and the focus where it can be found when the focused child has gone. */
function replaceKeepingFocus(el, children, fallback) {
  const had = el.contains(document.activeElement) && document.activeElement !== el;
  const key = had ? document.activeElement.dataset.key : null;
  el.replaceChildren(...children);
  if (!had) return;
  const again = key ? [...el.querySelectorAll("[data-key]")].find((x) => x.dataset.key === key) : null;
  (again || fallback || el).focus({ preventScroll: true });
}

/** Copy text. Where the page may not use the clipboard (plain http), the old way; resolves to false when neither works. */
async function copyText(value) {
  if (window.isSecureContext && navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(value);
      return true;
    } catch { /* refused by the browser: try the old way */ }
  }
  const area = h("textarea", { readonly: true, style: "position:fixed;top:0;left:0;opacity:0", "aria-hidden": "true" });
  area.value = value;
  const before = document.activeElement;
  document.body.append(area);
  area.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { done = false; }
  area.remove();
  if (before) before.focus({ preventScroll: true });
  return done;
}

function saveFile(name, value, type) {
  const url = URL.createObjectURL(new Blob([value], { type: type || "text/plain" }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
