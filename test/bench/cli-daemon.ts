// A daemon as the command line starts it, in an empty data directory and with its HTTP port listening. Measures nothing itself.

import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { bareEnv, temporaryFolder } from './child.ts'

export const launcher = join(
  dirname(createRequire(import.meta.url).resolve('agent-relay/package.json')),
  'bin/agent-relay.cjs',
)

type ControlLink = Awaited<ReturnType<ReturnType<typeof socketConnector>>>

/** Starts a daemon and ends it after the work, which gets a link to its control socket. */
export async function withDaemon<T>(work: (control: ControlLink, pid: number) => Promise<T>): Promise<T> {
  const folder = temporaryFolder()
  const env = bareEnv({ RELAY_DATA_DIR: folder, HOME: folder })
  const args = [launcher, 'daemon', 'run', '--port', '0']
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  try {
    await new Promise<void>((resolve, reject) => {
      let log = ''
      child.once('exit', () => reject(new Error(`the daemon did not start: ${log}`)))
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        log += text
        if (/ runs, pid /.test(log)) resolve()
      })
    })
    const control = await socketConnector(controlSocketPath(folder))({})
    const answer = await work(control, child.pid as number)
    await control.close()
    return answer
  } finally {
    process.off('exit', kill)
    child.kill('SIGTERM')
    await new Promise((resolve) =>
      (child.exitCode ?? child.signalCode) === null ? child.once('exit', resolve) : resolve(undefined),
    )
  }
}
