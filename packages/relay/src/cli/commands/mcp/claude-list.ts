// Whether our agents are listed in Claude Code's own list of agents: an option decides, otherwise the person's answer, otherwise nothing changes.

import { existsSync } from 'node:fs'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import { hasClaudeListConsent, setClaudeListConsent } from '../../../machine/claude-list-consent.ts'
import { vendorHomes } from '../../../machine/vendor-homes.ts'
import type { CliOption, CommandContext } from '../../command.ts'

export const claudeListOptions = {
  claudeList: {
    flags: '--claude-list',
    text: "show the relay's agents in Claude Code's own list, so that its sessions can write to them by name",
  },
  noClaudeList: { flags: '--no-claude-list', text: 'do not show them there' },
} satisfies Record<string, CliOption>

export const claudeListQuestion =
  "Show the relay's agents in Claude Code's own list (ListAgents), so that its sessions can write to them by name? The relay then writes records into ~/.claude/sessions."

/** Whether the command concerns Claude Code. If it names no editors, it concerns all that are installed. */
const isMeant = (editors: readonly string[] | undefined) => editors === undefined || editors.includes('claude')

/** Whether to ask the person: Claude Code is among the editors, and they have not agreed yet. */
export function shouldAskForClaudeList(
  { env }: Pick<CommandContext, 'env'>,
  editors: readonly string[] | undefined,
): boolean {
  const { claude: home } = vendorHomes(env)
  return home !== undefined && existsSync(home) && isMeant(editors) && !hasClaudeListConsent(dataDir(env))
}

/** Removes our agents from Claude Code's list, if our entry was removed from Claude Code. */
export function removeFromClaudeList(
  context: Pick<CommandContext, 'env' | 'print'>,
  editors: readonly string[] | undefined,
): void {
  if (isMeant(editors)) storeClaudeListAnswer(context, false)
}

/** Stores the person's answer. `may` is undefined if nobody was asked. */
export function storeClaudeListAnswer(
  { env, print }: Pick<CommandContext, 'env' | 'print'>,
  may: boolean | undefined,
): void {
  if (may === undefined || may === hasClaudeListConsent(dataDir(env))) return
  setClaudeListConsent(dataDir(env), may)
  if (print.isJson) return
  print.say(
    may
      ? "Claude Code's own list shows the relay's agents from now on. To end that: agent-relay mcp install --no-claude-list"
      : "Claude Code's own list no longer shows the relay's agents.",
  )
}
