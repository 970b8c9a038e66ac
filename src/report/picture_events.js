/* picture_events.js - what pointer, keys, search and the page's address do. */

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
