// Sorts and filters the list of cases where all of them are on the page. The address
// follows, so that a reload and a bookmark show the same.
(function () {
  'use strict';
  var form = document.getElementById('choice'), table = document.getElementById('cases');
  if (!form || !table) return;
  var body = table.tBodies[0], rows = [].slice.call(body.rows), none = document.getElementById('cases-none'), shown = document.getElementById('cases-shown');
  var find = form.elements.find, verdict = form.elements.verdict, sort = form.elements.sort;
  rows.forEach(function (r) { r.words = r.textContent.toLowerCase(); });
  var by = {
    '': function (a, b) { return b.dataset.newest - a.dataset.newest; },
    name: function (a, b) { return a.dataset.name < b.dataset.name ? -1 : a.dataset.name > b.dataset.name ? 1 : 0; },
    verdict: function (a, b) { return a.dataset.rank - b.dataset.rank; },
    activity: function (a, b) { return b.dataset.activity - a.dataset.activity; }
  };
  function apply() {
    var words = find.value.toLowerCase().split(/\s+/).filter(Boolean), wanted = verdict.value, left = 0;
    rows.forEach(function (r) {
      r.hidden = !!wanted && r.dataset.verdict !== wanted || !words.every(function (w) { return r.words.indexOf(w) >= 0; });
      if (!r.hidden) left++;
    });
    rows.slice().sort(function (a, b) { return by[sort.value](a, b) || rows.indexOf(a) - rows.indexOf(b); }).forEach(function (r) { body.append(r); });
    none.hidden = left > 0; table.hidden = !left;
    shown.textContent = left === rows.length ? '' : left === 1 ? '1 case fits.' : left + ' cases fit.';
    var q = new URLSearchParams();
    [find, verdict, sort].forEach(function (f) { if (f.value) q.set(f.name, f.value); });
    history.replaceState(null, '', location.pathname + (q.size ? '?' + q : ''));
  }
  var more = form.querySelector('.more'), button = document.getElementById('choice-show');
  button.hidden = !more.open;
  more.addEventListener('toggle', function () { button.hidden = !more.open; });
  form.addEventListener('input', function (e) { if (!e.target.closest('.more')) apply(); });
  form.addEventListener('change', function (e) { if (!e.target.closest('.more')) apply(); });
  form.addEventListener('submit', function (e) { if (!more.open) { e.preventDefault(); apply(); } });
  if (find.value || verdict.value || sort.value) apply(); // the browser put them back
})();
