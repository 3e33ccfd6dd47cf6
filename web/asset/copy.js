// A button with data-copy="id" copies the text of the element with that id, or
// of the address in its data-copy-url (a twin of the page); with data-freeze it freezes
// the page at that path first and adds the link. A details.menu takes the
// focus when it opens; Escape and a click elsewhere close it.
(function () {
  'use strict';
  // Safari lets a page write only while it handles the click: the text is promised then.
  function write(promise) {
    if (navigator.clipboard && window.ClipboardItem) return navigator.clipboard.write([new ClipboardItem({'text/plain': promise.then(function (text) { return new Blob([text], {type: 'text/plain'}); })})]);
    return promise.then(function (text) {
      var area = document.createElement('textarea');
      area.value = text; area.className = 'vh';
      document.body.appendChild(area); area.select();
      var ok = document.execCommand('copy');
      area.remove();
      if (!ok) throw 0;
    });
  }
  function get(url, how) { return fetch(url, how).then(function (r) { if (!r.ok) throw 0; return r.text(); }); }
  function read(button) {
    var d = button.dataset, el = document.getElementById(d.copy);
    if (!d.copyUrl) return Promise.resolve(el.value === undefined ? el.textContent : el.value);
    if (!d.freeze) return get(d.copyUrl);
    return Promise.all([get(d.copyUrl), get(d.freezeUrl, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({view: d.freeze})})])
      .then(function (got) { return got[0].replace(/(Full report: )\S+\s*$|\s*$/, function (_, words) { return (words || '\n') + JSON.parse(got[1]).url + '\n'; }); });
  }
  document.addEventListener('click', function (e) {
    var button = e.target.closest && e.target.closest('[data-copy],[data-copy-url]');
    if (!button) return;
    var text = button.textContent;
    function say(word) {
      button.textContent = word; button.setAttribute('aria-live', 'polite');
      setTimeout(function () { button.textContent = text; }, 1600);
    }
    write(read(button)).then(function () { say('Copied'); }, function () { say('Copying was refused; select the text'); });
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
