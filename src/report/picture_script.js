'use strict';
(function () {
var host = document.getElementById('picture'), source = document.getElementById('picture-data');
if (!host || !source) return;
var data = JSON.parse(source.textContent), NS, ROW = 26, LANES = 9, LANE;
var unit = data.relative ? '%' : 'ms', per = data.relative ? 1 : 1000;
host.innerHTML = '<svg></svg>';
NS = host.firstChild.namespaceURI;
host.textContent = '';
function text(i) { return data.texts[i] }
function format(i) { return data.formats[i] || '' }
function shade(i) {
  var f = format(i);
  return /^u?int(8)$/.test(f) ? (f[0] === 'u' ? 'u8' : 'i8') : /^u?int16$/.test(f) ? 'i16'
      : /^u?int[24]$|^float4/.test(f) ? 'i4'
    : /^float8/.test(f) ? 'f8' : f === 'float16' || f === 'bfloat16' ? 'f16'
    : /^(float|double)$/.test(f) ? 'f32' : 'none';
}
function svg(tag, at, into, words) {
  var e = document.createElementNS(NS, tag);
  for (var k in at) e.setAttribute(k, at[k]);
  if (words !== undefined) e.textContent = words;
  if (into) into.appendChild(e);
  return e;
}
function el(tag, cls, into, words) {
  var e = document.createElement(tag);
  if (cls) e.className = cls;
  if (words !== undefined) e.textContent = words;
  if (into) into.appendChild(e);
  return e;
}
function num(us) {
  if (us === null || us === undefined || isNaN(us)) return '\u2013';
  var x = us / per, a = Math.abs(x);
  return (a >= 100 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : a >= 1 ? x.toFixed(2) : a >= 0.0995 ||
      a === 0 ? x.toFixed(3) : a >= 0.0001 ? x.toPrecision(2) : x.toExponential(1)) + ' ' + unit;
}
var pen = document.createElement('canvas').getContext('2d'),
    font = getComputedStyle(document.body).fontFamily;
function wide(words, bold) {
  pen.font = (bold ? '600 ' : '') + '12px ' + font;
  return pen.measureText(words).width;
}
function clip(words, px, bold) {
  if (wide(words, bold) <= px) return words;
  var low = 1, high = words.length;
  while (high - low > 1) {
    var mid = low + high >> 1, a = Math.ceil(mid / 2);
    if (wide(words.slice(0, a) + '\u2026' + words.slice(words.length - (mid - a)),
        bold) <= px) low = mid; else high = mid;
  }
  return words.slice(0, Math.ceil(low / 2)) + '\u2026' +
      words.slice(words.length - Math.floor(low / 2));
}

/* The end of a row: source, saving, deviation, three texts; what is unknown is left out. */
function priceOf(row, at) {
  function more(i) { return row.length > at + i ? row[at + i] : null }
  return {source: row[at], saved: more(1), doubt: more(2), measured: text(more(3) || 0),
      figures: text(more(4) || 0), rules: text(more(5) || 0)};
}

/* --- nodes, and the tree that they stand in --- */
var nodes = data.nodes.map(function (n, i) {
  return {i: i, name: n[0], op: text(n[1]), block: n[2], given: n[3], chosen: n[4], weight: n[5],
      us: [n[6], n[7]],
    why: text(n[8]), price: priceOf(n, 9), ins: [], outs: []};
});
var edges = data.edges.map(function (e) {
  return {from: e[0], to: e[1], tensor: text(e[2]), format: e[3], coded: e[4] === 1, scale: e[5],
      us: e[6], why: text(e[7]), joint: e[8] === 1, price: priceOf(e, 9)};
});
edges.forEach(function (e) {
  if (e.from >= 0) nodes[e.from].outs.push(e);
  if (e.to >= 0) nodes[e.to].ins.push(e);
});
function group(name, parent, kind) {
  return {name: name, kind: kind, parent: parent, kids: [], child: new Map(), open: false,
      us: [0, 0], parts: [new Map(), new Map()], first: Infinity, count: 0};
}
var root = group('', null, 'model');
function path(n) {
  var words = n.name.replace(/^[A-Za-z0-9_]+@/,
      '').split('/').filter(function (w) { return w !== '' });
  return words.slice(0, Math.min(words.length - 1, 12));
}
var blocks = new Map();
nodes.forEach(function (n) {
  if (!n.block) return;
  var p = path(n), b = blocks.get(n.block);
  if (!b) { blocks.set(n.block, {path: p, nodes: [n]}); return }
  b.nodes.push(n);
  var k = 0;
  while (k < b.path.length && k < p.length && b.path[k] === p[k]) k++;
  b.path = b.path.slice(0, k);
});
/* A node with bodies is a module of its own: itself, then its bodies. */
var inside = new Map(), holds = new Map();
data.within.forEach(function (w) { inside.set(w[0], {node: w[1], body: text(w[2])});
    holds.set(w[1], null) });
function enter(at, words) {
  words.forEach(function (w) {
    var next = at.child.get('/' + w);
    if (!next) { next = group(w, at, 'module'); at.child.set('/' + w, next); at.kids.push(next) }
    at = next;
  });
  return at;
}
nodes.forEach(function (n) {
  var b = n.block ? blocks.get(n.block) : null, w = inside.get(n.i), at = w
      ? enter(holds.get(w.node), [w.body]) : root;
  if (w) at = enter(at, path(n).filter(function (p, k) { return path(nodes[w.node])[k] !== p }));
  else if (b && b.nodes.length > 1) {
    at = enter(root, b.path);
    var key = '=' + n.block, inner = at.child.get(key);
    if (!inner) {
      var ops = [];
      b.nodes.forEach(function (m) { ops.push(m.op) });
      inner = group(ops.slice(0, 4).join(' + ') + (ops.length > 4 ? ' + ' + (ops.length - 4) +
          ' more' : ''), at, 'block');
      inner.title = text(n.block);
      at.child.set(key, inner);
      at.kids.push(inner);
    }
    at = inner;
  } else at = enter(root, path(n));
  if (holds.has(n.i)) {
    var own = group(last(n), at, 'body');
    at.kids.push(own);
    holds.set(n.i, own);
    at = own;
  }
  n.parent = at;
  at.kids.push(n);
  for (var g = at; g; g = g.parent) {
    g.count++;
    if (n.price.rules || n.ins.some(function (e) { return e.price.rules })) g.over = true;
    g.first = Math.min(g.first, n.i);
    [n.given, n.chosen].forEach(function (f, k) {
      var us = n.us[k] || 0, s = shade(f);
      g.us[k] += us;
      g.parts[k].set(s, (g.parts[k].get(s) || 0) + us);
    });
  }
});
/* A module that holds nothing but another one is one with it. */
(function join(g) {
  g.kids.forEach(function (k) { if (k.kids) join(k) });
  g.kids = g.kids.map(function (k) {
    while (k.kids && k.kids.length === 1 && k.kind === 'module') {
      var only = k.kids[0];
      if (!only.kids) { only.parent = g; only.full = k.name; return only }
      only.name = k.name + (only.kind === 'module' ? '/' : ': ') + only.name;
      only.parent = g;
      k = only;
    }
    return k;
  });
})(root);
function last(n) {
  var at = n.name.replace(/\/+$/, ''), cut = at.lastIndexOf('/');
  return cut >= 0 ? at.slice(cut + 1) : at;
}
function short(n) { return n.kids ? n.name : (n.full ? n.full + '/' : '') + last(n) }

/* --- rows: what is open --- */
var rows = [], where = new Map();
function list() {
  rows = [];
  where = new Map();
  (function walk(g, depth) {
    g.kids.forEach(function (k) {
      rows.push({of: k, depth: depth});
      if (k.kids && k.open) walk(k, depth + 1);
    });
  })(root, 0);
  rows.forEach(function (r, i) { where.set(r.of, i) });
  wire();
}
function shown(n) {
  for (var at = n, best = n; at && at !== root; at = at.parent)
    if (where.has(at)) { best = at; if (!(at.kids && at.open)) break }
  return where.get(best);
}
/* Opens the widest levels while the list stays short. */
(function unfold() {
  var level = root.kids.filter(function (k) { return k.kids }), n = root.kids.length;
  while (level.length) {
    var more = level.reduce(function (s, g) { return s + g.kids.length }, 0);
    if (n + more > 70) break;
    level.forEach(function (g) { g.open = true });
    n += more;
    level = level.reduce(function (s, g) {
      return s.concat(g.kids.filter(function (k) { return k.kids })) }, []);
  }
})();

/* --- wires between rows: neighbours are joined directly, others by lanes --- */
var wires = [], lanes = 0;
function wire() {
  var seen = new Map();
  edges.forEach(function (e) {
    if (e.from < 0 || e.to < 0) return;
    var a = shown(nodes[e.from]), b = shown(nodes[e.to]);
    if (a === undefined || b === undefined || a === b) return;
    var key = a * 1e6 + b, w = seen.get(key), s = e.coded ? shade(e.format) : '';
    if (!w) { seen.set(key, {a: a, b: b, shade: s, edges: [e]}); return }
    w.edges.push(e);
    if (s) w.shade = s;
  });
  wires = Array.from(seen.values()).sort(function (x, y) {
    return Math.min(x.a, x.b) - Math.min(y.a, y.b) ||
      Math.abs(y.a - y.b) - Math.abs(x.a - x.b) });
  var free = [];
  lanes = 0;
  wires.forEach(function (w, i) {
    w.i = i;
    var low = Math.min(w.a, w.b), high = Math.max(w.a, w.b), k = 0;
    w.low = low; w.high = high;
    if (high - low === 1 && w.a < w.b) { w.lane = 0; return }
    while (k < LANES - 1 && free[k] > low) k++;
    free[k] = Math.max(free[k] || 0, high);
    w.lane = k + 1;
    lanes = Math.max(lanes, k + 1);
  });
}

/* --- the page's parts --- */
var bar = el('div', 'pic-bar', host), find = el('input', '', bar), count = el('span', '', bar);
find.type = 'search'; find.id = 'picture-find'; find.placeholder = 'Search by name';
    find.setAttribute('aria-label', 'Search nodes by name');
count.id = 'picture-shown'; count.setAttribute('aria-live', 'polite');
var openAll = el('button', '', bar, 'Open all'), closeAll = el('button', '', bar, 'Close all');
openAll.type = closeAll.type = 'button';
var legend = el('div', 'pic-legend', bar), used = new Map(), names = {};
nodes.forEach(function (n) { [n.given, n.chosen].forEach(function (f) { var s = shade(f);
    used.set(s, 1); (names[s] = names[s] || {})[format(f)] = 1 }) });
edges.forEach(function (e) { if (e.coded) { var s = shade(e.format); used.set(s, 1);
    (names[s] = names[s] || {})[format(e.format)] = 1 } });
['f32', 'f16', 'i16', 'i8', 'u8', 'f8', 'i4', 'none'].forEach(function (s) {
  if (!used.has(s)) return;
  var one = el('span', '', legend);
  el('i', 'fill-' + s, one);
  el('span', '', one, s === 'none' ? 'other' : Object.keys(names[s]).sort().join(', '));
});
var coded = edges.find(function (e) { return e.coded });
(coded ? [['line fill-' + shade(coded.format), 'carries codes']]
    : []).concat([['line thin fill-f32', 'carries floats']]).forEach(function (l) {
  var one = el('span', '', legend);
  el('i', l[0], one);
  el('span', '', one, l[1]);
});
/* Nodes whose decision, or that of an edge they read, is not what the target's rules say. */
var overruled = nodes.filter(function (n) { return n.overruled = !!n.price.rules ||
    n.ins.some(function (e) { return e.price.rules }) });
if (overruled.length) {
  var mark = el('button', 'pic-over', bar, overruled.length +
      (overruled.length > 1 ? ' nodes' : ' node') + ' against the rules');
  mark.type = 'button';
  mark.title = 'where a measurement overruled the rules of the target';
  mark.addEventListener('click', function () { find.value = ''; show(overruled) });
}
var strip = el('div', 'pic-strip', host), axis = el('div', 'pic-axis', host),
    box = el('div', 'pic-rows', host), space = el('div', 'pic-space', box);
box.tabIndex = 0;
box.setAttribute('role', 'region');
box.setAttribute('aria-label', 'Nodes of the model');
var view = svg('svg', {}, space), tip = el('div', 'pic-tip', document.body);
tip.hidden = true;

function ticks(most, px) {
  var raw = (most || 1) / Math.max(2, px / 110), size = Math.pow(10, Math.floor(Math.log10(raw))),
      r = raw / size, out = [];
  var step = size * (r <= 1 ? 1 : r <= 2 ? 2 : r <= 5 ? 5 : 10);
  for (var x = 0; x <= most * 1.0001 && out.length < 40; x += step) out.push(x);
  return out;
}
function tickText(x) { return String(+(x / per).toPrecision(3)) }

/* The whole run, both ways, on one scale: modules in the order of the flow,
    the largest taken apart. */
function drawStrip() {
  while (strip.firstChild) strip.removeChild(strip.firstChild);
  var W = Math.max(300, strip.clientWidth - 28), L = 62, R = 76,
      most = Math.max(root.us[0], root.us[1]) || 1, k = (W - L - R) / most;
  var H = 112, s = svg('svg', {viewBox: '0 0 ' + W + ' ' + H, width: W, height: H, role: 'img'},
      strip), tops = [14, 62], at = [0, 0], odd = false;
  svg('title', {}, s, 'The whole run before and after');
  ticks(most, W - L - R).forEach(function (x) {
    svg('line', {class: 'tick', x1: L + x * k, x2: L + x * k, y1: 10, y2: 90}, s);
    svg('text', {class: 'dim', x: L + x * k, y: 104, 'text-anchor': 'middle'}, s, tickText(x) +
        (x === 0 ? ' ' + unit : ''));
  });
  var parts = [];
  (function split(g) {
    g.kids.forEach(function (k) {
      if (k.kids && k.kids.length > 1 && Math.max(k.us[0], k.us[1]) > 0.3 * most) split(k);
          else parts.push(k);
    });
  })(root);
  parts.forEach(function (g) {
    var w = g.kids ? g.us : [g.us[0] || 0, g.us[1] || 0], x = [L + at[0] * k, L + at[1] * k];
    odd = !odd;
    if (Math.max(w[0], w[1]) * k > 2)
      svg('path', {class: 'link fill-f32' + (odd ? ' odd' : ''), d: 'M' + x[0] + ' 40L' +
          (x[0] + w[0] * k) + ' 40L' + (x[1] + w[1] * k) + ' 62L' + x[1] + ' 62Z'}, s);
    [0, 1].forEach(function (side) {
      var from = x[side], leaves = [], run = null;
      (function walk(q) { if (q.kids) q.kids.forEach(walk); else leaves.push(q) })(g);
      leaves.forEach(function (n) {
        var us = n.us[side] || 0, c = shade(side ? n.chosen : n.given);
        if (!us) return;
        if (run && run.c === c) run.w += us * k;
        else { if (run) flush(run); run = {c: c, x: run ? run.x + run.w : from, w: us * k} }
      });
      if (run) flush(run);
      function flush(r) { if (r.w > 0.15) svg('rect',
          {class: 'fill-' + r.c, x: r.x, y: tops[side], width: Math.max(0.4, r.w), height: 26}, s) }
      if (w[side] * k > 1.5) svg('line', {x1: from, x2: from, y1: tops[side], y2: tops[side] + 26,
          stroke: 'var(--card)', 'stroke-width': 1}, s);
      at[side] += w[side];
    });
    var span = Math.max(w[0], w[1]) * k, label = short(g);
    if (wide(label, true) + 10 < Math.min(w[0], w[1]) * k)
      svg('text', {class: 'name', x: (x[0] + x[1] + (w[0] + w[1]) * k / 2) / 2, y: 55,
          'text-anchor': 'middle', 'pointer-events': 'none'}, s, label);
    if (span > 3) {
      var hot = svg('rect', {x: Math.min(x[0], x[1]), y: 10, width: Math.max(w[0] * k, w[1] * k),
          height: 80, fill: 'transparent', style: 'cursor:pointer'}, s);
      hot.addEventListener('click', function () { reveal(g) });
      hot.addEventListener('mousemove', function (ev) { showTip(g, ev.clientX, ev.clientY) });
      hot.addEventListener('mouseleave', hideTip);
    }
  });
  ['input', 'chosen'].forEach(function (w, i) {
    svg('text', {x: 0, y: tops[i] + 17, class: 'name'}, s, w);
    svg('text', {x: W, y: tops[i] + 17, class: 'num'}, s, num(root.us[i]));
  });
}

/* --- rows --- */
var hits = new Set(), now = null, scale = {};
function measure() {
  var small = box.clientWidth < 720, W = Math.max(350, box.clientWidth), most = 0;
  LANE = small ? 6 : 11;
  var tree = small ? 150 : Math.min(300, Math.max(180, W * 0.26)), x = tree + 24 + lanes * LANE +
      (small ? 6 : 150), right = small ? 112 : 168;
  rows.forEach(function (r) { if (!(r.of.kids && r.of.open)) most = Math.max(most, r.of.us[0] || 0,
      r.of.us[1] || 0) });
  scale = {small: small, W: W, tree: tree, wire: tree + 14, ops: x - 142, bars: x,
      k: Math.max(40, W - x - right) / (most || 1), most: most, end: W - right};
}
function drawAxis() {
  while (axis.firstChild) axis.removeChild(axis.firstChild);
  var s = svg('svg', {viewBox: '0 0 ' + scale.W + ' 22', width: scale.W, height: 22}, axis);
  s.style.width = scale.W + 'px';
  svg('text', {class: 'dim', x: 14, y: 14}, s, 'module or node');
  if (!scale.small) svg('text', {class: 'dim', x: scale.ops, y: 14}, s, 'operator');
  ticks(scale.most, scale.end - scale.bars).forEach(function (x) {
    svg('text', {class: 'dim', x: scale.bars + x * scale.k, y: 14, 'text-anchor': x === 0 ? 'start'
        : 'middle'}, s, tickText(x) + (x === 0 ? ' ' + unit : ''));
  });
  svg('text', {class: 'dim num', x: scale.W - 14, y: 14}, s, scale.small ? ''
      : 'input \u2192 chosen');
}
function bars(into, of, y) {
  [0, 1].forEach(function (side) {
    var x = scale.bars, top = y + (side ? 12 : 4), h = side ? 11 : 6;
    var parts = of.kids ? of.parts[side] : new Map([[shade(side ? of.chosen : of.given),
        of.us[side] || 0]]);
    parts.forEach(function (us, s) {
      if (!us) return;
      svg('rect', {class: 'fill-' + s, x: x, y: top, width: Math.max(1, us * scale.k), height: h,
          opacity: side ? 1 : 0.6}, into);
      x += us * scale.k;
    });
  });
}
function drawRow(i) {
  var r = rows[i], of = r.of, y = i * ROW - shownFrom * ROW, isOpen = of.kids && of.open;
  var g = svg('g', {class: 'row' + (of.kids ? ' group' : '') + (hits.has(of) ? ' hit' : '') +
      (of === now ? ' now' : ''), 'data-row': i}, view);
  svg('rect', {class: 'row-bg', x: 1, y: y + 1, width: scale.W - 2, height: ROW - 2, rx: 5}, g);
  for (var d = 0; d < r.depth; d++) svg('line', {class: 'fence', x1: 18 + d * 12, x2: 18 + d * 12,
      y1: y, y2: y + ROW}, g);
  var x = 14 + Math.min(r.depth, 10) * 12;
  if (of.kids) svg('path', {class: 'chev', d: isOpen ? 'M' + x + ' ' + (y + 10) + 'h9l-4.5 6z'
      : 'M' + (x + 1) + ' ' + (y + 8) + 'v9l6 -4.5z'}, g);
  svg('text', {x: x + 14, y: y + 17, class: of.kids ? 'name' : ''}, g,
      clip(short(of), scale.tree - x - 16, !!of.kids));
  if (!isOpen) {
    if (!scale.small) svg('text', {class: 'dim', x: scale.ops, y: y + 17}, g,
        clip(of.kids ? of.count + ' nodes' : of.op, 132));
    bars(g, of, y);
  }
  var a = of.us[0], b = of.us[1], most = root.us[0];
  if (a || b) svg('text', {class: 'num' + (isOpen ? ' dim' : b > a * 1.05 && b - a > most * 0.005
      ? ' worse' : ''), x: scale.W - 14, y: y + 17}, g, num(a).replace(' ' + unit, '') +
      ' \u2192 ' + (scale.small ? num(b).replace(' ' + unit, '') : num(b)));
}
function drawWire(w) {
  var y1 = (w.a - shownFrom) * ROW + ROW / 2, y2 = (w.b - shownFrom) * ROW + ROW / 2,
      x = scale.wire, to = x + 8 + w.lane * LANE;
  var d = w.lane === 0 ? 'M' + x + ' ' + y1 + 'V' + y2
    : 'M' + x + ' ' + y1 + 'C' + to + ' ' + y1 + ' ' + to + ' ' + y1 + ' ' + to + ' ' +
    (y1 + (y2 > y1 ? 12 : -12)) + 'V' + (y2 + (y2 > y1 ? -12 : 12)) + 'C' + to + ' ' + y2 + ' ' +
    to + ' ' + y2 + ' ' + x + ' ' + y2;
  svg('path', {class: 'wire ' + (w.shade ? 'coded line-' + w.shade : 'plain'), d: d}, view);
  svg('path', {class: 'wire near', d: d, 'data-wire': w.i}, view);
}
var shownFrom = 0, tipAt = 0;
function draw() {
  var H = box.clientHeight || 600, first = Math.max(0, Math.floor(box.scrollTop / ROW) - 6),
      last = Math.min(rows.length, Math.ceil((box.scrollTop + H) / ROW) + 6);
  shownFrom = first;
  while (view.firstChild) view.removeChild(view.firstChild);
  view.setAttribute('viewBox', '0 0 ' + scale.W + ' ' + (last - first) * ROW);
  view.style.width = scale.W + 'px';
  view.style.height = (last - first) * ROW + 'px';
  view.style.top = first * ROW + 'px';
  ticks(scale.most, scale.end - scale.bars).forEach(function (x) {
    svg('line', {class: 'tick', x1: scale.bars + x * scale.k, x2: scale.bars + x * scale.k, y1: 0,
        y2: (last - first) * ROW}, view);
  });
  for (var i = first; i < last; i++) drawRow(i);
  wires.forEach(function (w) { if (w.high >= first && w.low < last && !w.shade) drawWire(w) });
  wires.forEach(function (w) { if (w.high >= first && w.low < last && w.shade) drawWire(w) });
  for (i = first; i < last; i++) {
    var of = rows[i].of;
    if (of.kids && of.open) continue;
    var top = 'none', most = -1;
    if (of.kids) of.parts[1].forEach(function (us, s) { if (us > most) { most = us; top = s } });
    else top = shade(of.chosen);
    if (of.kids ? of.over : of.overruled) svg('circle',
        {class: 'over', cx: scale.wire, cy: (i - first) * ROW + ROW / 2, r: of.kids ? 9 : 8,
        'pointer-events': 'none'}, view);
    svg('circle', {class: 'fill-' + top, cx: scale.wire, cy: (i - first) * ROW + ROW / 2, r: of.kids
        ? 6 : 4.5, stroke: 'var(--card)', 'stroke-width': 1.5, 'pointer-events': 'none'}, view);
  }
}
function redraw() {
  list();
  space.style.height = rows.length * ROW + 'px';
  measure();
  drawAxis();
  draw();
}
function reveal(of) {
  for (var g = of.parent; g && g !== root; g = g.parent) g.open = true;
  now = of;
  redraw();
  box.scrollTop = Math.max(0, where.get(of) * ROW - box.clientHeight / 3);
  draw();
}

/* --- what the pointer is on --- */
var sources = ['', 'estimated from shapes', 'predicted from profiles of other placements',
    'profiled'];
function price(p) {
  if (!p.source || p.saved === null) return 'not measured';
  return (p.saved >= 0 ? 'saves ' : 'costs ') + num(Math.abs(p.saved)) +
      (p.doubt !== null ? ' \u00b1 ' + num(p.doubt) : '') + ' in 8 bits, ' + sources[p.source];
}
/* Rows about a decision: the price, what decided, and the rule that was overruled. */
function decision(of, changed, out) {
  var p = of.price;
  out.push(['price', !p.source && of.ins && of.ins.some(function (e) { return e.price.source })
      ? 'that of its edges' : price(p)]);
  if (of.why && of.why !== 'measured') out.push([changed ? 'rule' : 'reason', of.why]);
  if (p.figures && p.figures !== of.why + ': no figures') out.push(['target\u2019s rule',
      p.figures]);
  if (p.measured) out.push(['measured', p.measured]);
  if (p.rules) out.push(['overruled rule', p.rules]);
}
function isFloat(i) { return /float|double/.test(format(i)) }
function aboutEdge(e) {
  var out = [['carries', (e.coded ? 'codes, ' : '') + format(e.format) +
      (e.coded && e.scale ? ', scale ' + (+e.scale).toPrecision(4) : '')],
    ['from', e.from >= 0 ? nodes[e.from].name : 'input of the ' +
        (inside.has(e.to) ? 'body' : 'model')], ['to', e.to >= 0 ? nodes[e.to].name
        : 'output of the model']];
  if (e.us) out.push(['conversions', num(e.us)]);
  if (!e.coded && !isFloat(e.format)) return out;
  var own = e.price.source || e.price.measured;
  if (!own && e.joint && e.to >= 0) {
    out.push(['decided with', 'its reader']);
    decision({price: Object.assign({}, nodes[e.to].price, {rules: e.price.rules}), why: e.why ||
        nodes[e.to].why}, e.coded, out);
  } else decision(e, e.coded, out);
  return out;
}
function about(of) {
  var out = [['time', num(of.us[0]) + ' \u2192 ' + num(of.us[1])]];
  if (of.kids) {
    out.push(['holds', of.count + ' nodes']);
    if (of.title) out.push(['computed together', of.title]);
    return out;
  }
  var changed = of.chosen !== of.given;
  out.push(['operator', of.op], ['runs as', format(of.given) +
      (changed ? ' \u2192 ' + format(of.chosen) : '') +
      (of.weight ? ', weight ' + format(of.weight) : '')]);
  if (of.block && blocks.get(of.block).nodes.length > 1) out.push(['computed together',
      text(of.block)]);
  if (of.why || of.price.source || of.price.measured || of.price.rules) decision(of, changed, out);
  of.ins.slice(0, 6).forEach(function (e) {
    out.push(['reads', e.tensor + ' as ' + format(e.format) +
        (e.us ? ', conversions ' + num(e.us) : '')
      + (e.price.source ? '; ' + price(e.price) : !e.coded && !isFloat(e.format) ? '' : e.joint
          ? '; decided with this node' : '; not measured')
      + (e.price.rules ? '; overrules ' + e.price.rules : '')]);
  });
  if (of.ins.length > 6) out.push(['', (of.ins.length - 6) + ' more']);
  return out;
}
/* Of several edges between two rows, those with codes first. */
function showWire(w, x, y) {
  var all = w.edges.slice().sort(function (a, b) { return b.coded - a.coded });
  fill(all[0].tensor, aboutEdge(all[0]).concat(all.length > 1
      ? [['and', (all.length - 1) + ' more between these rows: ' +
      all.slice(1, 5).map(function (e) { return e.tensor }).join(', ')]] : []), x, y);
}
function fill(head, list, x, y) {
  while (tip.firstChild) tip.removeChild(tip.firstChild);
  el('b', '', tip, head);
  var dl = el('dl', '', tip);
  list.forEach(function (p) { el('dt', '', dl, p[0]); el('dd', '', dl, p[1]) });
  tip.hidden = false;
  tipAt = box.scrollTop;
  var r = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 16, innerWidth - r.width - 12)) + 'px';
  tip.style.top = Math.max(8, y + 18 + r.height > innerHeight ? y - r.height - 12 : y + 18) + 'px';
}
function showTip(of, x, y) { fill(of.name, about(of), x, y) }
function hideTip() { tip.hidden = true }
function rowAt(ev) {
  var g = ev.target.closest ? ev.target.closest('[data-row]') : null;
  return g ? rows[+g.getAttribute('data-row')] : null;
}
view.addEventListener('mousemove', function (ev) {
  var r = rowAt(ev), w = ev.target.getAttribute ? ev.target.getAttribute('data-wire') : null;
  if (w !== null) showWire(wires[+w], ev.clientX, ev.clientY);
  else if (r) showTip(r.of, ev.clientX, ev.clientY);
  else hideTip();
});
view.addEventListener('mouseleave', hideTip);
view.addEventListener('click', function (ev) {
  var r = rowAt(ev);
  if (!r) return;
  now = r.of;
  if (!r.of.kids) { draw(); showTip(r.of, ev.clientX, ev.clientY); return }
  r.of.open = !r.of.open;
  hideTip();
  redraw();
});
/* Arrows go from row to row, right and left open and close. */
box.addEventListener('keydown', function (ev) {
  var i = now ? where.get(now) : -1, of = now;
  if (ev.key === 'ArrowDown' || ev.key === 'ArrowUp') i = Math.max(0,
      Math.min(rows.length - 1, i === undefined ? 0 : i + (ev.key === 'ArrowDown' ? 1 : -1)));
  else if ((ev.key === 'ArrowRight' || ev.key === 'ArrowLeft') && of &&
      of.kids) of.open = ev.key === 'ArrowRight';
  else if (ev.key === 'Escape') { hideTip(); return }
  else return;
  ev.preventDefault();
  if (of && of.kids) list();
  now = ev.key === 'ArrowDown' || ev.key === 'ArrowUp' ? rows[i].of : of;
  redraw();
  var y = where.get(now) * ROW, b = box.getBoundingClientRect();
  if (y < box.scrollTop || y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0,
      y - box.clientHeight / 2);
  draw();
  showTip(now, b.left + scale.tree, b.top + y - box.scrollTop + ROW);
});
box.addEventListener('scroll', function () { if (Math.abs(box.scrollTop - tipAt) > 2) hideTip();
    draw() });
addEventListener('resize', function () { drawStrip(); redraw() });
function setAll(open) {
  (function walk(g) {
    g.kids.forEach(function (k) { if (k.kids) { k.open = open; walk(k) } })
  })(root);
  redraw()
}
openAll.addEventListener('click', function () { setAll(true) });
closeAll.addEventListener('click', function () { setAll(false) });

/* --- search --- */
var found = [], next = 0;
function search(word) {
  word = word.toLowerCase();
  show(word ? nodes.filter(function (n) { return n.name.toLowerCase().indexOf(word) >= 0 }) : null);
}
/* null: what was marked is so no longer */
function show(list) {
  hits = new Set();
  now = null;
  found = list || [];
  found.forEach(function (n, i) {
    hits.add(n);
    for (var g = n.parent; i < 200 && g && g !== root; g = g.parent) g.open = true;
  });
  count.textContent = list ? found.length + ' found' : '';
  next = 0;
  if (found.length) reveal(found[0]); else redraw();
}
find.addEventListener('input', function () { search(find.value) });
find.addEventListener('keydown', function (ev) { if (ev.key === 'Enter' &&
    found.length) reveal(found[++next % found.length]) });

drawStrip();
redraw();
/* #find=WORD searches, #open=all opens all, #tip=WORD shows what is known of the first one,
    #edge=WORD of a tensor,
   #over= what is against the rules, when the page opens. */
var want = /^#(find|open|tip|edge|over)=(.*)$/.exec(location.hash), word = want
    ? decodeURIComponent(want[2]) : '';
if (want && want[1] === 'open') setAll(true);
if (want && (want[1] === 'find' || want[1] === 'tip')) { find.value = word; search(word) }
if (want && want[1] === 'tip' && found.length) {
  var b = box.getBoundingClientRect();
  showTip(found[0], b.left + 220, b.top + where.get(found[0]) * ROW - box.scrollTop + 20);
}
if (want && want[1] === 'over') show(overruled);
if (want && want[1] === 'edge') {
  setAll(true);
  var at = edges.find(function (e) { return e.tensor === word }), on = at
      ? where.get(nodes[Math.max(at.to, at.from)]) : 0;
  box.scrollTop = Math.max(0, on * ROW - box.clientHeight / 3);
  draw();
  var frame = box.getBoundingClientRect();
  if (at) fill(at.tensor, aboutEdge(at), frame.left + scale.wire, frame.top +
      on * ROW - box.scrollTop);
}
host.dataset.ready = Math.round(performance.now()); /* ms since the page was asked for */
})();
