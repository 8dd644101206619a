"use strict";
(function () {
  // The token comes in the fragment of the address, which goes to no log, and leaves the address at once. Other pages of
  // this server get it, too: those of a server that was started again have that of the former one.
  const place = location.pathname + "token";
  const pages = new BroadcastChannel(place);
  function takeToken() {
    const given = /^#token=([\w-]+)$/.exec(location.hash);
    if (!given) return false;
    sessionStorage.setItem(place, given[1]);
    pages.postMessage(given[1]);
    history.replaceState(null, "", location.pathname + "#verdict");
    return true;
  }
  takeToken();
  const pulse = document.getElementById("pulse");
  const view = document.getElementById("view");
  const links = [...document.querySelectorAll("nav a[data-view]")];
  const ask = (path, options = {}) => fetch(path, {
    ...options, cache: "no-store", headers: { Authorization: `Bearer ${sessionStorage.getItem(place)}`, ...options.headers },
  });
  const spaced = (step) => String(step).replace(/\B(?=(\d{3})+$)/g, "\u2009");
  const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

  let board = null;
  let version = 0;
  let numAsked = 0;  // how often a part or a curve was asked for
  let shown = { name: null, version: 0, numAsked: 0 };
  const opened = new Map();  // view → keys of the folded parts that are open on it, and of curves that were chosen
  const openOn = (name) => opened.get(name) || opened.set(name, new Set()).get(name);
  const MOST_CHOSEN = 8;
  let isDrawing = false;

  const wanted = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    if (name.startsWith("finding-")) return "finding-1";
    return links.some((link) => link.dataset.view === name) ? name : "verdict";
  };

  // A view is drawn by the server, parsed without running anything, and put in the place of the former one.
  async function draw() {
    if (isDrawing || board === null || !version) return;
    isDrawing = true;
    try {
      while (shown.name !== wanted() || shown.version < version || shown.numAsked < numAsked) {
        const name = wanted();
        const drawn = { name, version, numAsked };
        const query = [...openOn(name)].map((key) => `open=${encodeURIComponent(key)}`).join("&");
        const answer = await ask(`boards/${board}/views/${name}?${query}`);
        if (!answer.ok) throw new Error(await answer.text());
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const keyOf = (part) => part.dataset.part || part.firstElementChild.textContent;
        const isOpen = new Map([...view.querySelectorAll("details")].map((part) => [keyOf(part), part.open]));
        const isSame = shown.name === name;
        page.querySelectorAll("details").forEach((part) => {
          if (isSame && isOpen.has(keyOf(part))) part.open = isOpen.get(keyOf(part));
        });
        const made = document.adoptNode(page.body.firstElementChild);
        const place = isSame ? focusables().indexOf(document.activeElement) : -1;
        const search = isSame && view.querySelector(".search");  // keeps what somebody is typing
        const begun = search && made.querySelector(".search");
        if (begun) begun.replaceWith(search);
        view.replaceChildren(...made.childNodes);
        if (!isSame) opened.forEach((_, other) => { if (other !== name) opened.delete(other); });
        if (!view.childElementCount) {
          const title = document.createElement("h2");
          title.textContent = links.find((link) => link.dataset.view === name).textContent;
          view.replaceChildren(title, "There is nothing to show here yet.");
        }
        const head = view.querySelector("h1") ? null : view.querySelector("h2");
        if (head) {  // each view is a page of its own, whose heading is the first one
          head.setAttribute("role", "heading");
          head.setAttribute("aria-level", "1");
        }
        shown = drawn;
        links.forEach((link) => link.toggleAttribute("aria-current", link.dataset.view === name));
        if (!isSame) {
          scrollTo(0, 0);
          dispatchEvent(new Event("content"));
        } else {
          dispatchEvent(new CustomEvent("content", { detail: "again" }));
          if (place >= 0 && focusables()[place]) focusables()[place].focus({ preventScroll: true });
        }
        view.dataset.version = String(shown.version);
      }
    } catch (error) {
      if (!(error instanceof TypeError)) tell(error.message);  // of a lost server tells who listens
    } finally {
      isDrawing = false;
    }
  }
  addEventListener("hashchange", () => { if (takeToken()) begin(); else draw(); });
  const focusables = () => [...view.querySelectorAll("a, button, input, select, summary, [tabindex]")];

  // Folded parts come when they are opened; curves of any name when they are chosen.
  function redraw() {
    numAsked += 1;
    draw();
  }
  view.addEventListener("toggle", (event) => {
    const part = event.target;
    if (!part.dataset || !part.dataset.part) return;
    const keys = openOn(shown.name);
    if (!part.open) keys.delete(part.dataset.part);
    else if (part.childElementCount < 2 && !keys.has(part.dataset.part)) {  // asked for once: the server may leave it empty
      keys.add(part.dataset.part);
      redraw();
    }
  }, true);
  addEventListener("choose", (event) => {
    const keys = openOn(shown.name);
    const key = `curve ${event.detail}`;
    if (!keys.delete(key)) {
      const others = [...keys].filter((other) => other.startsWith("curve "));
      if (others.length >= MOST_CHOSEN) keys.delete(others[0]);
      keys.add(key);
    }
    redraw();
  });
  addEventListener("names", async (event) => {
    const answer = await ask(`boards/${board}/names`);
    if (answer.ok) event.detail((await answer.text()).split("\n"));
  });

  function tell(text) { if (pulse.textContent !== text) pulse.textContent = text; }

  function describe(trial) {
    const parts = [trial.name];
    if (trial.state) parts.push(trial.state === "silent" ? "silent for long: it may have died" : trial.state);
    if (trial.last_step !== null) parts.push(`step ${spaced(trial.last_step)}`);
    if (trial.steps_per_second !== null) parts.push(`${trial.steps_per_second.toPrecision(2)} steps/s`);
    if (trial.num_unread) parts.push(`${spaced(trial.num_unread)} steps behind`);
    if (trial.trouble) parts.push(trial.trouble);
    return parts.join(" · ");
  }

  function take(news) {
    links.forEach((link) => { link.hidden = false; });
    tell(news.trials.map(describe).join("\n"));
    pulse.classList.toggle("wrong", news.trials.some((trial) => trial.trouble));
    document.title = `${news.trials.map((trial) => trial.name).join(", ")}: live`;
    version = news.version;
    if (version < shown.version) shown.version = 0;  // another server, or a trial that was opened anew
    draw();
  }

  // One stream of news, closed while nobody looks, resumed where it ended.
  let stopping = null;
  async function listen() {
    let wait = 0.5;
    while (!document.hidden && board !== null) {
      const mine = stopping = new AbortController();
      let isPolled = false;
      let lost = "";
      let hasEnded = false;
      try {
        const answer = await ask(`boards/${board}/news?since=${shown.version}`, { signal: mine.signal });
        if (answer.status === 401) return tell(await answer.text());
        if (!answer.ok) throw new Error(await answer.text());
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          const lines = (rest + value).split("\n");
          rest = lines.pop();
          for (const line of lines) {
            const news = JSON.parse(line);
            isPolled = Boolean(news.poll);
            hasEnded = Boolean(news.ended);
            wait = 0.5;
            take(news);
          }
        }
        if (isPolled) { await pause(1.5); continue; }
      } catch (error) {
        if (!mine.signal.aborted && error.message) lost = error.message;
      }
      if (mine.signal.aborted) return;
      if (hasEnded) return tell(`${pulse.textContent} · the server has ended`);
      tell(`lost contact at ${new Date().toTimeString().slice(0, 8)}${lost && ` (${lost})`}: what was known stays here; trying again`);
      pulse.classList.add("wrong");
      version = shown.version;
      await pause(wait);
      wait = Math.min(2 * wait, 5);
    }
  }
  const stop = () => { if (stopping) stopping.abort(); };
  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else listen(); });
  pages.addEventListener("message", (event) => {
    sessionStorage.setItem(place, event.data);
    begin();
  });

  // Several boards: a list to choose from.
  async function start() {
    if (!sessionStorage.getItem(place)) return tell("The token is missing: open the address that was printed when the server started.");
    const answer = await ask("boards");
    if (!answer.ok) return tell(await answer.text());
    const listed = await answer.json();
    if (listed.length === 1) return open(listed[0].number);
    const list = document.createElement("ul");
    for (const item of listed) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = item.name;
      button.addEventListener("click", () => open(item.number));
      const line = document.createElement("li");
      line.append(button, ` ${item.path} `);
      list.append(line);
    }
    tell(listed.length ? `${listed.length} trials` : "There is no trial in this folder yet; load the page again later.");
    view.replaceChildren(list);
  }
  function open(number) {
    board = number;
    tell("reading …");
    listen();
  }
  function begin() {
    stop();
    shown.version = 0;
    if (board !== null) return listen();
    start().catch(() => tell("the server does not answer: start it again, and open the address that it prints"));
  }
  begin();
})();
