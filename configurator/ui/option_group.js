// One flag as an ARIA radio group: one tab stop, arrow keys inside, blocked options can be reached and explain themselves.

function render({ model, el, signal }) {
  const dc = root(el, "dc-og");
  const id = `dc-${Math.random().toString(36).slice(2)}`;
  const heading = h("h2", { class: "dc-og-head", hidden: true });
  const flag = h("span", { class: "dc-flag" });
  const group = h("div", { class: "dc-opts", role: "radiogroup", "aria-describedby": `${id}-line` });
  const pin = h("button", { type: "button", class: "dc-btn quiet small dc-pin", hidden: true, onclick: () => model.send({ do: "pin", label: pin.dataset.label }) }, icon("pin"), "Pin");
  const line = h("p", { class: "dc-why", id: `${id}-line` });
  const heard = h("span", { class: "dc-vh", role: "status" });
  const card = h("div", { class: "dc-card", popover: "manual", role: "dialog", "aria-modal": "false" });
  dc.append(heading, h("div", { class: "dc-row" }, flag, h("div", { class: "dc-opts-wrap" }, group, pin), line), card, heard);

  let options = [];
  let radios = [];
  let shown = null; // index of the option whose card is open
  let pinned = false;
  let timer = 0;
  let answers = new Map(); // by label, until the next state

  // ---- drawing ------------------------------------------------------------------------------------------------------

  function makeRadio(label, index) {
    const name = h("span", { class: "dc-name" }, label);
    const mark = h("span", { class: "dc-mark" });
    const becomes = h("span", { class: "dc-becomes" });
    const why = h("span", { class: "dc-vh", id: `${id}-${index}` });
    const radio = h("button", {
      type: "button", role: "radio", class: "dc-opt", "aria-label": label, tabindex: "-1",
      onclick: () => activate(radios.indexOf(parts)),
      onfocus: () => open(radios.indexOf(parts)),
      onblur: () => closeSoon(),
      onmouseenter: () => openSoon(radios.indexOf(parts)),
      onmouseleave: () => closeSoon(),
    }, mark, name, becomes);
    const parts = { radio, mark, becomes, why };
    return parts;
  }

  function draw(data) {
    if (!data || !data.options) return;
    const labels = data.options.map((o) => o.label);
    if (labels.length !== radios.length || labels.some((l, i) => l !== options[i].label)) {
      const focused = radios.findIndex((r) => r.radio === document.activeElement);
      const label = focused >= 0 ? options[focused].label : null;
      radios = labels.map(makeRadio);
      group.replaceChildren(...radios.flatMap((r) => [r.radio, r.why]));
      if (label !== null) {
        const again = labels.indexOf(label);
        (radios[again] || radios[0]).radio.focus({ preventScroll: true });
      }
    }
    options = data.options;
    answers = new Map();
    text(heading, data.heading);
    heading.hidden = !data.heading;
    dc.classList.toggle("first", Boolean(data.heading));
    text(flag, data.flag);
    attr(flag, "title", data.help);
    attr(group, "aria-label", data.flag);
    options.forEach((option, i) => drawOption(option, radios[i], i));
    tabStop(radios.findIndex((r) => r.radio === document.activeElement));
    pin.hidden = !data.pin;
    pin.dataset.label = data.pin;
    attr(pin, "aria-label", data.pin ? `Pin ${data.flag} ${data.pin}` : null);
    attr(pin, "title", data.pin ? `Write ${data.flag} ${data.pin} into the command` : null);
    drawLine(data.line);
    if (shown !== null) {
      if (explains(options[shown])) fillCard(); else close();
    }
  }

  function drawOption(option, { radio, mark, becomes, why }, i) {
    const blocked = option.state === "blocked";
    const kind = option.conflict ? "conflict" : blocked ? `by-${option.by || "choice"}` : option.state === "undecided" ? "undecided" : option.slow ? "slow" : "";
    radio.className = `dc-opt ${kind}`;
    attr(radio, "aria-checked", option.chosen ? "true" : "false");
    attr(radio, "aria-disabled", blocked ? "true" : null);
    const name = { conflict: "warn", "by-choice": "link", "by-fact": "lock", undecided: "question", slow: "slow" }[kind] || "";
    if (mark.dataset.icon !== name) {
      mark.dataset.icon = name;
      mark.replaceChildren(...(name ? [icon(name)] : []));
    }
    text(becomes, option.becomes ? ` \u2192 ${option.becomes}` : "");
    const spoken = [
      option.becomes ? `becomes ${option.becomes}.` : "",
      option.conflict ? `In conflict: ${option.reason}` : "",
      blocked ? `${option.by === "fact" ? "Blocked by a fact" : "Blocked by another choice"}: ${option.reason}` : "",
      option.state === "undecided" ? `Cannot be decided here: ${option.reason}.` : "",
      option.slow ? "Runs, but slower." : "",
    ].filter(Boolean).join(" ");
    text(why, spoken);
    attr(radio, "aria-describedby", spoken ? `${id}-${i}` : null);
  }

  function drawLine(data) {
    const key = JSON.stringify(data);
    if (line.dataset.key === key) return;
    line.dataset.key = key;
    line.className = `dc-why ${data.kind}`;
    const name = { conflict: "warn", choice: "link", fact: "lock", undecided: "question", forced: "lock" }[data.kind];
    const words = h("span", { class: "dc-words" }, data.label ? h("b", null, `${data.label}: `) : null, rich(data.text));
    line.replaceChildren(...(name ? [icon(name)] : []), words);
    attr(line, "title", data.text);
  }

  function tabStop(preferred) {
    const checked = options.findIndex((o) => o.chosen);
    const stop = preferred >= 0 ? preferred : Math.max(checked, 0);
    radios.forEach((r, i) => attr(r.radio, "tabindex", i === stop ? "0" : "-1"));
  }

  // ---- choosing -----------------------------------------------------------------------------------------------------

  function activate(i) {
    const option = options[i];
    tabStop(i);
    if (option.state === "blocked") {
      open(i);
      pinned = true;
      const button = card.querySelector("button");
      if (button) button.focus({ preventScroll: true });
    } else if (!option.chosen) {
      close();
      model.send({ do: "choose", label: option.label });
    }
  }

  group.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = radios.findIndex((r) => r.radio === event.target);
    if (at < 0) return;
    const n = radios.length;
    const to = { ArrowRight: (at + 1) % n, ArrowDown: (at + 1) % n, ArrowLeft: (at + n - 1) % n, ArrowUp: (at + n - 1) % n, Home: 0, End: n - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      tabStop(to);
      radios[to].radio.focus();
      if (options[to].state !== "blocked" && !options[to].chosen) model.send({ do: "choose", label: options[to].label });
    }
  });
  dc.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || shown === null) return;
    event.preventDefault();
    const back = radios[shown];
    const inside = card.contains(document.activeElement);
    close();
    if (inside && back) {
      back.radio.focus({ preventScroll: true });
      close();
    }
  });

  // ---- the reason card ----------------------------------------------------------------------------------------------

  const explains = (option) => option && (option.state !== "open" || option.conflict);

  function openSoon(i) {
    clearTimeout(timer);
    if (pinned && shown !== i) return;
    timer = setTimeout(() => open(i), 120);
  }

  function open(i) {
    clearTimeout(timer);
    if (i < 0 || !explains(options[i])) {
      if (!pinned) close();
      return;
    }
    if (shown !== i) pinned = false;
    shown = i;
    fillCard();
    if (!card.matches(":popover-open")) card.showPopover();
    place();
  }

  function fillCard() {
    const option = options[shown];
    const blocked = option.state === "blocked";
    const answer = answers.get(option.label);
    const title = option.conflict ? "In conflict with the rest of the command"
      : option.state === "undecided" ? "Cannot be decided here"
      : option.by === "fact" ? "Blocked by a fact of machine, model or release" : "Blocked by another choice";
    const key = JSON.stringify([option, answer]);
    if (card.dataset.key === key) return;
    card.dataset.key = key;
    attr(card, "aria-label", `${flag.textContent} ${option.label}: ${title}`);
    const had = card.contains(document.activeElement);
    card.replaceChildren();
    add(card, [
      h("b", { class: "dc-card-title" }, title),
      h("p", null, rich(option.reason)),
      answer && answer.note ? h("p", { class: "dc-muted" }, answer.note) : null,
      answer && answer.button ? h("button", { type: "button", class: "dc-btn small", onclick: () => free(option, answer) }, h("span", null, rich(answer.button))) : null,
      blocked && !answer ? h("p", { class: "dc-muted" }, "Looking for a way out\u2026") : null,
    ]);
    const button = card.querySelector("button");
    if (button && (had || pinned)) button.focus({ preventScroll: true });
    if (blocked && !answer) model.send({ do: "ask", label: option.label });
  }

  model.on("msg:custom", answered);
  function answered(message) {
    if (message.answer === undefined) return;
    answers.set(message.answer, message);
    if (shown === null || options[shown].label !== message.answer) return;
    fillCard();
    place();
    text(heard, message.button ? `Way out: ${message.button}` : message.note);
  }

  function free(option, answer) {
    const at = shown;
    close();
    if (at !== null) radios[at].radio.focus({ preventScroll: true });
    close();
    model.send({ do: "free", label: option.label, button: answer.button });
  }

  function place() {
    if (shown === null) return;
    const anchor = radios[shown].radio.getBoundingClientRect();
    const width = Math.min(400, window.innerWidth - 16);
    card.style.maxWidth = `${width}px`;
    const size = card.getBoundingClientRect();
    const left = Math.max(8, Math.min(anchor.left, window.innerWidth - size.width - 8));
    const below = anchor.bottom + 4;
    const top = below + size.height > window.innerHeight - 4 && anchor.top - size.height - 4 > 0 ? anchor.top - size.height - 4 : below;
    card.style.left = `${left}px`;
    card.style.top = `${top}px`;
  }

  function closeSoon() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (pinned) return;
      if (card.matches(":hover") || card.contains(document.activeElement)) return;
      if (shown !== null && radios[shown] && (radios[shown].radio.matches(":hover") || radios[shown].radio === document.activeElement)) return;
      close();
    }, 160);
  }

  function close() {
    clearTimeout(timer);
    shown = null;
    pinned = false;
    delete card.dataset.key;
    text(heard, "");
    if (card.matches(":popover-open")) card.hidePopover();
  }

  card.addEventListener("mouseleave", closeSoon);
  card.addEventListener("focusout", closeSoon);
  const outside = (event) => { if (shown !== null && !dc.contains(event.target)) close(); };
  const moved = (event) => { if (shown !== null && !(event.target instanceof Node && card.contains(event.target))) place(); };
  document.addEventListener("pointerdown", outside, true);
  window.addEventListener("scroll", moved, true);
  window.addEventListener("resize", moved);
  function leave() {
    close();
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("scroll", moved, true);
    window.removeEventListener("resize", moved);
    model.off("msg:custom", answered);
  }

  follow(model, "data", signal, draw);
  return leave;
}

export default { render };
