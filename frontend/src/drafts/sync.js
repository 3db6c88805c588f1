// Drafts on the server, so that they are on the next device and outlive this browser.
//
// Each is saved a moment after it was typed, with the version that it was made from. An answer that says that the stored
// one is another (409) has its text: both stay, this one under a new name. What the server has as an attempt it
// does not keep, and says so. While it cannot be reached all is kept here, and tried again, more and more rarely.
import { newId } from "./store.js";

const SAVE_AFTER_MS = 1500;
const SAVE_WITHIN_MS = 5000; // of somebody who types without a pause
const RETRY_AFTER_MS = 2000;
const RETRY_WITHIN_MS = 60_000;
const UNKNOWN = 401;
const CONFLICT = 409;
const TOO_MANY = 429;

class Later extends Error {}

export function syncFor({ exercise, store, canWrite, isGuest, own, onMoved, onSent, onChange }) {
  const root = `/api/v1/exercises/${encodeURIComponent(exercise)}/drafts`;
  const dirty = new Set();
  const removed = new Map();
  let isKnown = canWrite; // whether the browser is anybody's: the first draft makes a guest
  let isBusy = false;
  let timer = 0;
  let firstAt = null;
  let failures = 0;

  function call(method, path, body, more = {}) {
    const headers = body ? { "Content-Type": "application/json" } : {};
    return fetch(path, { method, headers, body: body && JSON.stringify(body), ...more });
  }

  function put(id, record, more) {
    const body = { text: record.text, version: record.version };
    if (isKnown) return call("PUT", `${root}/${id}`, body, more);
    return call("POST", `/exercises/${encodeURIComponent(exercise)}/drafts`, { id, ...body }, more);
  }

  function schedule(wait) {
    window.clearTimeout(timer);
    timer = window.setTimeout(run, wait);
  }

  async function run() {
    if (isBusy) return;
    isBusy = true;
    firstAt = null;
    try {
      for (const [id, version] of removed) await drop(id, version);
      for (const id of dirty) await push(id);
      failures = 0;
    } catch {
      failures += 1;
      schedule(Math.min(RETRY_AFTER_MS * 2 ** (failures - 1), RETRY_WITHIN_MS));
    } finally {
      isBusy = false;
    }
    if (failures === 0 && dirty.size + removed.size) schedule(SAVE_AFTER_MS);
  }

  async function drop(id, version) {
    await call("DELETE", `${root}/${id}?version=${version}`);
    removed.delete(id);
  }

  async function push(id) {
    const record = store.read(id);
    if (!record || record.synced) {
      dirty.delete(id);
      return;
    }
    store.write(id, { ...record, tried: record.text });
    const answer = await put(id, record);
    if (answer.status === UNKNOWN && isKnown && isGuest) isKnown = false; // the guest is no more: be a new one
    else if (answer.ok) onSaved(id, record.text, await answer.json());
    else if (answer.status === CONFLICT) onConflict(id, record, await answer.json());
    else if (answer.status === TOO_MANY || answer.status >= 500) throw new Later();
    else dirty.delete(id); // it cannot be kept there, being too long for instance: it stays here
  }

  function onSaved(id, text, saved) {
    isKnown = true;
    const record = store.read(id);
    if (record?.text === text) dirty.delete(id);
    if (saved.is_sent && record?.text === text) {
      store.remove(id);
      onSent(id, text);
    } else if (record) {
      const facts = { version: saved.version, at: Date.parse(saved.updated_at), synced: record.text === text };
      store.write(id, { ...record, ...facts, tried: null });
    }
    onChange();
  }

  function onConflict(id, before, stored) {
    const record = store.read(id);
    if (!record) dirty.delete(id);
    else if (stored.text === before.tried || stored.text === record.text) {
      // It was stored before, and only the answer was lost.
      store.write(id, { ...record, version: stored.version, synced: stored.text === record.text });
    } else part(id, record, stored);
    onChange();
  }

  /** Keep both: what is stored under its name, and the text that is here under a new one. */
  function part(id, record, stored) {
    dirty.delete(id);
    const to = newId();
    store.write(to, { ...record, version: 0, synced: false, tried: null });
    accept(id, stored);
    onMoved(id, to);
    dirty.add(to);
  }

  function accept(id, { text, version, updated_at: at }) {
    store.write(id, { text, stamp: newId(), at: Date.parse(at), version, synced: true });
  }

  /** Bring together what the server has and what is here. */
  function merge(listed) {
    for (const stored of listed) {
      const record = store.read(stored.id);
      if (!record) accept(stored.id, stored);
      else if (stored.version <= record.version) continue;
      else if (stored.text === record.text || stored.text === record.tried) {
        store.write(stored.id, { ...record, version: stored.version, synced: stored.text === record.text });
      } else if (record.synced && stored.id !== own()) accept(stored.id, stored);
      else part(stored.id, record, stored);
    }
    const there = new Set(listed.map((one) => one.id));
    for (const { id, ...record } of store.all()) {
      // Checked, or forgotten, elsewhere: the server says which when it is saved again.
      if (record.version > 0 && !there.has(id)) store.write(id, { ...record, version: 0, synced: false });
    }
    store.trim(own());
    for (const one of store.all()) if (!one.synced && one.text.trim()) dirty.add(one.id);
  }

  window.addEventListener("online", () => schedule(0));
  return {
    soon(id) {
      dirty.add(id);
      firstAt ??= Date.now();
      if (failures === 0) schedule(Math.min(SAVE_AFTER_MS, Math.max(0, firstAt + SAVE_WITHIN_MS - Date.now())));
    },
    now: () => schedule(0),
    remove(id, version) {
      dirty.delete(id);
      if (version > 0) removed.set(id, version);
      schedule(SAVE_AFTER_MS);
    },
    /** The page goes: send what is left, and wait for no answer. */
    leave() {
      for (const id of dirty) {
        const record = store.read(id);
        if (!record || record.synced) continue;
        store.write(id, { ...record, tried: record.text });
        put(id, record, { keepalive: true }).catch(() => {}); // it is kept here all the same
      }
    },
    async load() {
      if (!canWrite) return;
      const answer = await call("GET", root).catch(() => null);
      if (answer?.ok) merge(await answer.json());
      if (dirty.size) schedule(0);
    },
  };
}
