// The command line of `agent-relay-mcp install` and `uninstall`. Loaded by the launcher only when one of them is asked for.

import { parseArgs } from 'node:util'
import { runInstall, runUninstall } from './index.ts'

const options = {
  editor: { type: 'string', short: 'e', multiple: true },
  global: { type: 'boolean', short: 'g' },
  project: { type: 'boolean' },
  workspace: { type: 'string' },
  hooks: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  json: { type: 'boolean' },
} as const

export async function main(command: 'install' | 'uninstall', args: string[]): Promise<void> {
  try {
    const { values } = parseArgs({ args, options })
    const { editor, 'dry-run': dryRun, ...rest } = values
    const run = command === 'install' ? runInstall : runUninstall
    await run({ ...rest, dryRun, editor: editor?.join(',') })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    process.stderr.write(`${error.message}\nRun with --help for usage\n`)
    process.exitCode = 1
  }
}
