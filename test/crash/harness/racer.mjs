// A process that tries to become the daemon of a directory whenever it is told to, and reports whether it succeeded.
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Daemon } from '../../../packages/relay/dist/daemon/daemon.js'

const say = (what) => process.stdout.write(`${JSON.stringify({ pid: process.pid, ...what })}\n`)
let daemon

async function race(dataDir) {
  try {
    daemon = await Daemon.start({
      dataDir,
      credentialsPath: join(dataDir, 'credentials.json'),
      onTrouble: (error) => say({ trouble: error.message }),
      onStop: () => process.exit(1),
    })
    if (daemon) await daemon.open('race')
    say({ won: daemon !== undefined })
  } catch (error) {
    say({ failed: error.message })
  }
}

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { race: dataDir } = JSON.parse(line)
    if (dataDir !== undefined) return race(dataDir)
    await daemon?.stop()
    daemon = undefined
    say({ stopped: true })
  })
  .on('close', () => process.exit(0))
say({ ready: true })
