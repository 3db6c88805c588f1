// Drafts: code that was typed and not sent to be checked.
//
// Theory of operation: each tab writes a draft of its own. When something else is loaded over it (an earlier attempt,
// the starter, another draft), it stays where it is, and the tab goes on with a new one. So all that was not
// checked, in this tab, in another, on another device, is in one list, from which it can be brought back.
//
// Two tabs may come to the same draft all the same: a new tab goes on with the newest, and a tab can be duplicated.
// Each text has a stamp, and a tab that finds a stamp which is not its own leaves the draft to the other and writes a new
// one, at once where it is told, and at the latest when it is reloaded: a tab remembers its text as well. So no tab
// ever loses what it shows. Versions on the server are the same rule between devices (./sync.js).
//
// What needs no keeping is `known`: the starter, and texts that were checked, which the server has as attempts.
import { newId, storeFor, tabMemory } from "./store.js";
import { syncFor } from "./sync.js";

const SAVE_AFTER_MS = 250;
const WORTH_KEEPING = 40; // characters: when as much is gone at a stroke, it may have been a slip

export function draftsFor({ exercise, owner, account, known, sentAt, onChange }) {
  const store = storeFor(exercise, owner, account);
  const memory = tabMemory(exercise);
  const page = window.location.pathname;
  let own = null; // { id, stamp, text }: the draft of this tab
  let pending = null;
  let timer = 0;

  const sync = syncFor({
    exercise, store, canWrite: account !== "", isGuest: owner === "guest",
    own: () => own?.id ?? null,
    onMoved: (from, to) => {
      if (own?.id === from) hold(to);
    },
    onSent(id, text) {
      known.add(text);
      if (own?.id === id) hold(null);
    },
    onChange,
  });

  function hold(id) {
    const record = id === null ? null : store.read(id);
    own = record ? { id, stamp: record.stamp, text: record.text } : null;
    memory.set(own ? { ...own, page } : null);
  }

  function saveAsNew(text, more) {
    hold(store.all().find((one) => one.text === text)?.id ?? store.add(text, more));
    store.trim(own.id);
    sync.soon(own.id);
  }

  function save(text) {
    if (own?.text === text) return;
    const record = own ? store.read(own.id) : null;
    const mine = record?.stamp === own?.stamp ? record : null;
    const cleared = text.trim() === "" || known.has(text);
    if (mine && cleared) {
      if (own.text.trim().length < WORTH_KEEPING) forget(own.id);
      else store.write(own.id, { ...mine, aside: true });
      hold(null);
    }
    if (own && mine && !cleared) {
      store.write(own.id, { ...mine, text, stamp: newId(), at: Date.now(), synced: false, aside: false });
      hold(own.id);
      sync.soon(own.id);
    } else if (!known.has(text)) saveAsNew(text);
    else hold(null);
    onChange();
  }

  function forget(id) {
    const version = store.read(id)?.version ?? 0;
    store.remove(id);
    sync.remove(id, version);
  }

  function flush() {
    window.clearTimeout(timer);
    if (pending !== null) save(pending);
    pending = null;
  }

  /** Another tab has written: if it was this tab's draft, that is the other's from here on. */
  function onOthers() {
    flush();
    const record = own ? store.read(own.id) : null;
    if (record && record.stamp !== own.stamp) saveAsNew(own.text);
    onChange();
  }

  store.onOthersChange(onOthers);
  window.addEventListener("pagehide", () => {
    flush();
    sync.leave();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "hidden") return;
    flush();
    sync.now();
  });

  return {
    flush,
    keep(text) {
      pending = text;
      window.clearTimeout(timer);
      timer = window.setTimeout(flush, SAVE_AFTER_MS);
    },
    /** The text that this tab is to go on with; null if there is none. */
    restore({ attempt }) {
      const tab = memory.get();
      if (typeof tab?.text === "string" && (!attempt || tab.page === page)) {
        if (store.read(tab.id)?.stamp === tab.stamp) hold(tab.id);
        else if (!known.has(tab.text)) saveAsNew(tab.text);
        return own?.text ?? null;
      }
      return attempt ? null : this.goOn();
    },
    /** Go on with the newest draft, if it is newer than what was sent. */
    goOn() {
      const newest = this.others("").find((one) => one.at > sentAt);
      if (!newest) return null;
      hold(newest.id);
      return newest.text;
    },
    /** Leave the text where it can be brought back from, because another one is to be shown. */
    setAside(text) {
      flush();
      if (own === null && text.trim() && !known.has(text)) saveAsNew(text);
      const record = own ? store.read(own.id) : null;
      if (record) store.write(own.id, { ...record, aside: true });
      hold(null);
    },
    /** Go on with one of the others; its text, or null if it is no more. */
    take(id) {
      hold(id);
      return own?.text ?? null;
    },
    /** This text is an attempt from here on. */
    sent(text) {
      flush();
      known.add(text);
      for (const one of store.all()) if (one.text === text) store.remove(one.id);
      if (own?.text === text) hold(null);
      onChange();
    },
    discard(id) {
      forget(id);
      onChange();
    },
    /** All other texts that were not checked, the newest first, each once. */
    others(shown) {
      const seen = new Set([shown]);
      return store.all().filter((one) => {
        const isNew = one.text.trim() !== "" && !known.has(one.text) && !seen.has(one.text);
        seen.add(one.text);
        return isNew;
      });
    },
    isOwn: (id) => own?.id === id,
    hasOwn: () => own !== null || pending !== null,
    load: () => sync.load(),
  };
}
