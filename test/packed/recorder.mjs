// A stand-in for the whole network inside a namespace: every name leads here, and it writes each request to stdout, one JSON value a line.
import { createSocket } from 'node:dgram'
import { createServer as createHttp } from 'node:http'
import { createServer } from 'node:net'

const here = '127.0.0.1'
const say = (record) => process.stdout.write(`${JSON.stringify(record)}\n`)

/** Every name is this machine, of IPv4 alone. */
const dns = createSocket('udp4')
dns.on('message', (question, { port, address }) => {
  const labels = []
  let at = 12
  for (; question[at] > 0; at += 1 + question[at])
    labels.push(question.toString('latin1', at + 1, at + 1 + question[at]))
  const isA = question.readUInt16BE(at + 1) === 1
  say(`dns ${labels.join('.')}`)
  const head = Buffer.from(question.subarray(0, 12))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(isA ? 1 : 0, 6)
  head.fill(0, 8, 12)
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...here.split('.').map(Number)])
  dns.send(Buffer.concat([head, question.subarray(12, at + 5), ...(isA ? [answer] : [])]), port, address)
})

const http = createHttp((request, response) => {
  let body = ''
  request.setEncoding('latin1').on('data', (text) => {
    body += text.slice(0, 10_000)
  })
  request.on('end', () => {
    say(`http ${request.method} ${request.headers.host}${request.url} ${body}`)
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  })
})

/** What is asked in a TLS connection cannot be read, but the name stands in its first message. */
const tls = createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', (hello) => {
    say(
      `tls ${hello
        .toString('latin1')
        .match(/[\w-]+(?:\.[\w-]+)+/g)
        ?.join(' ')}`,
    )
    socket.destroy()
  })
})

await new Promise((resolve) => dns.bind(53, here, resolve))
await new Promise((resolve) => http.listen(80, here, resolve))
await new Promise((resolve) => tls.listen(443, here, resolve))
say('ready')
