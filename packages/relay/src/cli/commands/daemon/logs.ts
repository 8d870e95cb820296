// `daemon logs`: prints the end of the background daemon's log, and follows it.

import { setTimeout as sleep } from 'node:timers/promises'
import { dataDir } from '@agent-relay/sdk/internal/discover'
import type { CliOptions, CommandContext, NamedCommand } from '../../command.ts'
import { endingSignal } from '../../ending.ts'
import { logLinesDefault } from '../../options.ts'
import { withTilde } from '../../text.ts'
import { LogReader, logPath, readLogEnd } from './log-file.ts'

const logsOptions = {
  follow: { flags: '--follow', text: 'keep showing new lines, until Ctrl-C' },
  lines: { flags: '--lines <n>', text: 'how many lines (100)', number: [1, 100_000] },
} satisfies CliOptions

export const logs: NamedCommand<typeof logsOptions> = {
  name: 'logs',
  text: "show the end of the daemon's log",
  options: logsOptions,
  examples: ['agent-relay daemon logs', 'agent-relay daemon logs --follow'],
  actsForNoAgent: true,
  run: runLogs,
}

async function runLogs({ env, options, print }: CommandContext<typeof logsOptions>): Promise<void> {
  const show = (line: string) => (print.isJson ? print.json({ line }) : print.line(line))
  const directory = dataDir(env)
  const lines = readLogEnd(directory, options.lines ?? logLinesDefault)
  for (const line of lines) void show(line)
  if (!options.follow) {
    const file = withTilde(logPath(directory), env.HOME)
    if (lines.length === 0) print.say(`Nothing is logged in ${file}: only a daemon in the background logs.`)
    return
  }
  const ending = endingSignal()
  const reader = new LogReader(directory)
  reader.read()
  while (!ending.aborted) {
    for (const line of reader.read()) void show(line)
    await sleep(200, undefined, { signal: ending }).catch(() => {})
  }
}
