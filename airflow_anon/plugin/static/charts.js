// Draws each chart from the data in its element; the colours come from the style sheet.
(() => {
  "use strict";
  const root = document.documentElement;
  const library = document.currentScript.dataset.library;
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon"];

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const palette = () => [1, 2, 3, 4, 5, 6, 7].map((number) => colour(`series-${number}`));

  // plotly.js takes a part of HTML in texts of its charts: what comes from a job or the data must stay text.
  const text = (value) => String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  const AXIS_FORMS = { percent: ".3~p", number: "~s" };
  const HOVER_FORMS = { percent: ".3~p", number: ",.4~f" };

  function traces(chart) {
    const form = HOVER_FORMS[chart.form] ?? "";
    return chart.series.map((series, index) => {
      const colours = palette();
      const common = { name: text(series.name), x: series.x, y: series.y };
      if (chart.kind === "bars") {
        const labels = series.x.map(text);
        const named = chart.series.length > 1 ? `${text(series.name)}, ` : "";
        const placed = chart.lying
          ? { x: series.y, y: labels, orientation: "h", hovertemplate: `${named}%{y}: %{x:${form}}<extra></extra>` }
          : { x: labels, hovertemplate: `${named}%{x}: %{y:${form}}<extra></extra>` };
        return { ...common, ...placed, type: "bar", marker: { color: colours[index % colours.length] } };
      }
      if (chart.kind === "lines") {
        return {
          ...common, type: "scatter", mode: "lines+markers", connectgaps: false,
          line: { color: colours[index % colours.length], width: 2, shape: chart.steps ? "hv" : "linear" },
          marker: { color: colours[index % colours.length], symbol: SYMBOLS[index % SYMBOLS.length], size: 5 },
          hovertemplate: `${chart.series.length > 1 ? `${text(series.name)}, ` : ""}%{x|%Y-%m-%d %H:%M}: %{y:${form}}<extra></extra>`,
        };
      }
      const single = !series.line;
      return {
        ...common, type: "scatter", mode: single ? "markers" : "lines+markers",
        line: { color: colours[index % colours.length], width: 1.5, shape: "hv" },
        marker: {
          color: colours[index % colours.length], symbol: SYMBOLS[index % SYMBOLS.length], size: single ? 12 : 6,
          line: { width: single ? 1.5 : 0, color: colour("paper") },
        },
        hovertemplate: `${text(series.name)}<br>Risk %{x:.3~p}, utility loss %{y:.4~f}<extra></extra>`,
      };
    });
  }

  // Attempts that were refused have no figure: they stand on the axis.
  function refusals(chart) {
    if (!chart.refused?.length) return [];
    return [{
      name: "Refused", x: chart.refused, y: chart.refused.map(() => 0), type: "scatter", mode: "markers", cliponaxis: false,
      marker: { color: colour("series-5"), symbol: "x", size: 8 }, hovertemplate: "%{x|%Y-%m-%d %H:%M}: refused<extra></extra>",
    }];
  }

  function limits(chart) {
    const found = chart.limits ?? [];
    const upright = chart.kind === "bars";
    const line = { color: colour("faint"), width: 1, dash: "dash" };
    return {
      shapes: found.map(({ at }) => (upright
        ? { type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", line }
        : { type: "line", x0: 0, x1: 1, xref: "paper", y0: at, y1: at, line })),
      annotations: found.map(({ at, name }) => ({
        text: text(name), showarrow: false, font: { color: colour("ink"), size: 11 },
        ...(upright
          ? { x: at, y: 1, yref: "paper", yanchor: "bottom" }
          : { x: 1, xref: "paper", xanchor: "right", y: at, yanchor: "bottom" }),
      })),
    };
  }

  function axis(title, more) {
    return {
      title: { text: text(title), standoff: 12 }, automargin: true, gridcolor: colour("rule"), linecolor: colour("rule"),
      zerolinecolor: colour("rule"), color: colour("faint"), fixedrange: true, ...more,
    };
  }

  function axes(chart) {
    const percent = { tickformat: ".3~p" };
    if (chart.kind === "frontier") {
      const risks = chart.logarithmic ? { type: "log" } : { rangemode: "tozero" };
      return [axis(chart.x_title, { ...percent, ...risks }), axis(chart.y_title, { tickformat: ".3~f", rangemode: "tozero" })];
    }
    const scale = chart.ends ? { range: chart.ends } : { rangemode: "tozero" };
    const figures = { tickformat: AXIS_FORMS[chart.form] ?? "", ...scale, ...(chart.steps ? { dtick: 1 } : {}) };
    if (chart.kind === "lines") return [axis("", { type: "date" }), axis("", figures)];
    const labels = { type: "category", showgrid: false };
    return chart.lying
      ? [axis(chart.y_title, figures), axis("", { ...labels, autorange: "reversed" })]
      : [axis(chart.x_title, labels), axis(chart.y_title, figures)];
  }

  function layout(chart) {
    const [xaxis, yaxis] = axes(chart);
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 56, r: 16, t: 18, b: 44 },
      font: { family: "system-ui, sans-serif", size: 12, color: colour("ink") },
      showlegend: chart.kind === "frontier" || chart.series.length > 1,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", font: { color: colour("ink") } },
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("rule"), font: { color: colour("ink") } },
      xaxis, yaxis, ...limits(chart),
    };
  }

  async function draw(element) {
    const chart = JSON.parse(element.dataset.chart);
    element.replaceChildren();
    await window.Plotly.newPlot(element, [...traces(chart), ...refusals(chart)], layout(chart), { displayModeBar: false, responsive: true });
    element.dataset.drawn = "yes";
  }

  const nextTurn = () => new Promise((resolve) => { setTimeout(resolve); });

  function loaded() {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.addEventListener("load", resolve);
      script.addEventListener("error", reject);
      script.src = library;
      document.head.append(script);
    });
  }

  async function drawAll() {
    for (const element of document.querySelectorAll("[data-chart]")) {
      await nextTurn();
      await draw(element);
    }
    root.dataset.ready = "yes";
  }

  // The page is there to be read before its charts are: the library is large, and each chart is drawn in a turn of its own.
  async function start() {
    if (document.querySelector("[data-chart]")) await loaded();
    await drawAll();
    root.addEventListener("themechange", drawAll);
  }

  window.addEventListener("load", start);
})();
