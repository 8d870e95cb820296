// The head of a lift's relay: what runs, where, and for how long it lasts. And the blocks that are pasted where no pane types them.

import { version } from '../../version.ts'
import type { Print } from '../print.ts'
import { listOf } from '../text.ts'
import { kickoffPrompt } from './prompts.ts'
import type { LiftRelay } from './relay.ts'

const ruleColumns = 78

export function banner(
  print: Print,
  { url, dataDir, socketPath }: Pick<LiftRelay, 'url' | 'dataDir' | 'socketPath'>,
  roles: readonly string[],
  { isKept, isInPane = false }: { isKept: boolean; isInPane?: boolean },
): string {
  const line = (label: string, text: string) => `  ${print.paint('dim', label.padEnd(9))} ${text}`
  return [
    `${print.paint('bold', `agent-relay ${version}`)} · lift of ${print.paint('bold', listOf([...roles]))}`,
    line('tools', `${url}/sse      (or ${url}/mcp)`),
    line('data', isKept ? dataDir : 'in memory: gone when this ends'),
    // In a pane it would be too long to be copied from.
    ...(isInPane ? [] : [line('look in', print.typed(`RELAY_SOCKET=${socketPath} agent-relay who`))]),
    'ready. Messages appear below, Ctrl-C here ends the lift.',
    '',
  ].join('\n')
}

/** One labelled block per role. */
export function blocks(print: Print, roles: readonly string[], url: string): string {
  return roles
    .map((role) => {
      const head = `── ${role}: paste into a fresh session `
      return [
        print.paint('bold', head.padEnd(ruleColumns, '─')),
        kickoffPrompt(role, roles, url),
        print.paint('dim', '─'.repeat(ruleColumns)),
        '',
      ].join('\n')
    })
    .join('\n')
}

/** How the sessions get the tools, where nobody configures them. */
export function connecting(url: string, port: number, isDefaultPort: boolean): string {
  const option = isDefaultPort ? '' : ` --port ${port}`
  return [
    'The sessions need the tools of the relay. Once for this project:',
    `  agent-relay lift --configure${option}`,
    'or by hand, for instance:',
    `  claude mcp add --transport sse relay ${url}/sse`,
    '',
  ].join('\n')
}
