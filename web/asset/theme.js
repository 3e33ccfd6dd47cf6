// Blocking and tiny: the stored theme is set before the first paint.
(function () {
  'use strict';
  var root = document.documentElement;
  function stored() { try { return localStorage.getItem('leakdiff.theme'); } catch (e) { return null; } }
  function dark() {
    var t = root.dataset.theme;
    return t ? t === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }
  var theme = stored();
  if (theme === 'dark' || theme === 'light') root.dataset.theme = theme;
  root.classList.add('js');
  document.addEventListener('click', function (e) {
    if (!e.target.closest || !e.target.closest('#theme')) return;
    root.dataset.theme = dark() ? 'light' : 'dark';
    try { localStorage.setItem('leakdiff.theme', root.dataset.theme); } catch (err) { /* private mode */ }
  });
})();
