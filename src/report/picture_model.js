/* picture_model.js - what is drawn: nodes and edges, the tree that they stand in, the rows that are
 * open, wires between rows. picture_draw.js and picture_events.js stand after it in one function
 * (picture.c), which ends here where the page draws no model. */
var host = document.getElementById('picture'), source = document.getElementById('picture-data');
if (!host || !source) return;
var data = JSON.parse(source.textContent), ROW = 26, LANES = 9;
var unit = data.relative ? '%' : 'ms', per = data.relative ? 1 : 1000;
function text(i) { return data.texts[i] }
function format(i) { return data.formats[i] || '' }
function shade(i) {
  var f = format(i);
  return /^u?int(8)$/.test(f) ? (f[0] === 'u' ? 'u8' : 'i8') : /^u?int16$/.test(f) ? 'i16'
      : /^u?int[24]$|^float4/.test(f) ? 'i4'
    : /^float8/.test(f) ? 'f8' : f === 'float16' || f === 'bfloat16' ? 'f16'
    : /^(float|double)$/.test(f) ? 'f32' : 'none';
}
function num(us) {
  if (us === null || us === undefined || isNaN(us)) return '\u2013';
  var x = us / per, a = Math.abs(x);
  return (a >= 100 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : a >= 1 ? x.toFixed(2) : a >= 0.0995 ||
      a === 0 ? x.toFixed(3) : a >= 0.0001 ? x.toPrecision(2) : x.toExponential(1)) + ' ' + unit;
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
