// The doctor's check of Codex: whether a message can wake the sessions that a person started.

import { findCodexServer } from '../../../supervisor/codex/find-server.ts'
import { codexHarness } from '../../../supervisor/harness/codex.ts'
import { cliCommandOf } from '../../../supervisor/launching.ts'
import { type DoctorCheck, faultFinding, noteFinding, okFinding } from './finding.ts'

export const codexCheck: DoctorCheck = async ({ env }) => {
  const found = await findCodexServer(undefined, cliCommandOf(codexHarness, env), { onClose() {} })
  const check = 'waking codex'
  if (!('trouble' in found)) {
    found.server.close()
    return [okFinding(check, `${found.version}: a message wakes the sessions that you start`)]
  }
  const text = `${found.text}: its sessions find their messages at their next call`
  const fix = 'agent-relay mcp install --editor codex --hooks'
  if (found.trouble === 'unfit' || found.trouble === 'silent') return [noteFinding(check, text, fix)]
  // Nothing is reported if Codex or its background server is not there: then no session could get a message.
  return found.trouble === 'unsafe' ? [faultFinding(check, text, 'codex app-server daemon restart')] : []
}
