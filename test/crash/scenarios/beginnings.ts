// A daemon is killed, or its disk is full, while it makes a workspace: nothing of it is called lost, and making it again works.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DaemonProcess, inTrial, sleep, type Trial } from '@agent-relay/prove/harness/processes'
import { type Frame, RawConnection } from '@agent-relay/prove/harness/raw'
import { databasesCheck } from '../../../packages/relay/src/cli/commands/doctor/data-directory.ts'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'

export interface BeginningsReport {
  /** Those that were killed before they answered. */
  cutOff: number
  answered: number
  faults: string[]
}

/** Each kill comes at a moment of its own, from the start of a beginning to well after its end. */
export function killWhileBeginning(kills: number): Promise<BeginningsReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const faults: string[] = []
    let answered = 0
    let daemon = await scene.startDaemon()
    const wholeMs = await measure(scene)
    for (let i = 0; i < kills; i++) {
      const workspace = `new-${i}`
      const control = await controlOf(scene)
      const making = control.call('workspace.create', { workspace })
      // The first one at once: on a busy machine even the shortest rest may be longer than a beginning.
      if (i > 0) await sleep((i * 1.5 * wholeMs) / kills)
      await daemon.end('SIGKILL')
      const first = await making
      await control.end()
      if (first.type === 'ACK') answered++
      faults.push(...(await doctorsFaults(scene)))
      daemon = await scene.startDaemon()
      faults.push(...(await faultsOfAgain(scene, workspace, first)))
      if (daemon.errors !== '') faults.push(daemon.errors)
    }
    await daemon.end('SIGTERM')
    faults.push(...(await doctorsFaults(scene)))
    return { cutOff: kills - answered, answered, faults: faults.slice(0, 10) }
  })
}

async function measure(scene: Trial): Promise<number> {
  const control = await controlOf(scene)
  const from = performance.now()
  await control.call('workspace.create', { workspace: 'measured' })
  const ms = performance.now() - from
  await control.end()
  return ms
}

export interface FullBeginningsReport {
  refused: number
  made: number
  faults: string[]
}

/** A workspace is begun with so much space left, then again with enough. */
const sparesKb = [0, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]

export function beginOnFullDisk(through: (dataDir: string) => string[]): Promise<FullBeginningsReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const daemon = await scene.startDaemon({ wrapper: through(scene.dataDir), hasOwnFileSystem: true })
    const inside = `/proc/${daemon.pid}/root`
    const faults: string[] = []
    let refused = 0
    for (const spareKb of sparesKb) {
      const workspace = `spare-${spareKb}`
      const spare = join(inside, scene.dataDir, 'spare')
      const ballast = join(inside, scene.dataDir, 'ballast')
      writeFileSync(spare, Buffer.alloc(spareKb * 1024))
      fill(ballast)
      rmSync(spare)
      const control = await controlOf(scene, inside)
      const first = await control.call('workspace.create', { workspace })
      if (first.type !== 'ACK') {
        refused++
        if (first.payload.code !== 'store.full') faults.push(`${workspace}: ${JSON.stringify(first.payload)}`)
      }
      rmSync(ballast)
      const again = await control.call('workspace.create', { workspace })
      const isRight = first.type === 'ACK' ? again.payload.code === 'workspace.exists' : again.type === 'ACK'
      if (!isRight) faults.push(`${workspace}, again: ${JSON.stringify(again.payload)}`)
      await control.end()
    }
    await endWell(daemon, faults)
    return { refused, made: sparesKb.length - refused, faults }
  })
}

/** Until not one more byte fits. */
function fill(path: string): void {
  for (const bytes of [64 * 1024, 4 * 1024]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

function controlOf(scene: Trial, root = ''): Promise<RawConnection> {
  return RawConnection.connectAs(join(root, scene.controlPath))
}

async function faultsOfAgain(scene: Trial, workspace: string, first: Frame): Promise<string[]> {
  const control = await controlOf(scene)
  const again = await control.call('workspace.create', { workspace })
  const wasThere = again.payload.code === 'workspace.exists'
  const opened = await control.call('workspace.open', { workspace })
  const key = first.type === 'ACK' ? first.payload.key : again.payload.key
  const found = key === undefined ? undefined : await control.call('workspace.find', { key })
  await control.end()
  const faults: string[] = []
  if (first.type === 'ACK' && !wasThere) faults.push(`${workspace} was answered, and is gone`)
  if (again.type !== 'ACK' && !wasThere) faults.push(`${workspace}, again: ${JSON.stringify(again.payload)}`)
  if (opened.type !== 'ACK') faults.push(`${workspace} cannot be opened: ${JSON.stringify(opened.payload)}`)
  if (found && found.payload.name !== workspace) faults.push(`the key of ${workspace} is not valid`)
  return faults
}

async function doctorsFaults({ dataDir }: Trial): Promise<string[]> {
  const findings = await databasesCheck({ env: { RELAY_DATA_DIR: dataDir }, cwd: dataDir, nodeVersion: '' })
  return findings.filter(({ state }) => state !== 'ok').map(({ text }) => text)
}

async function endWell(daemon: DaemonProcess, faults: string[]): Promise<void> {
  const { code } = await daemon.end('SIGTERM')
  if (code !== 0) faults.push(`the daemon ended with ${code}: ${daemon.errors}`)
}
