// A free port for a program that needs to be given one. No tests.

import { createServer } from 'node:net'

/** Below those that the system gives to whoever asks for any: between this look and its use nobody takes it by chance. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await new Promise<boolean>((resolve) =>
      server.once('listening', () => resolve(true)).once('error', () => resolve(false)),
    )
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
