// `doctor`: runs every check, prints each result with its fix, and with `--fix` makes those fixes that are safe. The other files of this folder have the
// checks.

import { type CliCommand, type CliOptions, type CommandContext, exitCodes } from '../../command.ts'
import { oneLine } from '../../text.ts'
import type { CheckedMachine, DoctorCheck, Finding } from './finding.ts'

interface Reported extends Finding {
  isFixed: boolean
}

const doctorOptions = { fix: { flags: '--fix', text: 'fix what can be fixed without asking' } } satisfies CliOptions

export const doctor: CliCommand<typeof doctorOptions> = {
  options: doctorOptions,
  examples: ['agent-relay doctor', 'agent-relay doctor --fix', 'agent-relay doctor --json'],
  actsForNoAgent: true,
  run,
}

async function run({ options, print, env, cwd }: CommandContext<typeof doctorOptions>): Promise<number> {
  const patient: CheckedMachine = { env, cwd, nodeVersion: process.versions.node }
  const reported: Reported[] = []
  // The checks run one after the other, since a repair may change what the next one finds.
  for (const check of await allChecks()) {
    const findings = await print.during('still looking', Promise.resolve(check(patient)))
    for (const finding of findings) {
      const isFixed = options.fix === true && (await tryRepair(finding))
      reported.push({ ...finding, isFixed })
    }
  }
  const faults = reported.filter(({ state, isFixed }) => state === 'fault' && !isFixed)
  const exit = faults.length > 0 ? exitCodes.refused : 0
  if (print.isJson) {
    const findings = reported.map(({ repair, ...rest }) => ({ ...rest, isFixable: repair !== undefined }))
    await print.json({ ok: faults.length === 0, findings })
    return exit
  }
  const marks = { ok: '✓', note: '·', fault: '✗' }
  for (const { check, state, text, fix, repair, isFixed } of reported) {
    const mark = isFixed ? '✓' : marks[state]
    const can = repair && !options.fix ? '  (--fix does it)' : ''
    await print.line(`${mark} ${check.padEnd(22)} ${oneLine(text)}${isFixed ? ': fixed' : ''}`)
    if (fix !== undefined && !isFixed) await print.line(`  ${' '.repeat(22)} → ${print.typed(oneLine(fix))}${can}`)
  }
  print.say(faults.length === 0 ? 'Nothing is wrong.' : `${faults.length} to fix.`)
  return exit
}

/** Returns all checks, in the order in which they run. They are imported here, since loading them would slow down the completion script. */
async function allChecks(): Promise<DoctorCheck[]> {
  const { clisCheck, nodeCheck, portCheck, projectCheck } = await import('./machine.ts')
  const { daemonCheck, dataDirectoryCheck, databasesCheck, socketsCheck } = await import('./data-directory.ts')
  const { editorsCheck, launcherCheck } = await import('./editors.ts')
  const { hooksCheck } = await import('./hooks.ts')
  const { sharedWorkspacesCheck } = await import('./shared-workspaces.ts')
  const { duplicateNamesCheck } = await import('./duplicate-names.ts')
  const { codexCheck } = await import('./codex.ts')
  const { claudeCheck } = await import('./claude.ts')
  return [
    nodeCheck,
    projectCheck,
    dataDirectoryCheck,
    daemonCheck,
    socketsCheck,
    databasesCheck,
    sharedWorkspacesCheck,
    duplicateNamesCheck,
    portCheck,
    launcherCheck,
    editorsCheck,
    hooksCheck,
    clisCheck,
    codexCheck,
    claudeCheck,
  ]
}

async function tryRepair({ state, repair }: Finding): Promise<boolean> {
  if (state !== 'fault' || !repair) return false
  try {
    await repair()
    return true
  } catch {
    return false
  }
}
