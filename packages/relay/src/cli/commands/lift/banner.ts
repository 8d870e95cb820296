// The texts that the relay of a lift prints at its start: the banner, and the prompts that a person pastes into sessions that have no pane.

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
    // In a pane this command is left out: it would wrap, and could not be copied.
    ...(isInPane ? [] : [line('look in', print.typed(`RELAY_SOCKET=${shellQuote(socketPath)} agent-relay who`))]),
    `ready. Messages appear below until Ctrl-C in this ${isInPane ? 'pane' : 'terminal'} ends the lift.`,
    '',
  ].join('\n')
}

/** Formats commands in a text so that the person can type them: if tools/relay/start.sh has started the lift, its path replaces `agent-relay lift`. */
export function commandsAsTyped(print: Printer, env: Env, text: string): string {
  const script = setting(env, 'RELAY_LIFT_COMMAND')
  return print.typed(script === undefined ? text : text.replaceAll('agent-relay lift', shellQuote(script)))
}

/** Returns the prompts to paste, each in a block with its role's name. */
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

/** Returns the text that says how sessions get the relay's tools. It is printed before the prompts, which need these tools. */
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
