const http2 = require('node:http2')
const grpc = require('@grpc/grpc-js')

let port
let n = 0

// A server that answers each call with an empty message.
exports.setup = () => {
  const server = http2.createServer()
  server.on('stream', stream => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.alloc(5))
  })
  server.listen(0, '127.0.0.1', () => { port = server.address().port })
}

// A client with options of its own that calls once and is closed, at every fifth call. The
// library lets go of its connection within ten seconds.
exports.trigger = () => {
  if (++n % 5 !== 0) return
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), { 'grpc.primary_user_agent': 'client-' + n })
  client.makeUnaryRequest('/a.B/C', x => x, x => x, Buffer.alloc(0), () => client.close())
}
