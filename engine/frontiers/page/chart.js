"use strict";
// The page of a frontier. All texts of the job and the data reach the page by textContent, or escaped where plotly
// reads its labels as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.getElementById("chart");
  const slider = document.getElementById("slider");
  const [RISK, LOSS, NORMALIZED_RISK, NORMALIZED_LOSS, TREATMENTS] = [0, 1, 2, 3, 4];
  const frontier = (data.series.find((series) => series.kind === "frontier") || { entries: [] }).entries;
  const harbor = data.series.find((series) => series.kind === "safe-harbor");
  // A policy has one number everywhere: its place on the frontier.
  const numbers = new Map(frontier.map((entry, place) => [entry, place + 1]));
  const same = new Map(data.numbers);
  const current = data.series.find((series) => series.kind === "current");
  const beaten = new Map(data.beaten);
  const whys = new Map(data.shortlist.map((chosen) => [chosen.entry, chosen.why]));
  const homes = new Map(data.series.flatMap((series) => series.entries.map((entry, place) => [entry, { series, place }])));
  let selected = null;

  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const plain = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  const whole = (count) => count.toLocaleString("en");
  const percent = (value) => `${plain(100 * value)}%`;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function element(kind, text, attributes = {}) {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  function treatments(entry) {
    const places = data.entries[entry][TREATMENTS];
    return places ? data.attributes.map((attribute, i) => [attribute, attribute.treatments[places[i]]]) : [];
  }

  function heading(entry) {
    const { series, place } = homes.get(entry);
    if (series.kind === "frontier") {
      const used = current && same.get(current.entries[0]) === place + 1 ? ", the policy in use" : "";
      return `Policy ${whole(place + 1)} of ${whole(frontier.length)} on the frontier${used}`;
    }
    const own = series.entries.length > 1 ? `${series.label}, ${place + 1} of ${series.entries.length}` : series.label;
    return same.has(entry) ? `${own}: policy ${whole(same.get(entry))} of the frontier` : own;
  }

  function hover(entry) {
    const figures = data.entries[entry];
    const lines = treatments(entry).map(([attribute, found]) => `${escaped(attribute.name)}: ${escaped(found.words)}`);
    const head = [`<b>${escaped(heading(entry))}</b>`, `Risk ${percent(figures[RISK])}, utility loss ${plain(figures[LOSS])}`];
    if (beaten.has(entry)) head.push(escaped(beaten.get(entry)));
    const { note } = homes.get(entry).series;
    if (note) head.push(`${escaped(note)}:`);
    return [...head, ...lines].join("<br>");
  }

  function comparison(value, other, name) {
    if (value === other) return `the same ${name}`;
    if (other === 0) return null;
    if (Math.abs(1 - value / other) < 0.005) return `about the same ${name}`;
    if (value > 2 * other) return `${plain(value / other)} times the ${name}`;
    return `${percent(Math.abs(1 - value / other))} ${value < other ? "less" : "more"} ${name}`;
  }

  function against(entry) {
    if (!harbor || entry === harbor.entries[0]) return null;
    const own = data.entries[entry];
    const other = data.entries[harbor.entries[0]];
    const parts = [
      comparison(own[RISK], other[RISK], "risk"),
      comparison(own[LOSS], other[LOSS], "utility loss"),
    ].filter(Boolean);
    return parts.length ? `Against Safe Harbor: ${parts.join(", ")}.` : null;
  }

  function figure(value, name, normalized, extreme) {
    const made = element("div");
    made.append(element("strong", value), element("span", `${name}; ${percent(normalized)} of that of ${extreme}`));
    return made;
  }

  function fillPanel(entry) {
    const row = data.entries[entry];
    document.getElementById("panel-title").textContent = heading(entry);
    const figures = element("div", undefined, { class: "figures" });
    figures.append(
      figure(percent(row[RISK]), "risk", row[NORMALIZED_RISK], "the data as they are"),
      figure(plain(row[LOSS]), "utility loss", row[NORMALIZED_LOSS], "keeping nothing"),
    );
    const parts = [figures];
    if (whys.has(entry)) parts.push(element("p", whys.get(entry), { class: "why" }));
    const comparisonText = against(entry);
    if (comparisonText) parts.push(element("p", comparisonText, { class: "against" }));
    if (beaten.has(entry)) parts.push(element("p", beaten.get(entry), { class: "against" }));
    const { note } = homes.get(entry).series;
    if (note) parts.push(element("p", `${note}:`, { class: "against" }));
    for (const [attribute, found] of treatments(entry)) {
      const list = element("ul", undefined, { class: "groups", tabindex: "0", "aria-label": `Groups of ${attribute.name}` });
      list.append(...found.groups.map((group) => element("li", attribute.groups[group])));
      parts.push(element("h3", attribute.name), element("p", found.words, { class: "words" }), list);
    }
    document.getElementById("panel-body").replaceChildren(...parts);
    document.getElementById("panel").scrollTop = 0;
  }

  function select(entry) {
    selected = entry;
    fillPanel(entry);
    const { series, place } = homes.get(entry);
    if (series.kind === "frontier") slider.value = String(place);
    slider.setAttribute("aria-valuetext", `${heading(entry)}, risk ${percent(data.entries[entry][RISK])}`);
    for (const row of document.querySelectorAll("#shortlist tbody tr")) {
      row.classList.toggle("selected", Number(row.dataset.entry) === entry);
    }
    const [x, y] = data.entries[entry];
    Plotly.restyle(chart, { x: [[x]], y: [[y]] }, [chart.data.length - 1]);
  }

  const SYMBOLS = { "k-anonymity": "square-open", "safe-harbor": "diamond", current: "x" };

  function trace(series, lines) {
    const line = series.kind === "frontier" || series.kind === "k-anonymity";
    const own = line ? colour(series.kind === "frontier" ? "frontier" : `series-${(lines - 1) % 4 + 1}`) : colour(series.kind);
    const dense = series.entries.length > 300;
    return points(series.entries, {
      name: escaped(series.label),
      mode: line ? "lines+markers" : "markers",
      line: { shape: "hv", width: 1.5, color: own, dash: series.kind === "frontier" ? "solid" : "dot" },
      marker: {
        symbol: SYMBOLS[series.kind] || "circle", color: own,
        size: series.kind === "frontier" ? (dense ? 4 : 7) : line ? 8 : 14,
        line: { width: line ? 1.5 : 1, color: line ? own : colour("paper") },
      },
    });
  }

  function points(entries, settings) {
    return {
      type: "scatter", customdata: entries, text: entries.map(hover), hovertemplate: "%{text}<extra></extra>",
      x: entries.map((entry) => data.entries[entry][RISK]), y: entries.map((entry) => data.entries[entry][LOSS]),
      ...settings,
    };
  }

  function traces() {
    let lines = 0;
    const found = data.series.map((series) => trace(series, series.kind === "k-anonymity" ? ++lines : 0));
    const chosen = data.shortlist.map((one) => one.entry);
    if (chosen.length) {
      const labels = points(chosen, {
        name: "Worth a look", mode: "markers",
        marker: { size: 10, color: colour("badge"), line: { width: 1, color: colour("paper") } },
      });
      found.push(labels);
    }
    const row = selected === null ? null : data.entries[selected];
    found.push({
      type: "scatter", mode: "markers", hoverinfo: "skip", showlegend: false, x: row ? [row[RISK]] : [], y: row ? [row[LOSS]] : [],
      marker: { symbol: "circle-open", size: 22, color: colour("accent"), line: { width: 3 } },
    });
    return found;
  }

  function betterThanSafeHarbor() {
    if (!harbor) return [];
    const [risk, loss] = data.entries[harbor.entries[0]];
    const least = Math.min(...data.entries.map((entry) => entry[RISK]));
    return [{
      type: "rect", layer: "below", line: { width: 0 }, fillcolor: colour("better"), y0: 0, y1: loss,
      x0: data.logarithmic ? least / 1e3 : 0, x1: risk,
    }];
  }

  // The numbers are next to their policies, farther away if another number or the edge is in the way.
  function badges(xRange, yRange) {
    const [width, height] = [(chart.clientWidth - 80) / (xRange[1] - xRange[0]), 400 / (yRange[1] - yRange[0])];
    const taken = [];
    const beside = (left, up, half) => {
      for (let away = 20; away < 600; away += 8) {
        for (const [right, down] of [[away, -away], [-away, away], [-away, -away], [away, away]]) {
          const [u, v] = [left + right, up - down];
          const inside = u > half && u + half < chart.clientWidth - 80 && v > 12 && v < 388;
          if (inside && taken.every(([x, y, own]) => Math.abs(u - x) >= half + own || Math.abs(v - y) >= 24)) return [right, down];
        }
      }
      return [20, -20];
    };
    return data.shortlist.map(({ entry }) => {
      const [risk, loss] = data.entries[entry];
      const x = data.logarithmic ? Math.log10(risk) : risk;
      const [left, up] = [(x - xRange[0]) * width, (loss - yRange[0]) * height];
      const text = whole(numbers.get(entry));
      const half = Math.max(12, 4 * text.length + 4);
      const [right, down] = beside(left, up, half);
      taken.push([left + right, up - down, half]);
      return {
        x, y: loss, ax: right, ay: down, text: `<b>${text}</b>`, showarrow: true, arrowhead: 0, arrowwidth: 1,
        arrowcolor: colour("badge"), bgcolor: colour("badge"), borderpad: 3, width: 2 * half - 10, font: { color: colour("badge-ink"), size: 12 },
        captureevents: true, entry,
      };
    });
  }

  function betterLabel(xRange) {
    if (!harbor) return [];
    const [risk, loss] = data.entries[harbor.entries[0]];
    return [{
      x: xRange[0] + 0.01 * (xRange[1] - xRange[0]), y: 0, yanchor: "bottom", xanchor: "left", showarrow: false,
      visible: risk > 0 && loss > 0, text: "better than Safe Harbor in both", font: { color: colour("faint"), size: 12 },
    }];
  }

  function riskAxis(common) {
    const risks = data.entries.map((entry) => entry[RISK]);
    const [least, most] = [Math.min(...risks), Math.max(...risks)];
    if (!data.logarithmic) return { ...common, title: { text: escaped(data.risk) }, tickformat: "~%", range: [0, most * 1.06] };
    const decades = Math.log10(most / least);
    const values = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power += 1) {
      for (const factor of decades > 4 ? [1] : [1, 2, 5]) values.push(factor * 10 ** power);
    }
    return {
      ...common, type: "log", title: { text: escaped(data.risk) }, tickvals: values, ticktext: values.map(percent),
      range: [Math.log10(least / 1.3), Math.log10(most * 1.3)],
    };
  }

  function layout() {
    const common = { gridcolor: colour("grid"), linecolor: colour("faint"), ticklabeloverflow: "allow", zeroline: false, showline: true, ticks: "outside" };
    const ink = colour("ink");
    const most = Math.max(...data.entries.map((entry) => entry[LOSS]));
    const xaxis = riskAxis(common);
    const yaxis = { ...common, title: { text: escaped(data.loss) }, range: [-0.02 * most, most * 1.06 || 1] };
    return {
      xaxis, yaxis, annotations: [...betterLabel(xaxis.range), ...badges(xaxis.range, yaxis.range)],
      paper_bgcolor: colour("paper"), plot_bgcolor: colour("paper"), font: { color: ink, family: "inherit", size: 13 },
      margin: { l: 66, r: 26, t: 44, b: 54 }, hovermode: "closest", shapes: betterThanSafeHarbor(), dragmode: "zoom",
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
      hoverlabel: { align: "left", bgcolor: colour("card"), bordercolor: colour("faint"), font: { color: ink, size: 13 } },
    };
  }

  // The buttons are listed one by one: plotly's own set has one that sends the chart to a server of its maker.
  const settings = {
    responsive: true, displaylogo: false, plotlyServerURL: "", showSendToCloud: false, showEditInChartStudio: false,
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  function summaryCells(entry) {
    return treatments(entry).map(([attribute, found]) => element("li", `${attribute.name}: ${found.words}`));
  }

  function fillShortlist() {
    const body = document.querySelector("#shortlist tbody");
    for (const chosen of data.shortlist) {
      const row = element("tr", undefined, { "data-entry": chosen.entry });
      const number = numbers.get(chosen.entry);
      const button = element("button", whole(number), { class: "number", type: "button", "aria-label": `Show policy ${whole(number)}` });
      button.addEventListener("click", () => select(chosen.entry));
      const cells = [0, 1, 2, 3, 4].map(() => element("td"));
      cells[0].append(button);
      cells[1].append(percent(data.entries[chosen.entry][RISK]));
      cells[2].append(plain(data.entries[chosen.entry][LOSS]));
      cells[1].className = cells[2].className = "figure";
      cells[3].append(chosen.why);
      const list = element("ul");
      list.append(...summaryCells(chosen.entry));
      cells[4].append(list);
      row.append(...cells);
      body.append(row);
    }
  }

  function fillTable() {
    const table = document.getElementById("everything");
    if (table.tBodies[0].rows.length) return;
    const heads = ["Policy", "Risk", "Utility loss", ...data.attributes.map((attribute) => attribute.name)];
    table.tHead.rows[0].append(...heads.map((text) => element("th", text, { scope: "col" })));
    for (const entry of data.entries.keys()) {
      const row = element("tr");
      const button = element("button", heading(entry), { class: "link", type: "button" });
      button.addEventListener("click", () => select(entry));
      const first = element("td");
      first.append(button);
      const figures = [percent(data.entries[entry][RISK]), plain(data.entries[entry][LOSS])];
      row.append(first, ...figures.map((text) => element("td", text, { class: "figure" })));
      row.append(...treatments(entry).map(([, found]) => element("td", found.words)));
      table.tBodies[0].append(row);
    }
  }

  function draw() {
    return Plotly.react(chart, traces(), layout(), settings);
  }

  fillShortlist();
  slider.max = String(Math.max(0, frontier.length - 1));
  slider.addEventListener("input", () => select(frontier[Number(slider.value)]));
  document.getElementById("all").addEventListener("toggle", fillTable);
  draw().then(() => {
    chart.on("plotly_click", (event) => {
      const entry = event.points[0].customdata;
      if (entry !== undefined) select(entry);
    });
    chart.on("plotly_clickannotation", (event) => select(event.annotation.entry));
    const middle = data.shortlist[Math.floor(data.shortlist.length / 2)];
    const first = middle ? middle.entry : frontier[0];
    if (first !== undefined) select(first);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    document.documentElement.dataset.ready = "true";
  });
})();
