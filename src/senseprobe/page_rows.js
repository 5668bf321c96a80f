// The browser of rows: searches, filters and sorts rows that stand as JSON on this page. All that it shows is text.
//
// Texts are numbers of `strings`; of a row its `sides`, `firstMarks` and `secondMarks` are numbers of `sides` and `marks`.
// A result has the numbers of its `rows` in a set, and a list for each of its `columns`, as long as `rows`.
function browse(root) {
  "use strict";
  const data = JSON.parse(root.querySelector('[type="application/json"]').textContent);
  const part = (name) => root.querySelector(`[name="${name}"]`);
  const list = root.querySelector(".row-list"), status = root.querySelector(".row-status");
  const filters = ["config", "group", "word", "frame", "label"];
  const PAGE = 50, UNKNOWN = -1, LONGEST = 60;
  let result, rows, matches = [], start = 0, timer;

  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const shortened = (text) => (Array.from(text).length > LONGEST ? `${Array.from(text).slice(0, LONGEST).join("")}…` : text);
  const counted = (number) => number.toLocaleString("en");
  const format = (number) =>
    number === null ? "none" : (number !== 0 && Math.abs(number) < 0.001 ? number.toExponential(2) : number.toFixed(3)).replace("-", "−");

  // The values of a filter that a row has, as numbers of strings.
  const valuesOf = (name, row) => (name === "word" ? rows.words[row] : [rows[name][row]]);

  function fill(select, options, value) {
    select.replaceChildren(...options.map(([key, text]) => {
      const option = element("option", "", text);
      option.value = key;
      return option;
    }));
    select.value = options.some(([key]) => key === value) ? value : options[0][0];
  }

  // Offer the values that rows of this result have, within the chosen config; what offers no choice is hidden.
  function offer(names) {
    for (const name of names) {
      const config = name === "config" ? "" : part("config").value, first = new Map();
      for (const row of result.rows) {
        if (config && String(rows.config[row]) !== config) continue;
        for (const value of valuesOf(name, row)) if (data.strings[value] && !first.has(value)) first.set(value, row);
      }
      const options = [...first].map(([value, row]) => {
        const text = data.strings[value], sentence = data.strings[rows.first[row]];
        return [String(value), shortened(name === "frame" && sentence ? `${text}: ${sentence}` : text)];
      }).sort((a, b) => (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0));
      fill(part(name), [["", "all"], ...options], part(name).value);
      part(name).parentElement.hidden = options.length < 2;
    }
  }

  function choose() {
    result = data.results[Number(part("result").value)];
    rows = data.sets[result.set];
    fill(part("order"), [...result.orders.map(([text], number) => [String(number), text]), ["", "as in the release"]], part("order").value || "0");
    offer(filters);
    search();
  }

  function search() {
    const text = part("text").value.trim().toLowerCase();
    const chosen = filters.filter((name) => part(name).value).map((name) => [name, Number(part(name).value)]);
    const holds = (row) => [rows.id[row], data.strings[rows.first[row]], data.strings[rows.second[row]]].some((own) => own.toLowerCase().includes(text));
    matches = [...result.rows.keys()].filter((place) => {
      const row = result.rows[place];
      return chosen.every(([name, value]) => valuesOf(name, row).includes(value)) && (!text || holds(row));
    });
    const order = result.orders[part("order").value === "" ? -1 : Number(part("order").value)];
    if (order) {
      const [, column, way] = order;
      const key = (place) => {
        const number = result.numbers[column][place];
        return number === null ? -Infinity : way === "size" ? Math.abs(number) : way === "up" ? -number : number;
      };
      const keys = new Map(matches.map((place) => [place, key(place)]));
      matches.sort((a, b) => (keys.get(b) > keys.get(a)) - (keys.get(b) < keys.get(a)) || a - b);
    }
    show(0);
  }

  function show(from) {
    start = from;
    const end = Math.min(start + PAGE, matches.length);
    list.replaceChildren(...matches.slice(start, end).map(describe));
    const here = result.rows.length < result.total ? ` here, of ${counted(result.total)} of the result` : "";
    const range = matches.length ? `; ${counted(start + 1)} to ${counted(end)} are shown` : "";
    status.textContent = `${counted(matches.length)} of ${counted(result.rows.length)} rows${here} match${range}.`;
    part("previous").setAttribute("aria-disabled", String(start === 0));
    part("next").setAttribute("aria-disabled", String(end === matches.length));
  }

  function turn(from) {
    if (from < 0 || from >= matches.length) return;
    show(from);
    list.focus({ preventScroll: true });
    list.scrollIntoView();
  }

  // Text with marks at [start, end, start, end, …], which are counted in code points.
  function marked(text, bounds) {
    const letters = Array.from(text), made = element("bdi");
    let last = 0;
    for (let i = 0; i < bounds.length; i += 2) {
      made.append(letters.slice(last, bounds[i]).join(""), element("mark", "", letters.slice(bounds[i], bounds[i + 1]).join("")));
      last = bounds[i + 1];
    }
    made.append(letters.slice(last).join(""));
    return made;
  }

  function describe(place) {
    const row = result.rows[place], item = element("li"), tokens = data.tokens[result.tokens];
    const signed = result.orders.find(([, , way]) => way === "size")?.[1];
    const numbers = result.columns.map((name, column) => {
      const number = result.numbers[column][place];
      return [name, `${column === signed && number > 0 ? "+" : ""}${format(number)}`];
    });
    const scored = data.strings[rows.first[row]] !== "" ? result.scored : 0, own = numbers.splice(0, scored);
    if (data.strings[rows.first[row]] !== "") {
      ["first", "second"].forEach((side, number) => {
        const line = element("p", "row-sentence"), sentence = element("span"), text = rows[side][row];
        if (data.strings[text] === "") return; // rows of some kinds have one text
        line.append(element("span", "", data.sides[rows.sides[row]][number]), sentence, element("span", "", own[number]?.[1]));
        sentence.append(marked(data.strings[text], data.marks[rows[`${side}Marks`][row]]));
        if (tokens[text]) {
          const spelt = element("span", "row-tokens");
          spelt.append(...tokens[text].map((token) => (token === UNKNOWN ? element("span", "row-unknown", "[UNK]") : element("span", "", data.strings[token]))));
          sentence.append(spelt);
        }
        item.append(line);
      });
    }
    const facts = element("p", "row-facts");
    const texts = numbers.map(([name, number]) => `${name}: ${number}`);
    for (const name of ["config", "group", "label"]) {
      const text = data.strings[rows[name][row]];
      if (text) texts.push(`${name}: ${text}`);
    }
    facts.append(...[...texts, rows.id[row]].map((text) => element("bdi", "", text)));
    item.append(facts);
    return item;
  }

  fill(part("result"), data.results.map(({ label }, number) => [String(number), label]), "0");
  part("result").parentElement.hidden = data.results.length < 2;
  part("result").addEventListener("change", choose);
  part("config").addEventListener("change", () => {
    offer(filters.slice(1));
    search();
  });
  for (const name of [...filters.slice(1), "order"]) part(name).addEventListener("change", search);
  part("text").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 150);
  });
  part("previous").addEventListener("click", () => turn(start - PAGE));
  part("next").addEventListener("click", () => turn(start + PAGE));
  choose();
  root.nextElementSibling.hidden = true;
  root.hidden = false;
}
document.querySelectorAll(".row-browser").forEach(browse);
