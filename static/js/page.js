// Runs before the first paint (a blocking script in the head), so that a chosen theme never flashes.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = window.localStorage.getItem("kelolo:theme");
  } catch {
    // Storage may be switched off: the choice then holds for this page.
  }

  function applyTheme() {
    const dark = chosen === null ? systemIsDark.matches : chosen === "dark";
    root.dataset.theme = dark ? "dark" : "light";
    document.querySelector("[data-theme-toggle]")?.setAttribute("aria-pressed", String(dark));
  }

  function toggleTheme() {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    applyTheme();
    try {
      window.localStorage.setItem("kelolo:theme", chosen);
    } catch {
      // As above.
    }
  }

  /** The server writes UTC; a person reads the time on the wall. */
  function showLocalTimes(within) {
    for (const time of within.querySelectorAll?.("time[datetime]") ?? []) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.valueOf())) continue;
      const today = moment.toDateString() === new Date().toDateString();
      const style = today && !("dated" in time.dataset) ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
      time.textContent = new Intl.DateTimeFormat(undefined, style).format(moment);
    }
  }

  /** The account's menu opens and closes without a script; with one also by Escape, and by a click elsewhere. */
  function closeMenu(event) {
    const menu = document.querySelector("[data-menu][open]");
    if (!menu) return;
    if (event.type === "keydown" ? event.key !== "Escape" : menu.contains(event.target)) return;
    menu.open = false;
    if (event.type === "keydown") menu.querySelector("summary").focus();
  }

  applyTheme();
  systemIsDark.addEventListener("change", applyTheme);
  document.addEventListener("DOMContentLoaded", () => {
    applyTheme();
    document.querySelector("[data-theme-toggle]")?.addEventListener("click", toggleTheme);
    showLocalTimes(document);
    document.addEventListener("keydown", closeMenu);
    document.addEventListener("click", closeMenu);
    document.body.addEventListener("htmx:load", (event) => showLocalTimes(event.detail.elt));
  });
})();
