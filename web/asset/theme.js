// The chosen theme is a cookie: the server writes it into the page, so that nothing has to
// run before the first paint.
(function () {
  'use strict';
  var root = document.documentElement;
  function dark() {
    var t = root.dataset.theme;
    return t ? t === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }
  function keep(theme) {
    root.dataset.theme = theme;
    document.cookie = 'leakdiff-theme=' + theme + '; path=/; max-age=31536000; samesite=lax';
  }
  root.classList.add('js');
  document.addEventListener('click', function (e) {
    if (e.target.closest && e.target.closest('#theme')) keep(dark() ? 'light' : 'dark');
  });
})();
