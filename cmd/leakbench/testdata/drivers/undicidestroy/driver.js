const net = require('node:net')
const { Client } = require('undici')

let port
let n = 0
exports.setup = () => {
  const server = net.createServer(s => s.on('error', () => {}).resume()).listen(0, '127.0.0.1', () => { port = server.address().port })
}

// A client that is destroyed while it connects, at every third call.
exports.trigger = () => {
  if (++n % 3 !== 0) return
  const client = new Client(`http://127.0.0.1:${port}`)
  client.request({ path: '/', method: 'GET' }).catch(() => {})
  queueMicrotask(() => client.destroy())
}
