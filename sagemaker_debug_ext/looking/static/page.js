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
  reveal();
  addEventListener("beforeprint", () => document.querySelectorAll(".finding details").forEach((part) => { part.open = true; }));

  const numbers = (text) => text.split(" ").map(Number);
  const spell = (value) => !Number.isFinite(value) ? String(value)
    : value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5) ? value.toExponential(2) : String(Number(value.toPrecision(3)));

  function cursorOf(picture) {
    let line = picture.querySelector(".cursor");
    if (!line) {
      line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("class", "cursor");
      picture.append(line);
    }
    return line;
  }

  function placeOf(picture, event) {
    const box = picture.getBoundingClientRect();
    const view = picture.viewBox.baseVal;
    return [(event.clientX - box.left) / box.width * view.width, (event.clientY - box.top) / box.height * view.height];
  }

  // Line charts: the values of all lines at the step under the pointer.
  function readLines(picture, readout, at) {
    const [low, high, begin, end] = numbers(picture.dataset.x);
    const [bottom, top, from, to, isLog] = numbers(picture.dataset.y);
    const step = low + (at - begin) / (end - begin) * (high - low);
    const value = (place) => {
      const share = (place - from) / (to - from);
      return isLog ? bottom * Math.pow(top / bottom, share) : bottom + share * (top - bottom);
    };
    const nearest = new Map();
    for (const line of picture.querySelectorAll("polyline.line")) {
      for (const point of line.points) {
        const known = nearest.get(line.dataset.label);
        if (!known || Math.abs(point.x - at) < Math.abs(known.x - at)) nearest.set(line.dataset.label, point);
      }
    }
    const parts = [...nearest].map(([label, point]) => `${label} about ${spell(value(point.y))}`);
    readout.textContent = `step ${Math.round(step)}: ${parts.join(", ")}`;
    cursorOf(picture).setAttribute("d", `M${at} ${to}V${from}`);
  }

  // Heat maps: the row, the step and the change under the pointer; cells are read back from the picture.
  const cells = new WeakMap();
  function cellsOf(picture) {
    if (!cells.has(picture)) {
      cells.set(picture, null);
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = image.naturalWidth;
        canvas.height = image.naturalHeight;
        const context = canvas.getContext("2d", { willReadFrequently: true });
        context.drawImage(image, 0, 0);
        cells.set(picture, { width: canvas.width, height: canvas.height, data: context.getImageData(0, 0, canvas.width, canvas.height).data });
      };
      image.src = picture.querySelector("image").getAttribute("href");
    }
    return cells.get(picture);
  }

  function meaning(data, at, scale) {
    const [red, , blue, alpha] = data.slice(at, at + 4);
    if (alpha > 50 && alpha < 70 && Math.abs(red - blue) < 12) return "not saved";
    if (red > 200 && blue > 120) return "NaN or infinite";
    if (scale === "share") return "";
    if (red < 40 && blue > 100 && blue < 140 && alpha > 250) return "exactly zero";
    const octaves = 6 * Math.pow(alpha / 255, 1 / 0.7);
    const factor = spell(Number(Math.pow(2, octaves).toPrecision(2)));
    return octaves < 0.2 ? "as usual" : `about ${red > blue ? "×" : "÷"}${factor}`;
  }

  function readCells(picture, readout, x, y) {
    const [first, perColumn, left, top, width, height] = numbers(picture.dataset.grid);
    const found = cellsOf(picture);
    if (!found || x < left || x >= left + width || y < top || y >= top + height) return;
    const column = Math.floor((x - left) / width * found.width);
    const row = Math.floor((y - top) / height * found.height);
    const labels = [...picture.querySelectorAll('text[text-anchor="end"]')].filter((label) => label.querySelector("title"));
    const label = labels[Math.min(Math.floor(row / Math.ceil(found.height / labels.length)), labels.length - 1)];
    const name = label ? label.querySelector("title").textContent : "";
    const words = meaning(found.data, 4 * (row * found.width + column), picture.dataset.scale);
    readout.textContent = `step ${Math.round(first + column * perColumn)}, ${name}${words ? ": " + words : ""}`;
    cursorOf(picture).setAttribute("d", `M${left + (column + 0.5) / found.width * width} ${top}v${height}M${left} ${top + (row + 0.5) / found.height * height}h${width}`);
  }

  document.querySelectorAll("svg.chart").forEach((picture) => {
    const readout = picture.parentElement.querySelector(".readout");
    if (!readout) return;
    let waiting = false;
    picture.addEventListener("pointermove", (event) => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        const [x, y] = placeOf(picture, event);
        if (picture.dataset.grid) readCells(picture, readout, x, y);
        else if (picture.dataset.x) readLines(picture, readout, x);
      });
    });
    if (picture.dataset.grid) picture.addEventListener("pointerenter", () => cellsOf(picture), { once: true });
  });
})();
