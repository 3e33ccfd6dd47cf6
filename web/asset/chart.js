// One instant in all charts of a case: pointing at a snapshot, or the arrow keys, show it
// everywhere with its figures; a click chooses the snapshots to compare. The figures are those
// of the table below, and the charts say where each snapshot stands: nothing is requested.
(function () {
  'use strict';
  var table = document.querySelector('table.snaps'), box = document.getElementById('totals');
  if (!table || !box || !table.tHead) return;
  var NS = 'http://www.w3.org/2000/svg', mostLines = 4;

  // own is the text of an element without that of its children.
  function own(el) { return [].filter.call(el.childNodes, function (n) { return n.nodeType === 3; }).map(function (n) { return n.data; }).join('').replace(/\u200b/g, '').trim(); }
  var labels = [].slice.call(table.tHead.rows[0].cells, 1).map(own);
  var times = [], groups = [];
  [].forEach.call(table.tBodies, function (body) {
    [].forEach.call(body.rows, function (row) {
      var name = own(row.cells[0]), cells = [].slice.call(row.cells, 1), group = groups[groups.length - 1];
      if (row.classList.contains('meta')) { if (!times.length) times = cells.map(function (c) { return c.textContent.trim(); }); return; }
      if (row.classList.contains('grp')) { groups.push({ name: name, rows: [], picks: {} }); return; }
      if (!group) { group = { name: '', rows: [], picks: {} }; groups.push(group); }
      if (row.classList.contains('pickrow')) {
        cells.forEach(function (c, i) { var r = c.querySelector('input[type=radio]'); if (r) (group.picks[r.name] = group.picks[r.name] || [])[i] = r; });
        return;
      }
      group.rows.push({ name: name, values: cells.map(function (c) { var t = c.textContent.replace(/[^0-9]/g, ''); return t ? +t : null; }) });
    });
  });
  if (!labels.length || !groups.length) return;
  var at = -1, line = 0, clicks = 0, form = table.closest('form');

  function charts() { return [].filter.call(document.querySelectorAll('svg[data-x]'), function (s) { return s.getClientRects().length; }); }
  function places(svg) {
    if (!svg.places) {
      var named = svg.dataset.l.split('\n');
      svg.places = svg.dataset.x.split(' ').map(function (x, i) { return { x: +x, column: labels.indexOf(named[i]) }; }).filter(function (p) { return p.column >= 0; });
    }
    return svg.places;
  }
  function groupOf(svg) {
    var name = (svg.closest('[data-process]') || { dataset: {} }).dataset.process;
    for (var i = 0; i < groups.length; i++) if (groups[i].name === name) return groups[i];
    return groups[0];
  }
  function mark(svg, name, column) {
    var old = svg.querySelector('.' + name), place = places(svg).filter(function (p) { return p.column === column; })[0];
    if (!place) { if (old) old.remove(); return; }
    if (!old) {
      old = document.createElementNS(NS, 'line');
      old.setAttribute('class', name);
      old.setAttribute('y1', 0); old.setAttribute('y2', svg.viewBox.baseVal.height);
      svg.appendChild(old);
    }
    old.setAttribute('x1', place.x); old.setAttribute('x2', place.x);
  }

  // band shades what lies between A and B.
  function band(svg, a, b) {
    var old = svg.querySelector('.c-range'), at = places(svg).filter(function (p) { return p.column === a || p.column === b; });
    if (old) old.remove();
    if (at.length < 2) return;
    var rect = document.createElementNS(NS, 'rect');
    rect.setAttribute('class', 'c-range');
    rect.setAttribute('x', Math.min(at[0].x, at[1].x)); rect.setAttribute('width', Math.abs(at[1].x - at[0].x));
    rect.setAttribute('y', 0); rect.setAttribute('height', svg.viewBox.baseVal.height);
    svg.prepend(rect);
  }
  function figure(row, i) {
    var n = row.values[i];
    if (n === null) return 'not captured';
    for (var before = i - 1; before >= 0 && row.values[before] === null; before--);
    var by = before >= 0 ? n - row.values[before] : 0;
    return n.toLocaleString('en').replace(/,/g, '\u202f') + (before >= 0 ? ' (' + (by < 0 ? '\u2212' + -by : '+' + by) + ' since ' + labels[before] + ')' : '');
  }
  function lines(i) {
    var out = groups.filter(function (g) { return g.rows.length; }).map(function (g) {
      var row = g.rows[0];
      return (g.name ? g.name + ', ' : '') + row.name[0].toLowerCase() + row.name.slice(1) + ' ' + figure(row, i);
    });
    return out.length > mostLines ? out.slice(0, mostLines - 1).concat('and ' + (out.length - mostLines + 1) + ' more') : out;
  }

  var tip = document.createElement('div'), live = document.createElement('div'), asked = '';
  tip.className = 'tip'; tip.hidden = true;
  live.className = 'vh'; live.setAttribute('aria-live', 'polite');
  document.body.append(tip, live);

  function show(i, svg) {
    at = i;
    charts().forEach(function (s) { mark(s, 'c-cross', i); });
    [].forEach.call(table.rows, function (r) { [].forEach.call(r.cells, function (c, k) { c.classList.toggle('now', i >= 0 && k === i + 1 && r.cells.length > 2); }); });
    tip.hidden = i < 0 || !svg;
    if (tip.hidden) return;
    tip.replaceChildren();
    [labels[i] + (times[i] ? '  ' + times[i] : '')].concat(lines(i)).forEach(function (text, k) {
      var el = document.createElement(k ? 'span' : 'b');
      el.textContent = text;
      tip.append(el);
    });
    var r = svg.getBoundingClientRect(), p = places(svg).filter(function (p) { return p.column === i; })[0];
    if (!p) { tip.hidden = true; return; }
    var x = r.left + p.x / svg.viewBox.baseVal.width * r.width, right = x > r.left + .6 * r.width;
    tip.style.left = Math.max(4, Math.min(innerWidth - tip.offsetWidth - 4, right ? x - tip.offsetWidth - 10 : x + 10)) + scrollX + 'px';
    tip.style.top = Math.max(4, r.top - tip.offsetHeight - 4 > 0 ? r.top - tip.offsetHeight - 4 : r.bottom + 4) + scrollY + 'px';
  }
  function nearest(svg, e) {
    var r = svg.getBoundingClientRect(), x = (e.clientX - r.left) / r.width * svg.viewBox.baseVal.width, best = null;
    places(svg).forEach(function (p) { if (!best || Math.abs(p.x - x) < Math.abs(best.x - x)) best = p; });
    return best;
  }

  // A and B are radio buttons of the form below the timeline; a process has its own.
  function chosen(name) {
    for (var g = 0; g < groups.length; g++) { var list = groups[g].picks[name] || []; for (var i = 0; i < list.length; i++) if (list[i] && list[i].checked) return i; }
    return -1;
  }
  function choose(side, i, group) {
    var list = (group.picks.a ? group : groups.filter(function (g) { return g.picks.a; })[0] || group).picks[side];
    if (!list || !list[i]) return;
    list[i].checked = true;
    list[i].dispatchEvent(new Event('change', { bubbles: true }));
    picked(true);
  }
  // A choice in a chart is a range to be answered; one in the table is for the comparison alone.
  function picked(charted) {
    var a = chosen('a'), b = chosen('b');
    charts().forEach(function (s) { mark(s, 'c-a', a); mark(s, 'c-b', b); band(s, a, b); });
    if (charted && a >= 0 && b >= 0 && a !== b) answer(labels[Math.min(a, b)], labels[Math.max(a, b)]);
  }
  // answer shows what the server says of the range in place of what stands below the lanes.
  function answer(from, to) {
    var old = document.getElementById('range'), url = new URL(location.href);
    url.searchParams.set('from', from); url.searchParams.set('to', to); url.hash = '';
    if (!old || asked === url.href) return;
    asked = url.href;
    fetch(asked, { headers: { Accept: 'text/html' } }).then(function (r) { return r.ok ? r.text() : Promise.reject(); }).then(function (text) {
      var now = new DOMParser().parseFromString(text, 'text/html').getElementById('range');
      if (!now || asked !== url.href) return;
      old.replaceWith(now);
      history.replaceState(null, '', url.href);
      live.textContent = (now.querySelector('.ranged b') || now).textContent;
    }).catch(function () { asked = ''; });
  }
  function compare() { if (form) form.requestSubmit ? form.requestSubmit() : form.submit(); }
  function click(i, shift, group) {
    var a = chosen('a'), b = chosen('b'), side = shift ? 'b' : clicks === 0 ? 'a' : clicks === 1 ? 'b' : Math.abs(i - a) < Math.abs(i - b) ? 'a' : 'b';
    clicks++;
    choose(side, i, group);
    live.textContent = (side === 'a' ? 'A is ' : 'B is ') + labels[i];
  }

  document.addEventListener('pointermove', function (e) {
    var svg = e.target.closest && e.target.closest('svg[data-x]'), p = svg && nearest(svg, e);
    if (p) { if (p.column !== at || tip.hidden) show(p.column, svg); } else if (at >= 0 && !box.contains(document.activeElement)) show(-1);
  });
  // A drag chooses both ends at once.
  var from = null, dragged = false;
  document.addEventListener('pointerdown', function (e) {
    var svg = e.target.closest && e.target.closest('svg[data-x]');
    dragged = false;
    from = svg && !e.target.closest('a') && e.button === 0 ? { svg: svg, p: nearest(svg, e) } : null;
  });
  document.addEventListener('pointerup', function (e) {
    var to = from && from.p && nearest(from.svg, e), group = from && groupOf(from.svg);
    if (to && to.column !== from.p.column) {
      dragged = true; clicks = 2;
      choose('a', Math.min(to.column, from.p.column), group); choose('b', Math.max(to.column, from.p.column), group);
    }
    from = null;
  });
  document.addEventListener('click', function (e) {
    if (dragged) { dragged = false; return; }
    var svg = e.target.closest && e.target.closest('svg[data-x]'), p = svg && !e.target.closest('a') && nearest(svg, e);
    if (p) { show(p.column, svg); click(p.column, e.shiftKey, groupOf(svg)); }
  });
  table.addEventListener('change', function () { picked(); });

  function ready() {
    box.tabIndex = 0;
    box.setAttribute('role', 'group');
    box.setAttribute('aria-label', 'Charts: arrow keys move through the snapshots, a and b choose two, d compares them, Enter opens one');
    if (chosen('a') >= 0 && clicks) picked();
  }
  box.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== box) return;
    var drawn = charts().filter(function (s) { return box.contains(s); }), svg = drawn[Math.min(line, drawn.length - 1)], i = at;
    if (!svg) return;
    var columns = places(svg).map(function (p) { return p.column; }), k = columns.indexOf(at);
    switch (e.key) {
    case 'ArrowLeft': i = columns[k < 0 ? columns.length - 1 : Math.max(0, k - 1)]; break;
    case 'ArrowRight': i = columns[Math.min(columns.length - 1, k + 1)]; break;
    case 'Home': i = columns[0]; break;
    case 'End': i = columns[columns.length - 1]; break;
    case 'ArrowUp': line = Math.max(0, line - 1); svg = drawn[line]; break;
    case 'ArrowDown': line = Math.min(drawn.length - 1, line + 1); svg = drawn[line]; break;
    case 'a': case 'b': if (at < 0) return; clicks++; choose(e.key, at, groupOf(svg)); live.textContent = e.key.toUpperCase() + ' is ' + labels[at]; break;
    case 'd': compare(); break;
    case 'Enter': var open = at >= 0 && table.querySelectorAll('td:nth-child(' + (at + 2) + ') a[href]')[groups.indexOf(groupOf(svg))]; if (!open) return; open.click(); break;
    case 'Escape': show(-1); box.blur(); e.preventDefault(); return;
    default: return;
    }
    e.preventDefault(); e.stopPropagation();
    if (i === undefined || i < 0) return;
    var moved = i !== at || /Up|Down/.test(e.key);
    show(i, svg);
    if (moved) live.textContent = labels[i] + (times[i] ? ', ' + times[i] : '') + ', ' + lines(i).join(', ');
  });
  box.addEventListener('focusout', function (e) { if (e.target === box) show(-1); });
  ready();
})();
