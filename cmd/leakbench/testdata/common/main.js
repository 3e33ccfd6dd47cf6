// The main of cases of Node.js: a ticker as healthy ground, and the number of triggers.
const http = require('node:http')
const { setup, trigger } = require('./driver.js')

let triggers = 0
setInterval(() => {}, 100)
setup()
http.createServer((_, answer) => { answer.end(String(triggers)) }).listen(Number(process.argv.at(-1)), '127.0.0.1')
setTimeout(() => setInterval(() => {
  for (let i = 0; i < 2; i++, triggers++) trigger()
}, 200), 1000)
