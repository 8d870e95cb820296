// The systemd user unit of the daemon as text. Where it is written, and what to say about it, is commands/service.ts's affair.

export interface ServiceWish {
  /** What is run: the absolute program and its arguments. */
  command: readonly string[]
  /** What the daemon and its workers find in their environment; a unit starts with next to nothing. */
  env: Readonly<Record<string, string>>
  /** Exit codes after which trying again cannot help. */
  finalExits: readonly number[]
}

/** The first line, by which a unit is known to be ours. */
export const serviceMark = '# Made by: agent-relay daemon install-service'

export function serviceUnit({ command, env, finalExits }: ServiceWish): string {
  const variables = Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`, false)}`)
  return [
    serviceMark,
    '[Unit]',
    'Description=Agent Relay: AI coding agents on this machine talk to each other',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${command.map((word) => quoted(word, true)).join(' ')}`,
    ...variables,
    'Restart=on-failure',
    'RestartSec=2',
    `RestartPreventExitStatus=${finalExits.join(' ')}`,
    // The daemon ends its workers itself; what it could not end goes with it.
    'KillMode=mixed',
    'TimeoutStopSec=20',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n')
}

/** systemd expands `%` everywhere, and `$` in a command. */
function quoted(word: string, isCommand: boolean): string {
  const plain = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${isCommand ? plain.replaceAll('$', '$$$$') : plain}"`
}
