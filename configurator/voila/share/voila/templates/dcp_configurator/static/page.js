// What the page does around the widget: it covers the time until something is drawn, and it says so when the kernel
// behind the page has ended or the server cannot be reached. Without that, a dead page looks like a slow one.
(() => {
  const POLL_MS = 3000;
  const REQUEST_TIMEOUT_MS = 5000;
  const SLOW_START_MS = 20000;

  // ---- Starting -----------------------------------------------------------------------------------------------------

  let finished = false; // Voila has written all cells

  // Something a person can see: a widget, or the text of an error.
  const drawn = () =>
    [
      ...document.querySelectorAll(
        "#rendered_cells .jupyter-widgets, #rendered_cells .jp-RenderedText, #rendered_cells .jp-RenderedHTMLCommon",
      ),
    ].some((element) => element.offsetHeight > 0);

  const observer = new MutationObserver(revealOnceDrawn);
  const slow = window.setTimeout(() => {
    document.getElementById("loading_text").textContent =
      "The configurator is taking longer than usual to start. If nothing appears, the terminal that runs the server says why.";
  }, SLOW_START_MS);

  function revealOnceDrawn() {
    if (finished && drawn()) {
      document.body.classList.add("dcp-drawn");
      observer.disconnect();
      window.clearTimeout(slow);
    }
  }

  observer.observe(document.documentElement, { childList: true, subtree: true });

  // Voila calls these three, from the page it writes and from its front end.
  window.voila_heartbeat = () => {};
  window.voila_process = () => {};
  window.voila_finish = () => {
    // The front end calls once more when its theme plugin is ready.
    if (!window.themeLoaded) {
      window.cellLoaded = true;
      return;
    }
    finished = true;
    revealOnceDrawn();
  };

  // ---- Watching -----------------------------------------------------------------------------------------------------

  const notice = document.getElementById("dcp-notice");
  let shownNotice = null;

  function show(kind, text) {
    if (shownNotice === kind) {
      return;
    }
    shownNotice = kind;
    notice.replaceChildren();
    notice.hidden = kind === null;
    if (kind === null) {
      return;
    }
    const message = document.createElement("span");
    message.textContent = text;
    const reload = document.createElement("button");
    reload.type = "button";
    reload.textContent = "Reload";
    reload.addEventListener("click", () => window.location.reload());
    notice.append(message, reload);
    notice.dataset.kind = kind;
    document.body.dataset.dcpConnection = kind;
  }

  const GONE =
    "This page no longer answers: the Python process behind it has ended. Copy what you still need from the page, then reload to start afresh.";
  const LOST = "The server cannot be reached, so this page does not answer now. It is being tried again; nothing on the page is lost meanwhile.";
  const CUT =
    "The page's live connection to the server was cut. If it does not come back by itself in a few seconds, copy what you need and reload.";

  let misses = 0; // requests in a row that failed
  let wasConnected = false;
  let unconnected = 0; // answers in a row that count no live connection

  async function poll(url) {
    let model;
    try {
      const reply = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
      if (reply.status === 404) {
        show("gone", GONE);
        return false;
      }
      if (!reply.ok) {
        throw new Error(`HTTP ${reply.status}`);
      }
      model = await reply.json();
    } catch {
      misses += 1;
      if (misses >= 2) {
        show("lost", LOST);
      }
      return true;
    }
    misses = 0;
    if (model.execution_state === "dead") {
      show("gone", GONE);
      return false;
    }
    if (model.connections > 0) {
      wasConnected = true;
      unconnected = 0;
    } else if (wasConnected) {
      unconnected += 1;
    }
    show(unconnected >= 2 ? "cut" : null, CUT);
    return true;
  }

  async function watch() {
    const config = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const url = `${config.baseUrl}api/kernels/${config.kernelId}`;
    for (;;) {
      // A hidden page asks nothing; it asks at once when it is looked at again.
      await new Promise((resolve) => {
        const timer = window.setTimeout(() => !document.hidden && done(), POLL_MS);
        const onVisible = () => !document.hidden && done();
        function done() {
          window.clearTimeout(timer);
          document.removeEventListener("visibilitychange", onVisible);
          resolve();
        }
        document.addEventListener("visibilitychange", onVisible);
      });
      if (!(await poll(url))) {
        return;
      }
    }
  }

  // The configuration is written after this script runs: it names the kernel, which starts in between.
  window.addEventListener("DOMContentLoaded", () => void watch());
})();
