// Writes a diagnostic report of a process that holds one handle of every sort.
// captured with: env -i PATH=/usr/bin:/bin SECRET_TOKEN=s3cr3t-value TZ=America/New_York script -qc 'node --no-deprecation zoo.js zoo.json' /dev/null
const net = require('net'), dgram = require('dgram'), fs = require('fs'), cp = require('child_process');
const { Worker } = require('worker_threads');
const { TCP } = process.binding('tcp_wrap');
const worker = `
const net = require('net');
const s = net.createServer(() => {}).listen(0, '127.0.0.1', () => net.connect(s.address().port, '127.0.0.1'));`;

const listen = (...at) => new Promise((done) => { const s = net.createServer(() => {}).listen(...at, () => done(s)); });
(async () => {
  const four = await listen(0, '127.0.0.1'), six = await listen(0, '::1'), wild = await listen(0), path = await listen('/srv/zoo/zoo.sock');
  net.connect(four.address().port, '127.0.0.1');
  const idle = net.connect(four.address().port, '127.0.0.1', () => idle.unref());
  net.connect(six.address().port, '::1');
  net.connect('/srv/zoo/zoo.sock');
  dgram.createSocket('udp4').bind(0, '127.0.0.1');
  dgram.createSocket('udp4').connect(9, '127.0.0.1');
  fs.watch('/srv/zoo');
  fs.watchFile('/srv/zoo/zoo.js', () => {});
  cp.spawn('sleep', ['2']);
  new Worker(worker, { eval: true });
  const bound = new TCP(0); // bound, but neither listening nor connected
  bound.bind('127.0.0.1', 0);
  globalThis.kept = [bound, new TCP(0), process.stdin.on('data', () => {}), process.stdout];
  setTimeout(() => { process.report.writeReport(process.argv[2]); process.exit(0); }, 800);
})();
