// The doctor's check of Claude Code's sessions: how many take messages by their own sockets, and which of Claude Code's records we could not use.

import { dataDir, setting } from '@agent-relay/sdk/internal/discover'
import { hasClaudeListConsent } from '../../../machine/claude-list-consent.ts'
import { vendorHomes } from '../../../machine/vendor-homes.ts'
import { ClaudeRegistry, processEndedText, relayRecordText } from '../../../supervisor/claude/registry.ts'
import { countedText, withTilde } from '../../text.ts'
import { type DoctorCheck, noteFinding, okFinding } from './finding.ts'

export const claudeCheck: DoctorCheck = ({ env }) => {
  const check = 'claude sessions'
  const { claude: home } = vendorHomes(env)
  if (setting(env, 'RELAY_WATCH_SESSIONS') === 'off')
    return [noteFinding(check, 'are not looked at: RELAY_WATCH_SESSIONS is off')]
  if (home === undefined) return []
  const { sessions, leftAlone } = ClaudeRegistry.readOnce(home)
  const here = [...sessions.values()].filter(({ isAttended }) => isAttended)
  // A record whose process has ended is no fault: the session was killed, and the next session of Claude Code deletes its record.
  const odd = leftAlone.filter(({ why }) => why !== processEndedText && why !== relayRecordText)
  const listed = hasClaudeListConsent(dataDir(env)) ? '; our agents are in its list' : ''
  const text = `${countedText(here.length, 'session')} of Claude Code, each an agent without anything installed${listed}`
  return [
    ...(here.length > 0 ? [okFinding(check, text)] : []),
    ...odd.map(({ file, why }) => noteFinding(check, `${withTilde(file, env.HOME)} was left alone: ${why}`)),
  ]
}
