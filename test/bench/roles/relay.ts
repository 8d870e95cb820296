// The daemon in a process of its own, on disk, with one workspace open.

import { join } from 'node:path'
import { Daemon } from 'agent-relay/dist/daemon.js'
import { serve } from './serve.ts'

export interface RelayQuestion {
  dataDir: string
  project: string
}

export interface RelayAnswer {
  socketPath: string
  key: string
}

async function open({ dataDir, project }: RelayQuestion): Promise<RelayAnswer> {
  const daemon = await Daemon.start({
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    onTrouble: (error) => process.stderr.write(`${error.message}\n`),
    onStop: () => process.exit(1),
  })
  if (!daemon) throw new Error('another daemon has this folder')
  const { entry, key } = await daemon.open(project)
  process.once('SIGTERM', () => daemon.stop().then(() => process.exit(0)))
  return { socketPath: entry.socketPath, key: key as string }
}

serve(open)
