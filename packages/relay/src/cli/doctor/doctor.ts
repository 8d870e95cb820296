// `doctor`: runs every check, says each with its mend, and with `--fix` mends what it may. The checks are in the other files of this folder.

import type { Run } from '../command.ts'
import { oneLine } from '../text.ts'
import { editors } from './editors.ts'
import type { Check, Finding, Patient } from './finding.ts'
import { clis, node, port } from './machine.ts'
import { daemon, data, databases, sockets } from './place.ts'

export const checks: readonly Check[] = [node, data, daemon, sockets, databases, port, editors, clis]

interface Told extends Finding {
  isMended: boolean
}

export const run: Run = async ({ options, print, env, cwd }) => {
  const patient: Patient = { env, cwd, nodeVersion: process.versions.node }
  const told: Told[] = []
  // One after the other: what one mends, the next may find whole.
  for (const check of checks) {
    const findings = await print.during('still looking', Promise.resolve(check(patient)))
    for (const finding of findings) told.push({ ...finding, isMended: options.fix === true && (await mend(finding)) })
  }
  const faults = told.filter(({ state, isMended }) => state === 'fault' && !isMended)
  if (faults.length > 0) process.exitCode = 1
  if (print.isJson)
    return void (await print.json({
      ok: faults.length === 0,
      findings: told.map(({ fix, ...rest }) => ({ ...rest, isFixable: fix !== undefined })),
    }))
  const marks = { ok: '✓', note: '·', fault: '✗' }
  for (const { check, state, text, mend, fix, isMended } of told) {
    const mark = isMended ? '✓' : marks[state]
    const can = fix && !options.fix ? '  (--fix does it)' : ''
    await print.line(`${mark} ${check.padEnd(22)} ${oneLine(text)}${isMended ? ': mended' : ''}`)
    if (mend !== undefined && !isMended) await print.line(`  ${' '.repeat(22)} → ${print.typed(oneLine(mend))}${can}`)
  }
  print.say(faults.length === 0 ? 'Nothing is wrong.' : `${faults.length} to mend.`)
}

/** Whether it is whole now. */
async function mend({ state, fix }: Finding): Promise<boolean> {
  if (state !== 'fault' || !fix) return false
  try {
    await fix()
    return true
  } catch {
    return false
  }
}
