const http = require('node:http')
const net = require('node:net')
const { Server } = require('proxy-chain')

let upstream
let proxy
let n = 0

// An upstream that never answers, and a proxy before it.
exports.setup = () => {
  net.createServer(s => s.on('error', () => {}).resume()).listen(0, '127.0.0.1', function () { upstream = this.address().port })
  proxy = new Server({ port: 0, host: '127.0.0.1' })
  proxy.listen().catch(e => { throw e })
}

// A client that asks through the proxy and leaves before the answer, at every third call.
exports.trigger = () => {
  if (++n % 3 !== 0) return
  const path = `http://127.0.0.1:${upstream}/`
  const request = http.get({ host: '127.0.0.1', port: proxy.port, path, agent: false })
  request.on('error', () => {})
  setTimeout(() => request.destroy(), 100)
}
