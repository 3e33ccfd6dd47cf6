// A button with data-copy="id" copies the text of the element with that id, or
// of the address in its data-copy-url (a twin of the page). A details.menu takes the
// focus when it opens; Escape and a click elsewhere close it.
(function () {
  'use strict';
  function write(text) {
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
    var area = document.createElement('textarea');
    area.value = text; area.className = 'vh';
    document.body.appendChild(area); area.select();
    var ok = document.execCommand('copy');
    area.remove();
    return ok ? Promise.resolve() : Promise.reject(new Error('refused'));
  }
  function read(button) {
    if (button.dataset.copyUrl) return fetch(button.dataset.copyUrl).then(function (r) { if (!r.ok) throw new Error(r.status); return r.text(); });
    var el = document.getElementById(button.dataset.copy);
    return Promise.resolve(el.value === undefined ? el.textContent : el.value);
  }
  document.addEventListener('click', function (e) {
    var button = e.target.closest && e.target.closest('[data-copy],[data-copy-url]');
    if (!button) return;
    var text = button.textContent;
    function say(word) {
      button.textContent = word; button.setAttribute('aria-live', 'polite');
      setTimeout(function () { button.textContent = text; }, 1600);
    }
    read(button).then(write).then(function () { say('Copied'); }, function () { say('Copying was refused; select the text'); });
  });
  function close(menu) { menu.open = false; }
  document.addEventListener('toggle', function (e) {
    if (e.target.matches('.menu[open]')) e.target.querySelector('ul a, ul button').focus();
  }, true);
  document.addEventListener('keydown', function (e) {
    var menu = e.key === 'Escape' && document.querySelector('.menu[open]');
    if (menu) { close(menu); menu.querySelector('summary').focus(); }
  });
  document.addEventListener('click', function (e) {
    document.querySelectorAll('.menu[open]').forEach(function (m) { if (!m.contains(e.target)) close(m); });
  });
})();
