// What an address or a key leads to may lie in a folded part of the page, which opens.
(function () {
  'use strict';
  function reveal(el) {
    for (var d = el && el.closest('details:not([open])'); d; d = d.parentElement.closest('details:not([open])')) d.open = true;
  }
  function target() {
    var id = location.hash.slice(1), el = null;
    try { el = id && document.getElementById(decodeURIComponent(id)); } catch (e) { /* no such address */ }
    if (!el || !el.closest('details:not([open])')) return;
    reveal(el);
    el.scrollIntoView();
  }
  addEventListener('hashchange', target);
  document.addEventListener('click', function (e) {
    var a = e.target.closest && e.target.closest('a[href^="#"]');
    if (a && a.hash === location.hash) target();
  });
  target();
})();
