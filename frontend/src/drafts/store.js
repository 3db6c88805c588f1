// The drafts of one exercise in this browser, for all its tabs. What a draft is stands in ./tab.js.
const LATEST = 8; // as many as the server keeps
const GUEST = "guest";

export function newId() {
  const numbers = crypto.getRandomValues(new Uint32Array(4)); // randomUUID needs HTTPS
  return Array.from(numbers, (one) => one.toString(16).padStart(8, "0")).join("");
}

/** Storage may be switched off or full: then what was written is kept as long as the page is open. */
function safely(name) {
  const memory = new Map();
  const storage = () => {
    try {
      return window[name];
    } catch {
      return null;
    }
  };
  return {
    get: (key) => memory.get(key) ?? storage()?.getItem(key) ?? null,
    set(key, text) {
      try {
        storage().setItem(key, text);
        memory.delete(key);
      } catch {
        memory.set(key, text);
      }
    },
    remove(key) {
      memory.delete(key);
      storage()?.removeItem(key);
    },
    keys: () => [...new Set([...memory.keys(), ...Object.keys(storage() ?? {})])],
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const local = safely("localStorage");

/**
 * A record has the `text`, a `stamp` that is new with each text, and when (`at`, milliseconds). For the server: the
 * `version` that it had there last, whether that is this text (`synced`), and the text that was `tried` last.
 */
export function storeFor(exercise, owner, account) {
  const prefix = `kelolo:drafts:${owner}:${exercise}:`;
  if (owner !== GUEST) takeOver(owner);

  function all() {
    const found = local.keys().filter((key) => key.startsWith(prefix))
      .map((key) => ({ id: key.slice(prefix.length), ...parsed(local.get(key)) }))
      .filter((one) => typeof one.text === "string");
    return found.sort((one, other) => other.at - one.at);
  }

  const store = {
    all,
    read: (id) => parsed(local.get(prefix + id)),
    write: (id, record) => local.set(prefix + id, JSON.stringify(record)),
    remove: (id) => local.remove(prefix + id),
    add(text, more = {}) {
      const id = newId();
      store.write(id, { text, stamp: newId(), at: Date.now(), version: 0, synced: false, ...more });
      return id;
    },
    /** Forget the oldest, and never that of this tab. */
    trim(own) {
      for (const one of all().slice(LATEST)) if (one.id !== own) store.remove(one.id);
    },
    onOthersChange(act) {
      window.addEventListener("storage", (event) => {
        if (event.key === null || event.key.startsWith(prefix)) act();
      });
    },
  };
  takeIn(store, `${account}:${exercise}`);
  return store;
}

/** What a guest typed in this browser belongs to whoever signs in, as what the guest has sent does. */
function takeOver(owner) {
  const from = `kelolo:drafts:${GUEST}:`;
  for (const key of local.keys().filter((one) => one.startsWith(from))) {
    const to = `kelolo:drafts:${owner}:${key.slice(from.length)}`;
    if (local.get(to) === null) local.set(to, local.get(key));
    local.remove(key);
  }
}

/** A browser may still hold texts under the two names that an exercise had when all tabs shared one draft. */
function takeIn(store, place) {
  for (const name of ["aside", "draft"]) {
    const key = `kelolo:${name}:${place}`;
    const text = local.get(key);
    if (text?.trim()) store.add(text);
    if (text !== null) local.remove(key);
  }
}

/** What a tab remembers over a reload, or when the browser comes back after a crash. */
export function tabMemory(exercise) {
  const session = safely("sessionStorage");
  const key = `kelolo:tab:${exercise}`;
  return {
    get: () => parsed(session.get(key)),
    set: (state) => (state === null ? session.remove(key) : session.set(key, JSON.stringify(state))),
  };
}
