// Stages of a bundle that is being read: server-sent events, and questions every
// two seconds where those do not come through. At the end the page loads again.
(function () {
  'use strict';
  var box = document.getElementById('progress');
  if (!box) return;
  var bar = document.getElementById('progress-bar'), say = document.getElementById('progress-say');
  var items = [].slice.call(box.querySelectorAll('[data-stage]'));
  var words = { done: 'done', now: 'under way', waiting: 'waiting' };
  var source = null, timer = 0, over = false, stage = '';

  function show(p) {
    if (over) return;
    var at = items.findIndex(function (li) { return li.dataset.stage === p.stage; });
    if (p.status === 'queued' || p.status === 'received') at = -1;
    items.forEach(function (li, i) {
      if (at < 0) return;
      var state = i < at ? 'done' : i === at ? 'now' : 'waiting';
      li.className = state;
      li.querySelector('.state').textContent = words[state];
      if (i === at && p.text) li.querySelector('.text').textContent = p.text;
    });
    if (bar) { bar.hidden = !p.total; if (p.total) { bar.max = p.total; bar.value = Math.min(p.done, p.total); } }
    // Said at each stage, not at each figure: a reader hears all that changes here.
    if (p.stage !== stage) { stage = p.stage; if (at >= 0) say.textContent = items[at].querySelector('.name').textContent; }
    if (['done', 'read', 'failed', 'cancelled'].indexOf(p.status) >= 0) finish();
  }
  function finish() {
    over = true; clearTimeout(timer);
    if (source) source.close();
    say.textContent = 'Finished.';
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
