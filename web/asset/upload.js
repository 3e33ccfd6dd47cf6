// Files and folders dropped anywhere, chosen, or pasted become one multipart
// request; the names of its parts are relative paths, each after the time of its file. Figures shown are bytes
// that left this computer; 100 % is only said when the server has stored them.
// Then the page of the case opens: with its answer, or with the progress of its reading.
(function () {
  'use strict';
  var form = document.getElementById('upload');
  if (!form || !window.FormData) return;
  var $ = function (id) { return document.getElementById(id); };
  var max = +form.dataset.max || 0, free = +form.dataset.free || 0, listed = 40;
  var xhr = null, files = [], rows = [], started = 0, held = null;
  var key = form.elements.key;

  function size(n) {
    var units = ['B', 'kB', 'MB', 'GB', 'TB'], i = 0;
    while (n >= 999.5 && i < 4) { n /= 1000; i++; }
    return (i && n < 9.95 ? n.toFixed(1) : Math.round(n)) + '\u00a0' + units[i];
  }
  function count(n) { return n === 1 ? '1 file' : n + ' files'; }
  function sum(list) { return list.reduce(function (t, f) { return t + f.file.size; }, 0); }
  function refuse(text) {
    $('sending').hidden = true; $('refused').hidden = !text; $('refused').textContent = text;
    form.classList.remove('busy');
  }

  // A dropped entry is a file or a directory; readEntries gives at most 100 at a time.
  function walk(entry, path) {
    if (entry.isFile) return new Promise(function (ok, no) {
      entry.file(function (f) { ok([{ file: f, path: path + f.name }]); }, no);
    });
    var reader = entry.createReader(), found = [];
    return new Promise(function (ok, no) {
      (function more() {
        reader.readEntries(function (entries) {
          if (entries.length) { found = found.concat([].slice.call(entries)); more(); return; }
          found.reduce(function (before, e) {
            return before.then(function (list) { return walk(e, path + entry.name + '/').then(function (add) { return list.concat(add); }); });
          }, Promise.resolve([])).then(ok, no);
        }, no);
      })();
    });
  }

  function show() {
    var list = $('sending-files');
    list.textContent = ''; rows = [];
    files.slice(0, listed).forEach(function (f) {
      var li = document.createElement('li'), name = document.createElement('span'), text = document.createElement('span'), out = document.createElement('button');
      name.className = 'path'; name.textContent = f.path;
      text.className = 'num'; text.textContent = size(f.file.size);
      out.type = 'button'; out.className = 'link'; out.textContent = 'leave out'; out.setAttribute('aria-label', 'leave out ' + f.path);
      out.addEventListener('click', function () { leaveOut(f); });
      li.append(name, text, out); list.append(li); rows.push(text);
    });
    if (files.length > listed) { var li = document.createElement('li'); li.className = 'muted'; li.textContent = 'and ' + count(files.length - listed) + ' more'; list.append(li); }
  }

  function leaveOut(f) {
    if (xhr) { var x = xhr; xhr = null; x.abort(); }
    files = files.filter(function (g) { return g !== f; });
    if (files.length) send(files); else cancelled();
  }

  function cancelled() { files = []; refuse('The upload was cancelled; nothing was kept.'); }

  function left(seconds) {
    return seconds < 90 ? 'about ' + Math.max(1, Math.round(seconds)) + ' s left' : 'about ' + Math.round(seconds / 60) + ' min left';
  }
  function progress(sent, total) {
    var rest = sent, seconds = (Date.now() - started) / 1000;
    rows.forEach(function (row, i) {
      var n = files[i].file.size, done = Math.max(0, Math.min(n, rest));
      rest -= done;
      row.textContent = size(done) + ' of ' + size(n) + (n ? ', ' + Math.floor(done * 100 / n) + '\u00a0%' : '');
    });
    $('sending-bar').max = total; $('sending-bar').value = sent;
    var rate = seconds > .5 && sent ? ', ' + size(sent / seconds) + '/s' : '';
    if (seconds > 1 && sent && sent < total) rate += ', ' + left((total - sent) * seconds / sent);
    say(sent < total ? 'Uploading ' + count(files.length) + ': ' + Math.min(99, Math.floor(sent * 100 / total)) + '\u00a0%, ' + size(sent) + ' of ' + size(total) + rate
      : size(total) + ' sent; the server is storing them');
  }
  function say(text) { $('sending-text').textContent = text; }

  function send(list) {
    var total = sum(list);
    if (!list.length) return refuse('There is no file in what was dropped.');
    if (key && !key.value.trim()) {
      held = list;
      refuse(count(list.length) + ' to add. The case needs its owner key: type it under “Add files” and press Upload.');
      for (var d = key.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
      return key.focus();
    }
    held = null;
    if (max && total > max) return refuse('These ' + count(list.length) + ' have ' + size(total) + '; one upload may have ' + size(max) + '. Leave out what is no dump, or pack it: text packs to a tenth.');
    if (free && total > free) return refuse('These ' + count(list.length) + ' have ' + size(total) + '; the disk of the server has room for ' + size(free) + '. Delete a case first.');
    files = list; started = Date.now();
    $('refused').hidden = true; $('sending').hidden = false; form.classList.add('busy');
    show(); progress(0, Math.max(total, 1));
    $('sending').scrollIntoView({ block: 'nearest' });
    var body = new FormData(), x = new XMLHttpRequest();
    list.forEach(function (f) {
      body.append('modified', new Date(f.file.lastModified).toISOString()); // that of the next file
      body.append('file', f.file, f.path);
    });
    xhr = x;
    x.upload.addEventListener('progress', function (e) { if (x === xhr) progress(Math.min(e.loaded, total), Math.max(total, 1)); });
    x.addEventListener('load', function () { if (x === xhr) answer(x); });
    x.addEventListener('error', function () { if (x === xhr) { xhr = null; refuse('The connection broke before the server had everything; nothing was kept. Try again.'); } });
    x.open('POST', form.dataset.api);
    x.setRequestHeader('Accept', 'application/json');
    if (key) x.setRequestHeader('Authorization', 'Bearer ' + key.value.trim());
    x.send(body);
  }

  function answer(x) {
    var a = {};
    xhr = null;
    try { a = JSON.parse(x.responseText); } catch (e) { /* a proxy's page */ }
    if (x.status >= 200 && x.status < 300 && a.id) { stored(a); return; }
    refuse([a.detail || a.title || 'The server answered with status ' + x.status + '.', a.hint].filter(Boolean).join(' '));
  }

  // The key comes once: where it is asked for later, it is shown before the page goes.
  function stored(a) {
    var box = $('kept'), address = form.dataset.to + encodeURIComponent(a.case);
    $('sending-cancel').hidden = true;
    if (!box || !a.owner_key) { say('Stored. Reading…'); soon(a.id, function () { go(address); }); return; }
    say('Stored.'); form.classList.remove('busy');
    $('kept-key').value = a.owner_key; $('kept-open').href = address; box.hidden = false; $('kept-key').select();
  }
  // What is read within a second opens as the answer; the rest as its progress.
  function soon(id, done) {
    var end = Date.now() + 1000;
    (function ask() {
      fetch(form.dataset.bundles + encodeURIComponent(id) + '.json', { cache: 'no-store' }).then(function (r) { return r.json(); }).then(function (b) {
        if (['queued', 'running'].indexOf(b.status) < 0 || Date.now() > end) done(); else setTimeout(ask, 60);
      }, done);
    })();
  }
  function go(address) {
    form.classList.remove('busy');
    if (location.pathname !== address) { location.assign(address); return; }
    dispatchEvent(new Event('leakdiff-again'));
    location.reload();
  }

  function chosen(input) {
    return [].map.call(input.files, function (f) { return { file: f, path: f.webkitRelativePath || f.name }; });
  }

  document.addEventListener('click', function (e) {
    var b = e.target.closest && e.target.closest('[data-open]');
    if (b) $(b.dataset.open).click();
  });
  [].forEach.call(form.querySelectorAll('input[type=file]'), function (input) {
    input.required = false; // files are sent as they are chosen
    input.addEventListener('change', function () { if (this.files.length) { send(chosen(this)); this.value = ''; } });
  });
  $('sending-cancel').addEventListener('click', function () { if (xhr) { var x = xhr; xhr = null; x.abort(); } cancelled(); });
  form.addEventListener('submit', function (e) {
    e.preventDefault();
    if (held) return send(held);
    if (!$('paste')) return refuse('Choose files first, or drop them on this page.');
    var text = $('paste').value, name = $('paste-name').value.trim() || 'pasted.txt';
    if (!text.trim()) { refuse('There is no text yet. Paste a dump, or choose files.'); $('paste').focus(); return; }
    // Text has no time of its own: 1970 is none.
    send([{ file: new File([text], name, { type: 'text/plain', lastModified: 0 }), path: name }]);
  });

  // Entering a child fires before leaving its parent, so the depth is counted.
  var depth = 0;
  function carriesFiles(e) { return e.dataTransfer && [].indexOf.call(e.dataTransfer.types, 'Files') >= 0; }
  function over(on) { document.body.classList.toggle('dropping', on); }
  document.addEventListener('dragenter', function (e) { if (carriesFiles(e)) { e.preventDefault(); depth++; over(true); } });
  document.addEventListener('dragleave', function (e) { if (carriesFiles(e) && --depth <= 0) { depth = 0; over(false); } });
  document.addEventListener('dragover', function (e) { if (carriesFiles(e)) { e.preventDefault(); e.dataTransfer.dropEffect = 'copy'; } });
  document.addEventListener('drop', function (e) {
    if (!carriesFiles(e)) return;
    e.preventDefault(); depth = 0; over(false);
    if (xhr) return refuseMore();
    // Entries must be taken before the first await: the list is emptied afterwards.
    var entries = [].map.call(e.dataTransfer.items, function (i) { return i.webkitGetAsEntry && i.webkitGetAsEntry(); }).filter(Boolean);
    if (!entries.length) { send([].map.call(e.dataTransfer.files, function (f) { return { file: f, path: f.name }; })); return; }
    Promise.all(entries.map(function (en) { return walk(en, ''); })).then(function (lists) { send([].concat.apply([], lists)); },
      function () { refuse('A dropped file could not be read. Files that another program holds, or in /proc, must be copied first: cp -r.'); });
  });
  function refuseMore() { say('An upload is under way; drop these when it is finished, or cancel it.'); }
})();
