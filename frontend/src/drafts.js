// Unsent code, kept in this browser only: one draft for an exercise, and one text set aside when another
// attempt was loaded over it. What has been sent is on the server, which restores it by itself.

function store() {
  try {
    return window.localStorage;
  } catch {
    return null; // storage may be switched off; the editor must work all the same
  }
}

function read(key) {
  try {
    return store()?.getItem(key) ?? null;
  } catch {
    return null;
  }
}

function write(key, text) {
  try {
    if (text === null) store()?.removeItem(key);
    else store()?.setItem(key, text);
  } catch {
    // A full storage is no reason to disturb somebody who is writing code.
  }
}

export function draftsFor(exercise, account) {
  const draftKey = `kelolo:draft:${account}:${exercise}`;
  const asideKey = `kelolo:aside:${account}:${exercise}`;
  let timer = 0;
  let pending = null;

  function flush() {
    window.clearTimeout(timer);
    if (pending !== null) write(draftKey, pending);
    pending = null;
  }

  window.addEventListener("pagehide", flush);
  return {
    draft: () => read(draftKey),
    keep(text) {
      pending = text;
      window.clearTimeout(timer);
      timer = window.setTimeout(flush, 250);
    },
    /** The server has this text now; a draft typed since then stays. */
    sent(text) {
      if (pending !== null) flush();
      if (read(draftKey) === text) write(draftKey, null);
    },
    aside: () => read(asideKey),
    setAside: (text) => write(asideKey, text),
  };
}
