// Our commands as a person types them, at a terminal of their own. No tests.

import { openPty } from '../../packages/relay/src/supervisor/pty.ts'
import { daemonLauncher } from './world.ts'

/** One that ends by itself. */
export async function atTerminal(world: Home, ...args: string[]): Promise<{ code: number; said: string }> {
  return (await begin(world, ...args)).ended
}

interface Home {
  root: string
  env: Record<string, string>
}

/** One that goes on. */
export async function begin({ root: cwd, env }: Home, ...args: string[]) {
  const size = { cols: 200, rows: 50 }
  const terminal = await openPty({ file: process.execPath, args: [daemonLauncher, ...args], cwd, env, ...size })
  const pieces: Uint8Array[] = []
  terminal.onData((data) => pieces.push(data))
  const said = () => Buffer.concat(pieces).toString()
  const ended = new Promise<{ code: number; said: string }>((resolve) =>
    terminal.onExit(({ code }) => resolve({ code, said: said() })),
  )
  return { type: (data: string) => terminal.write(data), said, ended }
}
