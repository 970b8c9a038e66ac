/* picture_draw.js - draws the whole run, and the rows that are in view. */
var NS, LANE;
host.innerHTML = '<svg></svg>';
NS = host.firstChild.namespaceURI;
host.textContent = '';
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
