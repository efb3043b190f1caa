"use strict";
/* Lists of nodes and pods with search and sorting; only visible rows are drawn. Everything from the cluster goes into
   text nodes and attributes of shapes and is never parsed as markup. */
(async () => {
  const SVG = "http://www.w3.org/2000/svg";
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);

  /** Makes an element with attributes and children; strings become text. */
  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  async function read() {
    const block = find("data");
    if (!block.hasAttribute("data-packed")) return JSON.parse(block.textContent);
    const packed = Uint8Array.from(atob(block.textContent), (sign) => sign.charCodeAt(0));
    const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).json();
  }

  // Amounts, as the command line writes them.
  function memory(size) {
    if (Math.abs(size) < 1024) return String(size);
    const units = ["Ki", "Mi", "Gi", "Ti", "Pi"];
    let power = 0;
    for (let left = Math.abs(size); left >= 1024 && power < units.length; left /= 1024) power += 1;
    const value = size / 1024 ** power;
    return (Math.abs(value) < 100 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0)) + units[power - 1];
  }
  const cpu = (milli) => (milli % 1000 === 0 ? String(milli / 1000) : milli > 1000 && milli % 100 === 0 ? String(milli / 1000) : `${milli}m`);
  const cores = (milli) => (Math.abs(milli) < 10000 ? cpu(milli) : (milli / 1000).toLocaleString("en-US", { maximumFractionDigits: 1 }));
  const grouped = (number) => number.toLocaleString("en-US");
  const known = (value, words = String) => (value === null ? "unknown" : words(value));
  const span = (seconds) => {
    if (seconds < 120) return `${seconds} s`;
    const minutes = Math.floor(seconds / 60), hours = Math.floor(seconds / 3600);
    if (minutes < 180) return `${minutes} min`;
    return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
  };
  const ofAsked = (used, asked, words) => `${known(used, words)} / ${asked ? words(asked) : "none"}`;
  const knownCell = (value, words = String) => (value === null ? make("span", { class: "dim" }, "unknown") : words(value));

  // Bars, the same as without a script.
  const MARKS = ["guaranteed", "burstable", "besteffort"];
  function rect(kind, x, y, width, height) {
    const made = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ class: kind, x, y, width, height })) made.setAttribute(key, value);
    return made;
  }
  function bar([allocatable, ...rest], words) {
    const requested = rest.slice(0, 3), [limited, used] = rest.slice(3);
    const whole = Math.max(allocatable, requested.reduce((sum, part) => sum + part, 0), 1);
    const percent = (amount) => `${((100 * amount) / whole).toFixed(1)}%`;
    const drawn = document.createElementNS(SVG, "svg");
    for (const [key, value] of Object.entries({ class: "bar", role: "img", "aria-label": words })) drawn.setAttribute(key, value);
    drawn.append(rect("track", 0, 1, "100%", 16));
    let start = 0;
    requested.forEach((part, place) => {
      if (part) drawn.append(rect(`part ${MARKS[place]}`, percent(start), 1, percent(part), 16));
      start += part;
    });
    if (limited) drawn.append(rect("limited", 0, 13.5, percent(Math.min(limited, whole)), 3));
    if (used !== null) drawn.append(rect("used", percent(Math.min(used, 0.99 * whole)), 0, 2.5, 18));
    return drawn;
  }
  const requestedOf = (promised) => promised[1] + promised[2] + promised[3];
  const percentOf = (promised) => (promised[0] ? Math.floor((100 * requestedOf(promised)) / promised[0]) : 0);
  function describe(name, promised, words) {
    const used = promised[5] === null ? "" : `, used ${words(promised[5])}`;
    return `${name}: requested ${words(requestedOf(promised))} of ${words(promised[0])} (${percentOf(promised)}%), limits ${words(promised[4])}${used}`;
  }
  function withBar(name, promised, words) {
    const text = describe(name, promised, words);
    const made = make("div", { class: "with-bar", title: text }, bar(promised, text), make("span", {}, `${percentOf(promised)}%`));
    return made;
  }

  const MOST = 40;
  /** The room for a column's longest text, in characters; a longer text than MOST wraps. */
  function widest(count, text) {
    let most = 0;
    for (let row = 0; row < count; row += 1) most = Math.max(most, text(row).length);
    return Math.min(most, MOST) + 2;
  }

  /** A table with any number of rows: only visible rows are in the page. */
  class List {
    constructor({ place, label, columns, count, height, address, order }) {
      Object.assign(this, { columns, count, address });
      // On a phone a row is a card of its name and its next two cells.
      const phone = matchMedia("(max-width: 46rem)");
      const resize = () => { this.height = phone.matches ? 92 : height; };
      phone.addEventListener("change", () => { resize(); this.draw(true); });
      resize();
      this.rows = Int32Array.from({ length: count }, (_, row) => row);
      this.sorted = order;
      this.first = -1;
      this.head = make("tr", { "aria-rowindex": 1 });
      columns.forEach((column) => {
        const button = make("button", { type: "button", onclick: () => this.sortBy(column) }, column.label);
        column.th = make("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": "none" }, button);
        this.head.append(column.th);
      });
      this.body = make("tbody");
      const cols = make("colgroup", {}, ...columns.map((column) => {
        const col = make("col");
        column.value ??= column.text;
        column.cell ??= column.text;
        column.width ??= widest(count, column.text) + (column.beside ?? 0);
        column.width = Math.max(column.width, column.label.length + 4);
        col.style.width = `${column.width}ch`;
        return col;
      }));
      const width = columns.reduce((sum, column) => sum + column.width, 0);
      this.table = make("table", { "aria-label": label }, cols, make("thead", {}, this.head), this.body);
      this.table.style.minWidth = `${width}ch`;
      this.frame = make("div", { class: "virtual", tabindex: 0, role: "region", "aria-label": `${label}, scrolls` }, this.table);
      this.frame.addEventListener("scroll", () => this.draw(), { passive: true });
      this.body.addEventListener("keydown", (event) => this.move(event));
      new ResizeObserver(() => this.draw()).observe(this.frame);
      place.append(this.frame);
    }

    show(rows) {
      this.rows = rows;
      this.sort();
      this.frame.scrollTop = 0;
      this.draw(true);
    }

    sortBy(column) {
      const [current, direction] = this.sorted;
      this.sorted = [column.key, current === column.key ? -direction : column.number ? -1 : 1];
      this.sort();
      this.draw(true);
    }

    sort() {
      const [key, direction] = this.sorted;
      const column = this.columns.find((one) => one.key === key);
      this.columns.forEach((one) => one.th.setAttribute("aria-sort", one !== column ? "none" : direction > 0 ? "ascending" : "descending"));
      // Unknown values come last in both directions, and equal rows keep their order.
      const values = new Array(this.count);
      for (const row of this.rows) values[row] = column.value(row);
      this.rows = Int32Array.from(this.rows).sort((a, b) => {
        const x = values[a], y = values[b];
        if (x === y) return a - b;
        if (x === null) return 1;
        if (y === null) return -1;
        return x < y ? -direction : direction;
      });
    }

    draw(anew = false) {
      const seen = Math.ceil((this.frame.clientHeight || 600) / this.height) + 16;
      const first = Math.max(0, Math.min(Math.floor(this.frame.scrollTop / this.height) - 8, this.rows.length - seen));
      if (!anew && first === this.first && this.drawn === seen) return;
      const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.at : null;
      [this.first, this.drawn] = [first, seen];
      const last = Math.min(first + seen, this.rows.length);
      const made = [];
      if (first > 0) made.push(this.spacer(first));
      for (let at = first; at < last; at += 1) made.push(this.row(at));
      if (last < this.rows.length) made.push(this.spacer(this.rows.length - last));
      if (!this.rows.length) {
        made.push(make("tr", {}, make("td", { colspan: this.columns.length, class: "nothing" }, "Nothing matches. Take something out of the search.")));
      }
      this.table.setAttribute("aria-rowcount", this.rows.length + 1);
      this.body.replaceChildren(...made);
      if (focused !== null) this.body.querySelector(`[data-at="${focused}"]`)?.focus({ preventScroll: true });
    }

    spacer(rows) {
      const cell = make("td", { colspan: this.columns.length });
      cell.style.height = `${rows * this.height}px`;
      return make("tr", { class: "spacer", "aria-hidden": "true" }, cell);
    }

    row(at) {
      const row = this.rows[at];
      const cells = this.columns.map((column, place) => {
        const content = column.cell(row);
        if (place) return make("td", { class: column.number ? "number" : null }, content);
        return make("th", { scope: "row" }, make("a", { href: this.address(row), "data-at": at }, content));
      });
      const made = make("tr", { "aria-rowindex": at + 2 }, ...cells);
      made.style.height = made.style.minHeight = `${this.height}px`;
      return made;
    }

    move(event) {
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };
      const at = Number(event.target.dataset?.at);
      if (!(event.key in steps) || Number.isNaN(at)) return;
      event.preventDefault();
      const next = Math.max(0, Math.min(this.rows.length - 1, at + steps[event.key]));
      const top = next * this.height, below = top + this.height * 2;
      if (top < this.frame.scrollTop) this.frame.scrollTop = top;
      else if (below > this.frame.scrollTop + this.frame.clientHeight) this.frame.scrollTop = below - this.frame.clientHeight;
      this.draw();
      this.body.querySelector(`[data-at="${next}"]`)?.focus({ preventScroll: true });
    }
  }

  const { nodes, pods, texts, classes, risks, urgent, severities, flags } = await read();
  const restarts = (row) => grouped(pods.restarts[row]) + (pods.restarts[row] && pods.again[row] !== null ? ` (${span(pods.again[row])} ago)` : "");
  const podName = (row) => `${texts[pods.namespace[row]]}/${pods.name[row]}`;
  const otherPod = (pod) => (typeof pod === "number" ? podName(pod) : known(pod));
  function qosCell(place) {
    const drawn = document.createElementNS(SVG, "svg");
    for (const [key, value] of Object.entries({ class: "swatch", viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" })) drawn.setAttribute(key, value);
    drawn.append(rect(`part ${MARKS[place]}`, 1, 1, 10, 10));
    return make("span", { title: classes[place] }, drawn, ` ${classes[place]}`);
  }
  const sign = (severity) => make("span", { class: `sign ${severity}` }, severity);

  // Addresses: #/pod/NAMESPACE/NAME and #/node/NAME open the details, #/pods/WORDS searches; without the first / also.
  const address = (...words) => `#/${words.map(encodeURIComponent).join("/")}`;
  const podAddress = (row) => address("pod", texts[pods.namespace[row]], pods.name[row]);
  const nodeAddress = (row) => address("node", nodes.name[row]);
  const places = new Map();
  pods.name.forEach((_, row) => places.set(podAddress(row), () => openPod(row)));
  nodes.name.forEach((_, row) => places.set(nodeAddress(row), () => openNode(row)));
  function follow() {
    const place = location.hash.replace(/^#(?=(pod|node)\/)/, "#/");
    if (places.has(place)) return places.get(place)();
    detail.close();
    const [, words] = /^#\/pods\/(.+)/.exec(place) || [];
    if (!words) return;
    // So that the same link works again.
    history.replaceState(null, "", "#pods");
    search(decodeURIComponent(words));
  }

  /** Links names of pods and nodes to their details, and puts a button beside each command that copies it. */
  function dress(part) {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("a, button, code")) found.push(walker.currentNode);
    for (const text of found) {
      const words = text.data.split(/([\w./-]*\w)/).map((word) => {
        const place = ["#/", "#/pod/", "#/node/"].map((kind) => kind + word).find((one) => places.has(one));
        return place ? make("a", { href: place }, word) : word;
      });
      if (words.some((word) => typeof word !== "string")) text.replaceWith(...words);
    }
    for (const code of part.querySelectorAll(".commands code, .command")) {
      if (!code.textContent.startsWith("#")) code.after(" ", make("button", { type: "button", class: "copy", onclick: (event) => copy(code, event.target) }, "Copy"));
    }
  }
  async function copy(code, button) {
    getSelection().selectAllChildren(code);
    try {
      // Without the comment.
      await navigator.clipboard.writeText(code.textContent.replace(/   # .*$/, ""));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Selected: press Ctrl-C";
    }
  }

  // The dialog with the details.
  const detail = find("detail");
  function open(title, template, body, actions = []) {
    find("detail-title").textContent = title;
    const whole = find(template);
    const buttons = actions.length ? [make("div", { class: "actions" }, ...actions)] : [];
    find("detail-body").replaceChildren(...buttons, ...(whole ? [whole.content.cloneNode(true)] : []), ...body(Boolean(whole)));
    dress(find("detail-body"));
    if (!detail.open) detail.showModal();
    detail.scrollTop = 0;
  }
  find("detail-close").addEventListener("click", () => detail.close());
  detail.addEventListener("click", (event) => { if (event.target === detail) detail.close(); });
  detail.addEventListener("close", () => { if (/^#.?(pod|node)\//.test(location.hash)) history.replaceState(null, "", location.href.split("#")[0]); });

  function facts(entries) {
    const shown = entries.filter(([, value]) => value !== null && value !== "");
    return make("dl", { class: "facts" }, ...shown.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }
  // Commands carry the flags of the page's source; without a command if the flags cannot be shown unchanged.
  function commands(plain, name, about) {
    if (!plain || flags[name] === null) return [];
    const words = ["kubectl qos", name, about, flags[name], "-o wide"].filter(Boolean).join(" ");
    return [make("p", {}, "Everything: ", make("code", { class: "command" }, words))];
  }

  function openPod(row) {
    const node = pods.node[row];
    const actions = node < 0 ? [] : [make("a", { class: "button", href: nodeAddress(node) }, `Node ${nodes.name[node]}`)];
    open(`pod/${pods.name[row]} in ${texts[pods.namespace[row]]}`, `pod-${row}`, (whole) => (whole ? [] : [
      facts([
        ["Status", texts[pods.state[row]]],
        ["What is wrong", pods.risk[row] < 0 ? "nothing that stands out" : risks[pods.risk[row]]],
        ["QoS class", classes[pods.qos[row]]],
        ["Priority", `${grouped(pods.priority[row])} ${texts[pods.class[row]]}`],
        ["Owner", texts[pods.owner[row]]],
        ["Node", texts[pods.bound[row]]],
        ["Requests", `cpu ${cpu(pods.cpu[row])}, memory ${memory(pods.memory[row])}`],
        ["Memory limit", pods.limit[row] ? memory(pods.limit[row]) : "none"],
        ["CPU used", known(pods.cpuUsed[row], cpu)],
        ["Memory used", known(pods.used[row], memory)],
        ["oom_score_adj", known(pods.adj[row])],
        ["Killed by the kernel", pods.killed[row] === null ? "unknown" : `place ${pods.killed[row]} among the containers of its node`],
        ["Evicted by the kubelet", pods.evicted[row] === null ? "never, or its usage is unknown" : `place ${pods.evicted[row]} of its node`],
        ["Restarts", restarts(row)],
        ["Age", known(pods.age[row], span)],
      ]),
      ...commands(pods.plain[row], "explain", `pod/${pods.name[row]} -n ${texts[pods.namespace[row]]}`),
    ]), actions);
  }

  function openNode(row) {
    const own = [];
    pods.node.forEach((node, pod) => { if (node === row) own.push(pod); });
    const actions = [make("a", { class: "button", href: address("pods", `node:${nodes.name[row]}`) }, `Its ${own.length} pods in the list`)];
    open(`node/${nodes.name[row]}`, `node-${row}`, (whole) => (whole ? [] : [
      facts([
        ["State", texts[nodes.state[row]]],
        ["Zone", texts[nodes.zone[row]]],
        ["Taints", nodes.taints[row].map((taint) => texts[taint]).join(", ")],
        ["Pods", `${nodes.pods[row]} of ${nodes.most[row]}`],
        ["", ""],
      ]),
      withBar("CPU", nodes.cpu[row], cores), make("p", {}, describe("CPU", nodes.cpu[row], cores)),
      withBar("Memory", nodes.memory[row], memory), make("p", {}, describe("Memory", nodes.memory[row], memory)),
      ordered("Whom the kernel kills first, if memory runs out", own, pods.killed, (pod) => `points ${known(pods.points[pod])}, oom_score_adj ${known(pods.adj[pod])}`),
      ordered("Whom the kubelet evicts first", own, pods.evicted, (pod) => `uses ${known(pods.used[pod], memory)}, requests ${memory(pods.memory[pod])}, priority ${grouped(pods.priority[pod])}`),
      ...commands(nodes.plain[row], "node", nodes.name[row]),
    ]), actions);
  }

  function ordered(title, own, ranks, words) {
    const shown = own.filter((pod) => ranks[pod] !== null).sort((a, b) => ranks[a] - ranks[b]).slice(0, 30);
    if (!shown.length) return make("p", { class: "note" }, `${title}: unknown.`);
    const items = shown.map((pod) => make("li", {}, make("strong", {}, podName(pod)), `: ${words(pod)}`));
    return make("section", {}, make("h3", {}, title), make("ol", {}, ...items));
  }

  // The lists; a text column is as wide as its longest text.
  const nodeList = new List({
    place: find("nodes-list"), label: "Nodes", count: nodes.name.length, height: 40, address: nodeAddress, order: ["state", -1],
    columns: [
      { key: "name", label: "Node", text: (row) => nodes.name[row] },
      {
        key: "state", label: "State", beside: 11, text: (row) => texts[nodes.state[row]],
        value: (row) => nodes.severity[row] * 1000 + percentOf(nodes.memory[row]),
        cell: (row) => make("span", {}, sign(severities[nodes.severity[row]]), ` ${texts[nodes.state[row]]}`),
      },
      { key: "zone", label: "Zone", text: (row) => texts[nodes.zone[row]] || "none" },
      { key: "pods", label: "Pods", width: 11, number: true, value: (row) => nodes.pods[row], cell: (row) => `${nodes.pods[row]} / ${nodes.most[row]}` },
      { key: "cpu", label: "CPU", width: 16, value: (row) => -percentOf(nodes.cpu[row]), cell: (row) => withBar("CPU", nodes.cpu[row], cores) },
      { key: "memory", label: "Memory", width: 16, value: (row) => -percentOf(nodes.memory[row]), cell: (row) => withBar("Memory", nodes.memory[row], memory) },
      { key: "killed", label: "Killed first", text: (row) => otherPod(nodes.killed[row]) },
      { key: "evicted", label: "Evicted first", text: (row) => otherPod(nodes.evicted[row]) },
    ],
  });

  const podList = new List({
    place: find("pods-list"), label: "Pods", count: pods.name.length, height: 36, address: podAddress, order: ["risk", 1],
    columns: [
      { key: "name", label: "Pod", text: (row) => pods.name[row] },
      {
        key: "risk", label: "What is wrong", beside: 11, text: (row) => risks[pods.risk[row]] ?? "nothing",
        value: (row) => (pods.risk[row] < 0 ? null : pods.risk[row]),
        cell: (row) => (pods.risk[row] < 0 ? make("span", { class: "dim" }, "nothing") : make("span", {}, sign(severities[urgent[pods.risk[row]]]), ` ${risks[pods.risk[row]]}`)),
      },
      { key: "namespace", label: "Namespace", text: (row) => texts[pods.namespace[row]] },
      { key: "status", label: "Status", text: (row) => texts[pods.state[row]] },
      { key: "node", label: "Node", text: (row) => texts[pods.bound[row]] || "none", value: (row) => texts[pods.bound[row]] || null },
      { key: "restarts", label: "Restarts", width: 18, number: true, value: (row) => pods.restarts[row], cell: restarts },
      { key: "age", label: "Age", width: 8, number: true, value: (row) => pods.age[row], cell: (row) => knownCell(pods.age[row], span) },
      { key: "qos", label: "QoS class", width: 15, value: (row) => pods.qos[row], cell: (row) => qosCell(pods.qos[row]) },
      { key: "priority", label: "Priority", width: 15, number: true, value: (row) => pods.priority[row], cell: (row) => grouped(pods.priority[row]) },
      { key: "cpu", label: "CPU used", width: 16, number: true, value: (row) => pods.cpuUsed[row], cell: (row) => ofAsked(pods.cpuUsed[row], pods.cpu[row], cpu) },
      { key: "used", label: "Memory used", width: 18, number: true, value: (row) => pods.used[row], cell: (row) => ofAsked(pods.used[row], pods.memory[row], memory) },
      { key: "adj", label: "OOM adj", width: 11, number: true, value: (row) => pods.adj[row], cell: (row) => knownCell(pods.adj[row]) },
      { key: "evicted", label: "Eviction", width: 12, number: true, value: (row) => (pods.evicted[row] === null ? null : -pods.evicted[row]), cell: (row) => (pods.evicted[row] === null ? "" : `${pods.evicted[row]}.`) },
    ],
  });

  // Filters.
  function select(place, label, options) {
    const made = make("select", { onchange: () => filterPods() }, ...options.map(([value, words]) => make("option", { value }, words)));
    find(place).append(make("label", {}, make("span", {}, label), made));
    return made;
  }
  const counts = new Map();
  pods.namespace.forEach((place) => counts.set(place, (counts.get(place) || 0) + 1));
  const byName = [...counts.keys()].sort((a, b) => (texts[a] < texts[b] ? -1 : 1));
  const inNamespace = select("pods-filters", "Namespace", [["", "all"], ...byName.map((place) => [String(place), `${texts[place]} (${grouped(counts.get(place))})`])]);
  const ofClass = select("pods-filters", "QoS class", [["", "all"], ...classes.map((name, place) => [String(place), name])]);
  const inTrouble = select("pods-filters", "What is wrong", [["", "all"], ["any", "anything"], ...risks.map((words, place) => [String(place), words])]);

  const lower = (text) => text.toLowerCase();
  const lowerTexts = texts.map(lower);
  let haystack = null;
  function podText(row) {
    if (!haystack) haystack = new Array(pods.name.length);
    haystack[row] ??= [lower(pods.name[row]), lowerTexts[pods.namespace[row]], lowerTexts[pods.bound[row]], lowerTexts[pods.owner[row]], lowerTexts[pods.class[row]]].join("\n");
    return haystack[row];
  }
  const FIELDS = {
    node: (row) => lowerTexts[pods.bound[row]],
    ns: (row) => lowerTexts[pods.namespace[row]],
    owner: (row) => lowerTexts[pods.owner[row]],
    class: (row) => lowerTexts[pods.class[row]],
  };
  /** ``web node:a1``: every word must match; a word after a field's name must match that field, as a whole if a value equals it. */
  function matcher(text) {
    const tests = lower(text).split(/\s+/).filter(Boolean).map((word) => {
      const [, field, value] = /^(node|ns|owner|class):(.+)$/.exec(word) || [];
      if (!field) return (row) => podText(row).includes(word);
      const exact = lowerTexts.includes(value) && (field === "node" || field === "ns");
      return (row) => (exact ? FIELDS[field](row) === value : FIELDS[field](row).includes(value));
    });
    return (row) => tests.every((test) => test(row));
  }
  function announce(place, shown, all, what) {
    find(place).textContent = shown === all ? `${grouped(all)} ${what}` : `${grouped(shown)} of ${grouped(all)} ${what}`;
  }
  function filterPods() {
    const matches = matcher(find("pods-search").value);
    const [namespace, qos, risk] = [inNamespace.value, ofClass.value, inTrouble.value];
    const rows = [];
    for (let row = 0; row < pods.name.length; row += 1) {
      if (namespace && pods.namespace[row] !== Number(namespace)) continue;
      if (qos && pods.qos[row] !== Number(qos)) continue;
      if (risk && (risk === "any" ? pods.risk[row] < 0 : pods.risk[row] !== Number(risk))) continue;
      if (matches(row)) rows.push(row);
    }
    podList.show(Int32Array.from(rows));
    announce("pods-count", rows.length, pods.name.length, "pods");
  }
  function filterNodes() {
    const words = lower(find("nodes-search").value).split(/\s+/).filter(Boolean);
    const rows = [];
    for (let row = 0; row < nodes.name.length; row += 1) {
      const text = [lower(nodes.name[row]), lowerTexts[nodes.zone[row]], lowerTexts[nodes.state[row]], ...nodes.taints[row].map((taint) => lowerTexts[taint])].join("\n");
      if (words.every((word) => text.includes(word))) rows.push(row);
    }
    nodeList.show(Int32Array.from(rows));
    announce("nodes-count", rows.length, nodes.name.length, "nodes");
  }
  function search(text, risk = "") {
    find("pods-search").value = text;
    [inNamespace.value, ofClass.value, inTrouble.value] = ["", "", risk];
    filterPods();
    find("pods").scrollIntoView();
    find("pods-search").focus({ preventScroll: true });
  }
  function soon(task) {
    let waiting = 0;
    return () => { clearTimeout(waiting); waiting = setTimeout(task, 80); };
  }
  find("pods-search").addEventListener("input", soon(filterPods));
  find("nodes-search").addEventListener("input", soon(filterNodes));
  document.querySelectorAll("[class^=show-]").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    search("", link.className.slice("show-".length));
  }));

  // Dark or light: the setting of the machine, unless the reader chose one.
  const theme = find("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const showTheme = () => theme.setAttribute("aria-pressed", String(isDark()));
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; showTheme(); });
  showTheme();

  dress(find("main"));
  root.classList.add("scripted");
  filterNodes();
  filterPods();
  addEventListener("hashchange", follow);
  if (location.hash) follow();
  root.dataset.ready = "true";
})();
