const net = require('node:net')
const amqp = require('amqplib')

let port
let n = 0

// A broker that begins with a heartbeat, which is not allowed, and keeps its end open.
exports.setup = () => {
  net.createServer(s => {
    s.on('error', () => {}).resume()
    s.write(Buffer.from([8, 0, 0, 0, 0, 0, 0, 0xce]))
  }).listen(0, '127.0.0.1', function () { port = this.address().port })
}

// A client whose connection fails, at every third call.
exports.trigger = () => {
  if (++n % 3 !== 0) return
  amqp.connect(`amqp://127.0.0.1:${port}`).catch(() => {})
}
