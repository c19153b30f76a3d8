"""Measures the page in a real browser: click to DOM, first benchmark row, memory of the kernel.

Run it alone: ``python tests/benchmarks/bench_page.py``. It prints one JSON document. Times are wall-clock on this
machine, from the browser's own clock where the browser is what is measured.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil
from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS
from tests.voila.running import RunningApp
from tools.find_browser import find

CLICKS = 50
# Clicks one option and waits until the DOM answers: the option is checked, as the kernel says, not as the browser hopes.
CLICK = """([flag, value]) => new Promise((resolve) => {
  const group = [...document.querySelectorAll('[role=radiogroup]')].find((g) => g.getAttribute('aria-label') === flag);
  const radio = [...group.querySelectorAll('[role=radio]')].find((r) => r.getAttribute('aria-label') === value);
  const start = performance.now();
  const seen = new MutationObserver(() => {
    if (radio.getAttribute('aria-checked') !== 'true') return;
    seen.disconnect();
    resolve(performance.now() - start);
  });
  seen.observe(radio, { attributes: true });
  radio.click();
})"""


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        app = RunningApp(Path(folder))
        try:
            browser = playwright.chromium.launch(executable_path=find(), args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            begun = time.monotonic()
            page.goto(app.url)
            page.get_by_role("status", name="Verdict").wait_for()
            drawn_s = time.monotonic() - begun
            clicks = [
                page.evaluate(CLICK, ["--dcp-comm-backend", "a2a" if at % 2 else "ag_rs"]) for at in range(CLICKS)
            ]
            resident = [kernel.memory_info().rss / 1e6 for kernel in app.kernels()]
            page.get_by_role("tab", name="Benchmark").click()
            begun = time.monotonic()
            page.get_by_role("button", name="Run benchmark").click()
            row = page.get_by_role("table", name="Benchmark results").get_by_role("row").filter(has_text="ag_rs")
            row.locator("td.dc-good, td:nth-child(6):not([colspan])").first.wait_for(timeout=60_000)
            first_row_s = time.monotonic() - begun
            browser.close()
        finally:
            app.stop()
    ordered = sorted(clicks)
    print(
        json.dumps(
            {
                "page_drawn_s": round(drawn_s, 2),
                "clicks": CLICKS,
                "click_to_dom_p50_ms": round(statistics.median(clicks), 1),
                "click_to_dom_p95_ms": round(ordered[int(0.95 * (CLICKS - 1))], 1),
                "click_to_dom_max_ms": round(ordered[-1], 1),
                "first_benchmark_row_s": round(first_row_s, 2),
                "kernel_rss_mb": [round(x) for x in resident],
                "cores": psutil.cpu_count(),
                "load_1min": round(psutil.getloadavg()[0], 2),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
