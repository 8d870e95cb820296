// A floor: a bare server on a Unix socket that parses each line and answers the full message.

import { createServer } from 'node:net'
import { serve } from './serve.ts'

function listen(path: string): Promise<void> {
  const server = createServer((socket) => {
    let rest = ''
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() as string
      let out = ''
      for (const line of lines) out += `${JSON.stringify(JSON.parse(line))}\n`
      if (out !== '') socket.write(out)
    })
    socket.on('error', () => socket.destroy())
  })
  return new Promise((resolve) => server.listen(path, resolve))
}

serve(({ path }: { path: string }) => listen(path))
