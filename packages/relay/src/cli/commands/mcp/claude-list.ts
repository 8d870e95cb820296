// Whether our agents stand in Claude Code's own list of agents: a flag decides, else the person's answer, else it stays as it was.

import { existsSync } from 'node:fs'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import { hasClaudeListConsent, setClaudeListConsent } from '../../../machine/claude-list-consent.ts'
import { vendorHomes } from '../../../machine/vendor-homes.ts'
import type { CliOption, CommandContext } from '../../command.ts'

export const claudeListOptions = {
  claudeList: {
    flags: '--claude-list',
    text: "the relay's agents stand in Claude Code's own list, so that its sessions write to them by name",
  },
  noClaudeList: { flags: '--no-claude-list', text: 'they do not' },
} satisfies Record<string, CliOption>

export const claudeListQuestion =
  "Show the relay's agents in Claude Code's own list (ListAgents), so that its sessions write to them by name? It writes records of its own into ~/.claude/sessions."

/** Whether a command is about Claude Code. One that names no editor is about all that are found. */
const isMeant = (editors: readonly string[] | undefined) => editors === undefined || editors.includes('claude')

/** Whether to ask: Claude Code is among the editors, and its list may not have our agents yet. */
export function shouldAskForClaudeList(
  { env }: Pick<CommandContext, 'env'>,
  editors: readonly string[] | undefined,
): boolean {
  const { claude: home } = vendorHomes(env)
  return home !== undefined && existsSync(home) && isMeant(editors) && !hasClaudeListConsent(dataDir(env))
}

/** Takes our agents out of the list where Claude Code's entry was taken out. */
export function removeFromClaudeList(
  context: Pick<CommandContext, 'env' | 'print'>,
  editors: readonly string[] | undefined,
): void {
  if (isMeant(editors)) storeClaudeListAnswer(context, false)
}

/** Stores the answer; `may` is undefined where nobody was asked. */
export function storeClaudeListAnswer(
  { env, print }: Pick<CommandContext, 'env' | 'print'>,
  may: boolean | undefined,
): void {
  if (may === undefined || may === hasClaudeListConsent(dataDir(env))) return
  setClaudeListConsent(dataDir(env), may)
  if (print.isJson) return
  print.say(
    may
      ? "The relay's agents stand in Claude Code's own list from now on. To end that: agent-relay mcp install --no-claude-list"
      : "The relay's agents stand in Claude Code's own list no more.",
  )
}
