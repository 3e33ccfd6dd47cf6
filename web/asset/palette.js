// The command palette, opened by Ctrl+K or Cmd+K: everything that the page offers by
// link, button or key, and its sections, chosen by typing. j and k go through the rows
// of tables and the findings. Both are off where single keys are.
(function () {
  'use strict';
  var dialog = document.getElementById('palette');
  if (!dialog) return;
  var input = dialog.querySelector('input'), list = dialog.querySelector('ul'), shown = [], at = 0;
  function off() { try { return localStorage.getItem('leakdiff.keys') === 'off'; } catch (e) { return false; } }
  function visible(el) { return el.getClientRects().length > 0 && !el.closest('details:not([open]) > :not(summary)'); }
  function label(el) {
    var menu = el.closest('.menu'), of = menu && menu.querySelector('summary');
    return (of && of !== el ? (of.getAttribute('aria-label') || of.textContent) + ' ' : '') + (el.dataset.keyLabel || el.getAttribute('aria-label') || el.textContent || el.placeholder || '').trim().replace(/\s+/g, ' ');
  }
  function commands() {
    var out = [], seen = {};
    document.querySelectorAll('[data-key],.crumb a,.crumb .menu button,.bar nav a,main h2[id],main h3[id]').forEach(function (el) {
      var text = label(el);
      if (!text || seen[text] || dialog.contains(el) || !(visible(el) || el.closest('details'))) return;
      seen[text] = 1;
      out.push({ text: text, key: el.dataset.key || '', kind: /^H/.test(el.tagName) ? 'section' : '', go: function () {
        for (var d = el.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
        if (/^H/.test(el.tagName)) { el.tabIndex = -1; el.scrollIntoView(); el.focus(); }
        else if (/^(INPUT|SELECT|TEXTAREA)$/.test(el.tagName)) el.focus(); else el.click();
      } });
    });
    return out;
  }
  var all = [];
  function mark() {
    [].forEach.call(list.children, function (li, i) { li.setAttribute('aria-selected', i === at); if (i === at) { input.setAttribute('aria-activedescendant', li.id); li.scrollIntoView({ block: 'nearest' }); } });
  }
  function draw() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = all.filter(function (c) { return words.every(function (w) { return c.text.toLowerCase().indexOf(w) >= 0; }); }).slice(0, 40);
    if (words.length) shown.push({ text: 'Search the whole server for “' + input.value.trim() + '”', key: '', kind: '', go: function () { location.assign(dialog.querySelector('form').dataset.to + encodeURIComponent(input.value.trim())); } });
    at = 0;
    list.replaceChildren.apply(list, shown.map(function (c, i) {
      var li = document.createElement('li'), key = document.createElement('kbd');
      li.id = 'command-' + i; li.setAttribute('role', 'option'); li.textContent = c.text;
      if (c.kind) { key.textContent = c.kind; li.append(' ', key); } else if (c.key) { key.textContent = c.key; li.append(' ', key); }
      li.addEventListener('click', function () { run(c); });
      return li;
    }));
    dialog.querySelector('[role=status]').textContent = shown.length + (shown.length === 1 ? ' command' : ' commands');
    mark();
  }
  function run(c) { dialog.close(); if (c) c.go(); }
  function open() { all = commands(); input.value = ''; dialog.showModal(); draw(); input.focus(); }
  input.addEventListener('input', draw);
  dialog.querySelector('form').addEventListener('submit', function (e) { e.preventDefault(); run(shown[at]); });
  input.addEventListener('keydown', function (e) {
    if (e.key !== 'ArrowDown' && e.key !== 'ArrowUp' || !shown.length) return;
    at = (at + (e.key === 'ArrowDown' ? 1 : shown.length - 1)) % shown.length; mark(); e.preventDefault();
  });
  var opener = document.getElementById('palette-open');
  if (opener) opener.addEventListener('click', open);
  function rows() { return [].filter.call(document.querySelectorAll('main tbody tr, main .finding, main .part > summary'), function (r) { return visible(r) && target(r); }); }
  function target(r) { return r.matches('summary') ? r : r.querySelector('a[href],summary,button'); }
  document.addEventListener('keydown', function (e) {
    if (e.defaultPrevented || off() || document.querySelector('dialog[open]')) return;
    if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === 'k') { open(); e.preventDefault(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || (e.key !== 'j' && e.key !== 'k')) return;
    var all = rows(), now = all.findIndex(function (r) { return r.contains(document.activeElement); });
    if (!all.length) return;
    var next = all[now < 0 ? (e.key === 'j' ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, now + (e.key === 'j' ? 1 : -1)))];
    target(next).focus(); next.scrollIntoView({ block: 'nearest' }); e.preventDefault();
  });
})();
