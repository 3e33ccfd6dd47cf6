// Single keys. An element with data-key="d" or data-key="g u" is focused (fields)
// or clicked when its keys are pressed; data-key-label says what that does.
// Keys are ignored in fields, with modifiers, and when switched off.
(function () {
  'use strict';
  var dialog = document.getElementById('keys');
  // form is the one that was used last: of two buttons with one key, its own is meant.
  var typed = '', last = 0, form = null;
  document.addEventListener('focusin', function (e) { if (e.target.form) form = e.target.form; });
  function off() { try { return localStorage.getItem('leakdiff.keys') === 'off'; } catch (e) { return false; } }
  function field(el) { return el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) && !/^(radio|checkbox|button|submit|file)$/.test(el.type); }
  // Parts of a page that are folded have their keys nevertheless.
  function reachable(el) {
    var closed = el.closest('details:not([open])');
    return !closed || el.closest('summary') ? el.getClientRects().length > 0 : closed.matches('.part');
  }
  function find(keys) {
    var all = [].filter.call(document.querySelectorAll('[data-key]'), function (el) { return el.dataset.key === keys && (reachable(el) || el.closest('.menu:not([open])')); });
    var open = all.filter(function (el) { return !el.closest('details:not([open])'); });
    return all.filter(function (el) { return el.form && el.form === form; })[0] || open.filter(function (el) { return el.closest('main'); })[0] || open[0] || all[0];
  }
  // x goes to the buttons under the snapshots, else to the boxes: A first, then B.
  function choice() {
    var side = document.activeElement.name === 'a' ? 'b' : 'a', picks = '.pickrow [name=' + side + ']';
    return document.querySelector(picks + ':checked') || document.querySelector(picks) || find(side);
  }
  function prefix(keys) {
    return [].some.call(document.querySelectorAll('[data-key]'), function (el) { return el.dataset.key.indexOf(keys + ' ') === 0; });
  }
  function list() {
    if (!dialog) return;
    var body = dialog.querySelector('tbody'), seen = { '/': 1, x: 1 };
    body.querySelectorAll('.page-key').forEach(function (tr) { tr.remove(); });
    document.querySelectorAll('[data-key]').forEach(function (el) {
      if (seen[el.dataset.key]) return;
      seen[el.dataset.key] = 1;
      var tr = body.insertRow(), th = document.createElement('th'), kbd = document.createElement('kbd');
      tr.className = 'plain page-key'; th.scope = 'row'; kbd.textContent = el.dataset.key;
      th.appendChild(kbd); tr.appendChild(th);
      tr.insertCell().textContent = el.dataset.keyLabel || el.getAttribute('aria-label') || el.textContent.trim();
    });
    document.getElementById('keys-on').checked = !off();
    dialog.showModal();
  }
  document.addEventListener('keydown', function (e) {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.key.length !== 1 || field(e.target)) return;
    if (dialog && dialog.open) return;
    if (off()) return;
    if (e.key === '?') { list(); e.preventDefault(); return; }
    var now = Date.now();
    var keys = typed && now - last < 1200 ? typed + ' ' + e.key : e.key;
    var el = find(keys) || find(e.key);
    if (!el && e.key === 'x') el = choice();
    typed = !el && prefix(keys) ? keys : ''; last = now;
    if (!el) return;
    e.preventDefault();
    var menu = el.tagName === 'BUTTON' && el.closest('.menu');
    if (menu) menu.open = true; // so that the button can say what it did
    var part = el.closest('.part');
    if (part) part.open = true;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(el.tagName)) { el.focus(); if (el.select) el.select(); } else el.click();
  });
  if (!dialog) return;
  document.getElementById('keys-open').addEventListener('click', list);
  document.getElementById('keys-on').addEventListener('change', function (e) {
    try { localStorage.setItem('leakdiff.keys', e.target.checked ? 'on' : 'off'); } catch (err) { /* private mode */ }
  });
})();
