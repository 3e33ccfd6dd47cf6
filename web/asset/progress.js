// How far a bundle is read: server-sent events, and questions every two seconds where those
// do not come through. At the end the page loads again, with the place and the words of who
// reads and writes on it.
(function () {
  'use strict';
  var memory = 'leakdiff.again ' + location.pathname, leaving = false;

  // ---- what was typed, opened and scrolled to comes back after the page loaded again ----
  function fields() { return [].slice.call(document.querySelectorAll('main input, main textarea, main select')); }
  function name(el) {
    return el.form && el.name && el.name !== 'key' && !/file|hidden|submit|password/.test(el.type) ? el.form.getAttribute('action') + ' ' + el.name + (/radio|checkbox/.test(el.type) ? ' ' + el.value : '') : '';
  }
  function changed(el) {
    if (el.type === 'radio' || el.type === 'checkbox') return el.checked !== el.defaultChecked;
    if (el.options) return [].some.call(el.options, function (o) { return o.selected !== o.defaultSelected; });
    return el.value !== el.defaultValue;
  }
  function keep() {
    if (!leaving) return;
    var at = document.activeElement, had = { y: scrollY, open: [], typed: [], focus: at && name(at), from: at && at.selectionStart };
    document.querySelectorAll('main details[open][id]').forEach(function (d) { had.open.push(d.id); });
    fields().forEach(function (el) { if (name(el) && changed(el)) had.typed.push([name(el), el.value, el.checked]); });
    try { sessionStorage.setItem(memory, JSON.stringify(had)); } catch (e) { /* no room */ }
  }
  function restore() {
    var had = null;
    try { had = JSON.parse(sessionStorage.getItem(memory)); sessionStorage.removeItem(memory); } catch (e) { /* nothing was kept */ }
    if (!had) return;
    had.open.forEach(function (id) { var d = document.getElementById(id); if (d) d.open = true; });
    var all = fields();
    had.typed.forEach(function (was) {
      var el = all.find(function (f) { return name(f) === was[0]; });
      if (!el) return;
      if (el.type === 'radio' || el.type === 'checkbox') el.checked = was[2]; else el.value = was[1];
      for (var d = el.closest('details:not([open])'); d; d = d.parentElement.closest('details:not([open])')) d.open = true;
    });
    scrollTo(0, had.y);
    var at = had.focus && all.find(function (f) { return name(f) === had.focus; });
    if (at) { at.focus({ preventScroll: true }); try { at.setSelectionRange(had.from, had.from); } catch (e) { /* has no text */ } }
  }
  addEventListener('leakdiff-again', function () { leaving = true; });
  addEventListener('pagehide', keep);
  restore();

  // ---- the progress ----
  var box = document.getElementById('progress');
  if (!box) return;
  var bar = document.getElementById('progress-bar'), line = document.getElementById('progress-text'), say = document.getElementById('progress-say');
  var items = [].slice.call(box.querySelectorAll('[data-stage]'));
  var words = { done: 'done', now: 'under way', waiting: 'waiting' };
  var source = null, timer = 0, over = false, stage = '', began = Date.now(), first = -1;

  function left(p) {
    if (first < 0) { first = p.taken; began = Date.now(); }
    var seconds = (Date.now() - began) / 1000, rest = (p.size - p.taken) * seconds / (p.taken - first);
    if (p.stage !== 'unpacking' || seconds < 1 || p.taken <= first || rest < 1) return '';
    return rest < 90 ? '; about ' + Math.round(rest) + ' s left' : '; about ' + Math.round(rest / 60) + ' min left';
  }
  function show(p) {
    if (over) return;
    var at = items.findIndex(function (li) { return li.dataset.stage === p.stage; });
    if (p.status === 'queued' || p.status === 'received') at = -1;
    items.forEach(function (li, i) {
      if (at < 0) return;
      var state = i < at ? 'done' : i === at ? 'now' : 'waiting';
      li.className = state;
      li.querySelector('.state').textContent = words[state];
      if (i === at && p.text) li.querySelector('.text').textContent = p.text + left(p);
    });
    if (line && p.text) line.textContent = p.text + left(p);
    if (bar) { bar.hidden = !p.taken && !line; if (p.taken) { bar.max = p.size; bar.value = p.taken; } }
    // Said at each stage, not at each figure: a reader hears all that changes here.
    if (p.stage !== stage) { stage = p.stage; if (at >= 0) say.textContent = items[at].querySelector('.name').textContent; else if (line) say.textContent = p.text; }
    if (['done', 'read', 'failed', 'cancelled'].indexOf(p.status) >= 0) finish();
  }
  function finish() {
    over = true; clearTimeout(timer);
    if (source) source.close();
    say.textContent = 'Finished.';
    again();
  }
  // An upload that is under way ends first; it opens the page by itself.
  function again() {
    if (document.querySelector('form.busy')) { setTimeout(again, 500); return; }
    leaving = true;
    location.reload();
  }
  function poll() {
    if (over) return;
    fetch(box.dataset.poll, { headers: { Accept: 'application/json' }, cache: 'no-store' })
      .then(function (r) { if (r.status === 404 || r.status === 410) { location.reload(); over = true; } return r.json(); })
      .then(show, function () { /* asked again */ })
      .then(function () { if (!over) timer = setTimeout(poll, 2000); });
  }
  function listen() {
    if (!window.EventSource) return poll();
    var heard = false;
    source = new EventSource(box.dataset.events);
    source.addEventListener('progress', function (e) { heard = true; show(JSON.parse(e.data)); });
    source.addEventListener('error', function () { source.close(); clearTimeout(timer); poll(); });
    // A proxy that gathers the stream stays silent.
    timer = setTimeout(function () { if (!heard && !over) { source.close(); poll(); } }, 5000);
  }
  listen();
})();
