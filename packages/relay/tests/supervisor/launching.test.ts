// What a worker's row may bring into the start of its program. The row may come from a restored database, which anybody may have written.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WorkerRow } from '../../src/core/view.ts'
import { acpHarness } from '../../src/supervisor/harness/acp.ts'
import { codexHarness } from '../../src/supervisor/harness/codex.ts'
import type { Harness } from '../../src/supervisor/harness/harness.ts'
import { opencodeHarness } from '../../src/supervisor/harness/opencode.ts'
import { HarnessSetups, prepareLaunch } from '../../src/supervisor/launching.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'relay-launching-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** The start of a worker that goes on in a conversation. */
const prepare = (harness: Harness, conversation: string | undefined) => {
  const isAcp = harness === acpHarness
  const asked = { cli: harness.name, cwd: root, continues: 'w_0' }
  const row = { id: 'w_1', name: 'Ann', cli: harness.name, cwd: root, command: ['/bin/sh'], isInjected: false }
  return prepareLaunch({
    ...{ harness, isAcp, directory: join(root, 'w_1'), socketPath: join(root, 'socket'), token: 'at_x', env: {} },
    ...{ row: { ...row, asked, conversation } as WorkerRow, setups: new HarnessSetups(join(root, 'setups')) },
  })
}

const codexId = '01a1df09-0000-4000-8000-000000000001'
const kinds: [harness: Harness, own: string][] = [
  [codexHarness, codexId],
  [opencodeHarness, 'ses_1'],
]

test.each(kinds)('a conversation becomes an argument only in the form of its program: %#', async (harness, own) => {
  const { options } = await prepare(harness, own)
  expect(options.args).toContain(own)
  for (const wrong of ['--yolo', `${own}\n--yolo`, `${own} --yolo`, '', undefined])
    await expect(prepare(harness, wrong)).rejects.toThrow('stored id of its conversation is not valid')
})

test('over ACP the id is no argument; with other characters than an id has it is refused all the same', async () => {
  const { options, acp } = await prepare(acpHarness, 'any/id:1')
  expect([options.args, acp?.conversation]).toEqual([[], 'any/id:1'])
  for (const wrong of ['two words', 'a\u0000b', 'x'.repeat(201), undefined])
    await expect(prepare(acpHarness, wrong)).rejects.toThrow('stored id of its conversation is not valid')
})
