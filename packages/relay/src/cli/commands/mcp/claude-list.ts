// Whether our agents stand in Claude Code's own list of agents: a flag decides, else the person's answer, else it stays as it was.

import { existsSync } from 'node:fs'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import { claudeHome, letListInClaude, mayListInClaude } from '../../../machine/vendor-homes.ts'
import type { CliOption, Context } from '../../command.ts'

export const claudeListOptions = {
  claudeList: {
    flags: '--claude-list',
    text: "the relay's agents stand in Claude Code's own list, so that its sessions write to them by name",
  },
  noClaudeList: { flags: '--no-claude-list', text: 'they do not' },
} satisfies Record<string, CliOption>

export const claudeListQuestion =
  "Show the relay's agents in Claude Code's own list (ListAgents), so that its sessions write to them by name? It writes records of its own into ~/.claude/sessions."

/** Whether to ask: Claude Code is among the editors, and its list may not have our agents yet. */
export function asksForList({ env }: Pick<Context, 'env'>, editors: readonly string[]): boolean {
  const home = claudeHome(env)
  return home !== undefined && existsSync(home) && editors.includes('claude') && !mayListInClaude(dataDir(env))
}

/** Stores the answer; `may` is undefined where nobody was asked. */
export function keepList({ env, print }: Pick<Context, 'env' | 'print'>, may: boolean | undefined): void {
  if (may === undefined || may === mayListInClaude(dataDir(env))) return
  letListInClaude(dataDir(env), may)
  if (print.isJson) return
  print.say(
    may
      ? "The relay's agents stand in Claude Code's own list from now on. To end that: agent-relay mcp install --no-claude-list"
      : "The relay's agents stand in Claude Code's own list no more.",
  )
}
