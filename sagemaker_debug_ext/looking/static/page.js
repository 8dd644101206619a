"use strict";
(function () {
  // Themes: the system's, or the one that was chosen on this page.
  const root = document.documentElement;
  const button = document.getElementById("theme");
  if (button) {
    button.hidden = false;
    const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    const name = () => { button.textContent = isDark() ? "light theme" : "dark theme"; };
    button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
    name();
  }

  // A link to something in a folded part opens it.
  function reveal() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  addEventListener("content", (event) => { if (!event.detail) reveal(); });
  addEventListener("beforeprint", () => {
    zoomTo(null);
    document.querySelectorAll(".finding details").forEach((part) => { part.open = true; });
  });

  const numbers = (text) => text.split(" ").map(Number);
  const spell = (value) => !Number.isFinite(value) ? String(value)
    : value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5) ? value.toExponential(2) : String(Number(value.toPrecision(3)));
  const spaced = (step) => String(Math.round(step)).replace(/\B(?=(\d{3})+$)/g, "\u2009");

  function svg(tag, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  // The axis of steps: first and last step, and their places in the picture. The plot shows a part of it.
  const axisOf = (picture) => numbers(picture.dataset.x);
  const plotOf = (picture) => picture.querySelector("svg.plot");
  function windowOf(picture) {
    const [low, high, begin, end] = axisOf(picture);
    const view = plotOf(picture).viewBox.baseVal;
    const step = (place) => low + (place - begin) / (end - begin) * (high - low);
    return [step(view.x), step(view.x + view.width)];
  }
  function placeOfStep(picture, step) {
    const [, , begin, end] = axisOf(picture);
    const [first, last] = windowOf(picture);
    return begin + (step - first) / (last - first) * (end - begin);
  }
  function stepAt(picture, place) {
    const [, , begin, end] = axisOf(picture);
    const [first, last] = windowOf(picture);
    return first + (place - begin) / (end - begin) * (last - first);
  }

  // Zoom: all charts of the page show the same steps, as far as they have them.
  let zoom = null;
  function zoomTo(range) {
    zoom = range;
    document.querySelectorAll("svg.chart[data-x]").forEach(applyZoom);
  }
  function applyZoom(picture) {
    const [low, high, begin, end] = axisOf(picture);
    const scale = (end - begin) / (high - low);
    const first = zoom ? Math.min(Math.max(zoom[0], low), high) : low;
    const last = zoom ? Math.min(Math.max(zoom[1], low), high) : high;
    const shown = last - first > (high - low) * 1e-4 ? [first, last] : [low, high];
    const plot = plotOf(picture);
    const view = plot.viewBox.baseVal;
    plot.setAttribute("viewBox", `${begin + (shown[0] - low) * scale} ${view.y} ${(shown[1] - shown[0]) * scale} ${view.height}`);
    picture.querySelectorAll("[data-step]").forEach((mark) => {
      const step = Number(mark.dataset.step);
      mark.setAttribute("visibility", step < shown[0] || step > shown[1] ? "hidden" : "visible");
      mark.setAttribute("x", placeOfStep(picture, step) + Number(mark.dataset.shift || 0));
    });
    const ticks = picture.querySelector(".ticks");
    const bottom = Number(ticks.dataset.bottom);
    const rough = (shown[1] - shown[0]) / 6;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const size = Math.max([1, 2, 5, 10].map((factor) => factor * power).find((width) => width >= rough * 0.999), 1);
    const made = [];
    for (let step = Math.ceil(shown[0] / size) * size; step <= shown[1]; step += size) {
      const at = placeOfStep(picture, step);
      const text = svg("text", { x: at, y: bottom + 17, "text-anchor": "middle" });
      text.textContent = spaced(step);
      made.push(svg("line", { x1: at, x2: at, y1: bottom, y2: bottom + 4, class: "axis" }), text);
    }
    ticks.replaceChildren(...made);
    const cursor = picture.querySelector(".cursor");
    if (cursor) cursor.remove();
  }

  // Line charts: the values of all lines at a step.
  function readLines(picture, step) {
    const [low, high, begin, end] = axisOf(picture);
    const [bottom, top, from, to, isLog] = numbers(picture.dataset.y);
    const inner = begin + (step - low) / (high - low) * (end - begin);
    const value = (place) => {
      const share = (place - from) / (to - from);
      if (isLog === 2 && share < 0.001) return 0;
      return isLog ? bottom * Math.pow(top / bottom, share) : bottom + share * (top - bottom);
    };
    const nearest = new Map();
    for (const line of picture.querySelectorAll("polyline.line")) {
      for (const point of line.points) {
        const known = nearest.get(line.dataset.label);
        if (!known || Math.abs(point.x - inner) < Math.abs(known.x - inner)) nearest.set(line.dataset.label, point);
      }
    }
    const parts = [...nearest].map(([label, point]) => `${label} about ${spell(value(point.y))}`);
    return [`step ${spaced(step)}: ${parts.join(", ")}`, `M${placeOfStep(picture, step)} ${to}V${from}`];
  }

  // Heat maps: cells are read back from the picture, whose rows may be in another order than those of the model.
  const cells = new WeakMap();
  async function cellsOf(picture) {
    if (!cells.has(picture)) {
      cells.set(picture, null);
      const image = new Image();
      image.src = picture.querySelector("image").getAttribute("href");
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = image.naturalWidth;
      canvas.height = image.naturalHeight;
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(image, 0, 0);
      const data = context.getImageData(0, 0, canvas.width, canvas.height);
      const order = Array.from({ length: canvas.height }, (_, row) => row);
      cells.set(picture, { canvas, context, data, width: canvas.width, height: canvas.height, order });
    }
    return cells.get(picture);
  }
  const namesOf = (picture) => picture.dataset.rows.split("\n");

  const STRIKING_OCTAVES = 3.9; // a factor of 16, as far as colors tell
  function isStriking(data, at, scale) {
    const words = meaning(data, at, scale);
    if (words === "NaN" || words === "infinite" || words === "exactly zero") return true;
    return words.startsWith("about") && octavesOf(data[at + 3]) >= STRIKING_OCTAVES;
  }
  const octavesOf = (alpha) => {
    const [far, near] = [alpha, 255 - alpha].map((part) => Math.pow(part, 1 / 1.6));
    return 6 * far / (far + near);
  };

  function meaning(data, at, scale) {
    const [red, , blue, alpha] = data.slice(at, at + 4);
    if (alpha > 50 && alpha < 70 && Math.abs(red - blue) < 12) return "not saved";
    const isFull = alpha > 250; // of fainter cells, browsers know the color less exactly
    if (isFull && red > 200 && blue > 120) return "NaN";
    if (isFull && blue > 200) return "infinite";
    if (scale === "share") return "";
    if (red < 40 && blue > 100 && blue < 140 && isFull) return "exactly zero";
    const octaves = octavesOf(alpha);
    if (octaves < 0.4) return "as usual";
    if (scale === "change") return `about ${red > blue ? "+" : "-"}${spell(Number((octaves / 12).toPrecision(2)))}`;
    return `about ${red > blue ? "×" : "÷"}${spell(Number(Math.pow(2, octaves).toPrecision(2)))}`;
  }

  function readCells(picture, found, step, row) {
    const [first, perColumn, left, top, width, height] = numbers(picture.dataset.grid);
    const column = Math.min(Math.max(Math.floor((step - first) / perColumn), 0), found.width - 1);
    const words = meaning(found.data.data, 4 * (found.order[row] * found.width + column), picture.dataset.scale);
    const at = placeOfStep(picture, first + (column + 0.5) * perColumn);
    const text = `step ${spaced(first + column * perColumn)}, ${namesOf(picture)[found.order[row]]}${words ? ": " + words : ""}`;
    return [text, `M${at} ${top}v${height}M${left} ${top + (row + 0.5) / found.height * height}h${width}`];
  }

  function show(picture, [text, path]) {
    const readout = picture.parentElement.querySelector(".readout");
    if (!readout) return;
    readout.textContent = text;
    let line = picture.querySelector(":scope > .cursor");
    if (!line) {
      line = svg("path", { class: "cursor" });
      picture.append(line);
    }
    line.setAttribute("d", path);
  }

  // By title, because a live page draws its charts anew.
  const cursors = new Map();
  const titleOf = (picture) => picture.querySelector("title").textContent;
  async function moveCursor(picture, step, row) {
    const [low, high] = windowOf(picture);
    const at = Math.min(Math.max(step, low), high);
    if (!picture.dataset.grid) {
      cursors.set(titleOf(picture), { step: at, row: 0 });
      return show(picture, readLines(picture, at));
    }
    const found = await cellsOf(picture);
    if (!found) return;
    const place = Math.min(Math.max(row, 0), found.height - 1);
    cursors.set(titleOf(picture), { step: at, row: place });
    show(picture, readCells(picture, found, at, place));
  }

  // The next place that strikes: a cell that is NaN, infinite, zero or far from usual, or a marked step of a line chart.
  async function moveToFinding(picture, direction) {
    const [first] = windowOf(picture);
    const cursor = cursors.get(titleOf(picture));
    if (!picture.dataset.grid) {
      const steps = [...picture.querySelectorAll("text[data-step]")].map((mark) => Number(mark.dataset.step));
      const beyond = steps.filter((step) => !cursor || direction * (step - cursor.step) > 0);
      if (beyond.length) moveCursor(picture, direction * Math.min(...beyond.map((step) => direction * step)), 0);
      return;
    }
    const found = await cellsOf(picture);
    if (!found) return;
    const [start, perColumn] = numbers(picture.dataset.grid);
    const { width, height } = found;
    const at = cursor || { step: first, row: -1 };
    const column = Math.floor((at.step - start) / perColumn);
    // Cells are counted column by column, so that one step is looked at after the other.
    for (let place = column * height + at.row + direction; place >= 0 && place < width * height; place += direction) {
      const row = place % height;
      const there = Math.floor(place / height);
      if (isStriking(found.data.data, 4 * (found.order[row] * width + there), picture.dataset.scale)) {
        return moveCursor(picture, start + there * perColumn, row);
      }
    }
  }

  const chartOf = (event) => event.target.closest && event.target.closest("svg.chart[data-x]");
  function placeOf(picture, event) {
    const box = picture.getBoundingClientRect();
    const view = picture.viewBox.baseVal;
    return [(event.clientX - box.left) / box.width * view.width, (event.clientY - box.top) / box.height * view.height];
  }
  function isInside(picture, x) {
    const [, , begin, end] = axisOf(picture);
    return x >= begin && x <= end;
  }

  let drag = null;
  let waiting = false;
  document.addEventListener("pointermove", (event) => {
    const picture = drag ? drag.picture : chartOf(event);
    if (!picture || waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const [x, y] = placeOf(picture, event);
      if (drag) {
        const view = plotOf(picture);
        const width = Math.abs(x - drag.x);
        drag.box.setAttribute("x", Math.min(x, drag.x));
        drag.box.setAttribute("width", width);
        drag.box.setAttribute("y", view.getAttribute("y"));
        drag.box.setAttribute("height", view.getAttribute("height"));
      } else if (isInside(picture, x)) {
        const grid = picture.dataset.grid && numbers(picture.dataset.grid);
        const row = grid ? Math.floor((y - grid[3]) / grid[5] * namesOf(picture).length) : 0;
        if (!grid || y >= grid[3] && y < grid[3] + grid[5]) moveCursor(picture, stepAt(picture, x), row);
      }
    });
  });
  document.addEventListener("pointerdown", (event) => {
    const picture = chartOf(event);
    if (!picture || event.button !== 0) return;
    const [x] = placeOf(picture, event);
    if (!isInside(picture, x)) return;
    drag = { picture, x, box: svg("rect", { class: "chosen", width: 0, height: 0 }) };
    picture.append(drag.box);
  });
  document.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const { picture, x, box } = drag;
    drag = null;
    box.remove();
    const [end] = placeOf(picture, event);
    if (Math.abs(end - x) < 6) return;
    zoomTo([stepAt(picture, Math.min(x, end)), stepAt(picture, Math.max(x, end))]);
  });
  document.addEventListener("dblclick", (event) => { if (chartOf(event)) zoomTo(null); });

  // Keyboard: arrows move the cursor, brackets move it to the next finding, plus and minus zoom around it, Escape shows
  // all steps.
  document.addEventListener("keydown", (event) => {
    const picture = event.target.matches && event.target.matches("svg.chart[data-x]") ? event.target : null;
    if (!picture || event.ctrlKey || event.metaKey || event.altKey) return;
    const [first, last] = windowOf(picture);
    const column = picture.dataset.grid ? numbers(picture.dataset.grid)[1] : (last - first) / 100;
    const at = cursors.get(titleOf(picture)) || { step: first, row: 0 };
    const far = event.shiftKey ? 10 : 1;
    const moves = {
      ArrowLeft: [-column * far, 0], ArrowRight: [column * far, 0], ArrowUp: [0, -far], ArrowDown: [0, far],
      Home: [first - at.step, 0], End: [last - at.step, 0],
    };
    if (moves[event.key]) {
      moveCursor(picture, at.step + moves[event.key][0], at.row + moves[event.key][1]);
    } else if (event.key === "[" || event.key === "]") {
      moveToFinding(picture, event.key === "]" ? 1 : -1);
    } else if (event.key === "+" || event.key === "-") {
      const width = (last - first) * (event.key === "+" ? 0.5 : 2);
      zoomTo([at.step - width / 2, at.step + width / 2]);
    } else if (event.key === "Escape") {
      zoomTo(null);
    } else {
      return;
    }
    event.preventDefault();
  });

  // Rows of heat maps in another order.
  const chosen = new Map();
  const ORDERS = { model: "rows in their order", change: "farthest from usual first", name: "rows by name" };
  async function sortRows(picture, by) {
    const found = await cellsOf(picture);
    if (!found) return;
    const { data, width, height } = found.data;
    const [first, last] = windowOf(picture);
    const [begin, perColumn] = numbers(picture.dataset.grid);
    const from = Math.max(Math.floor((first - begin) / perColumn), 0);
    const to = Math.min(Math.ceil((last - begin) / perColumn), width);
    const strength = (row) => {
      let most = -1;
      for (let column = from; column < to; column++) {
        const at = 4 * (row * width + column);
        const words = meaning(data, at, picture.dataset.scale);
        const value = words === "NaN" ? 2e6 : words === "infinite" ? 1e6 : words === "not saved" ? -1
          : picture.dataset.scale === "share" ? data[at] + data[at + 1] : words === "exactly zero" ? 300 : data[at + 3];
        if (value > most) most = value;
      }
      return most;
    };
    const names = namesOf(picture);
    const rows = names.map((_, row) => row);
    if (by === "name") rows.sort((one, other) => names[one].localeCompare(names[other], "en", { numeric: true }));
    if (by === "change") {
      const strengths = rows.map(strength);
      rows.sort((one, other) => strengths[other] - strengths[one] || one - other);
    }
    const sorted = found.context.createImageData(width, height);
    rows.forEach((row, place) => sorted.data.set(data.subarray(4 * row * width, 4 * (row + 1) * width), 4 * place * width));
    found.context.putImageData(sorted, 0, 0);
    picture.querySelector("image").setAttribute("href", found.canvas.toDataURL());
    found.order = rows;
    const [, , , top, , tall] = numbers(picture.dataset.grid);
    const most = 30;
    const cut = (name) => name.length <= most ? name : `${name.slice(0, 11)}…${name.slice(-18)}`;
    picture.querySelectorAll(".row").forEach((label) => {
      const name = names[rows[Number(label.dataset.row)]];
      const title = svg("title", {});
      title.textContent = name;
      label.replaceChildren(title, cut(name));
    });
    picture.querySelectorAll(".note[data-row]").forEach((note) => {
      note.setAttribute("y", top + (rows.indexOf(Number(note.dataset.row)) + 0.5) * tall / names.length + 4);
    });
  }
  function addOrders(picture) {
    const legend = picture.parentElement.querySelector(".legend");
    if (!legend || namesOf(picture).length < 3) return;
    const select = document.createElement("select");
    select.setAttribute("aria-label", "order of the rows");
    for (const [value, text] of Object.entries(ORDERS)) select.append(new Option(text, value));
    const title = titleOf(picture);
    select.addEventListener("change", () => {
      chosen.set(title, select.value);
      sortRows(picture, select.value);
    });
    if (chosen.has(title)) {  // a live page has drawn the picture anew
      select.value = chosen.get(title);
      sortRows(picture, select.value);
    }
    const item = document.createElement("li");
    item.append(select);
    legend.append(item);
  }

  // Search for a curve by its name: the file holds the names, a live page asks for them.
  const MOST_FOUND = 30;
  function addSearch(place) {
    const input = document.createElement("input");
    const list = document.createElement("ul");
    const count = document.createElement("p");
    input.type = "search";
    input.placeholder = `search ${spaced(place.dataset.total)} names`;
    input.setAttribute("aria-label", "search curves by name");
    count.setAttribute("role", "status");
    let names = null;
    const find = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = words.length ? names.filter(([low]) => words.every((word) => low.includes(word))) : [];
      list.replaceChildren(...found.slice(0, MOST_FOUND).map(([, name]) => {
        const line = document.createElement("li");
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name;
        button.addEventListener("click", () => choose(name, count));
        line.append(button);
        return line;
      }));
      count.textContent = !words.length ? "" : found.length > MOST_FOUND
        ? `${spaced(found.length)} names, the first ${MOST_FOUND} of them` : `${found.length} name${found.length === 1 ? "" : "s"}`;
    };
    input.addEventListener("input", () => {
      const take = (given) => { names = given.map((name) => [name.toLowerCase(), name]); find(); };
      if (names) find();
      else if (place.dataset.names !== undefined) take(place.dataset.names.split("\n"));
      else dispatchEvent(new CustomEvent("names", { detail: take }));
    });
    place.append(input, count, list);
  }
  function choose(name, count) {
    const there = [...document.querySelectorAll("[data-curve]")].find((chart) => chart.dataset.curve === name);
    if (!document.getElementById("pulse")) {
      if (there) there.scrollIntoView({ block: "center" });
      else count.textContent = `${name} is not drawn in this file: sagemaker-debug watch draws any`;
    } else {
      dispatchEvent(new CustomEvent("choose", { detail: name }));
    }
  }

  // Tables by the column whose heading is chosen.
  function sortTable(head) {
    const table = head.closest("table");
    const place = [...head.parentElement.children].indexOf(head);
    const isDown = head.getAttribute("aria-sort") === "ascending";
    const text = (row) => row.children[place].textContent.replace(/\u2009/g, "");
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => {
      const [first, second] = [text(one), text(other)];
      const difference = parseFloat(first) - parseFloat(second);
      const order = Number.isNaN(difference) ? first.localeCompare(second, "en", { numeric: true }) : difference;
      return isDown ? -order : order;
    });
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  }
  document.addEventListener("click", (event) => {
    const head = event.target.closest && event.target.closest("th.sorts");
    if (head) sortTable(head);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches && event.target.matches("th.sorts")) sortTable(event.target);
  });

  // What is on the page now, or has just come to it.
  function equip() {
    document.querySelectorAll("svg.chart[data-x]:not([tabindex])").forEach((picture) => {
      picture.setAttribute("tabindex", "0");
      if (picture.dataset.grid) addOrders(picture);
      if (zoom) applyZoom(picture);
    });
    document.querySelectorAll(".search:empty").forEach(addSearch);
    document.querySelectorAll("table:not(.confusion) > thead th:not(.sorts)").forEach((head) => {
      if (!head.textContent || head.closest("table").tBodies[0].rows.length < 2) return;
      head.classList.add("sorts");
      head.setAttribute("tabindex", "0");
    });
  }
  addEventListener("content", equip);
  equip();
  reveal();
})();
