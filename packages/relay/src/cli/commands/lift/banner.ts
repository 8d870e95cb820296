// The texts that the relay of a lift prints at its start: the banner, and the prompts to paste if no pane types them.

import { listText } from '@agent-relay/sdk/internal/clis'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { type Env, setting } from '@agent-relay/sdk/internal/discover'
import { version } from '../../../machine/version.ts'
import type { Printer } from '../../print.ts'
import { kickoffPrompt } from './prompts.ts'
import type { LiftRelay } from './relay.ts'

const ruleColumns = 78

export function liftBanner(
  print: Printer,
  { url, dataDir, socketPath }: Pick<LiftRelay, 'url' | 'dataDir' | 'socketPath'>,
  roles: readonly string[],
  { page, isKept, isInPane = false }: { page: string; isKept: boolean; isInPane?: boolean },
): string {
  const line = (label: string, text: string) => `  ${print.paint('dim', label.padEnd(9))} ${text}`
  return [
    `${print.paint('bold', `agent-relay ${version}`)} · lift of ${print.paint('bold', listText([...roles]))}`,
    line('tools', `${url}/sse      (or ${url}/mcp)`),
    line('page', `${page}      once, within five minutes`),
    line('data', isKept ? dataDir : 'in memory: gone when this ends'),
    // The command is left out in a pane, where it would be too long to copy.
    ...(isInPane ? [] : [line('look in', print.typed(`RELAY_SOCKET=${shellQuote(socketPath)} agent-relay who`))]),
    `ready. Messages appear below until Ctrl-C in this ${isInPane ? 'pane' : 'terminal'} ends the lift.`,
    '',
  ].join('\n')
}

/** Commands as they can be typed here: if tools/relay/start.sh started the lift, its path stands for `agent-relay lift`. */
export function commandsAsTyped(print: Printer, env: Env, text: string): string {
  const script = setting(env, 'RELAY_LIFT_COMMAND')
  return print.typed(script === undefined ? text : text.replaceAll('agent-relay lift', shellQuote(script)))
}

/** The prompts to paste, in one labelled block per role. */
export function promptBlocks(print: Printer, roles: readonly string[], url: string): string {
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

/** Tells how sessions get the relay's tools. Printed before the prompts, which are of no use without them. */
export function connectingText(url: string, port: number, isDefaultPort: boolean): string {
  const option = isDefaultPort ? '' : ` --port ${port}`
  return [
    'First, once for this project, give the sessions the tools of the relay:',
    `  agent-relay lift --configure${option}`,
    'or by hand, for instance:',
    `  claude mcp add --transport sse relay ${url}/sse`,
    '',
  ].join('\n')
}
