// The launcher: a small script in the data directory, which the entries of `install` and the hooks start. It stays valid when Node.js, the checkout
// or the global installation is updated. If its target is missing, it prints the command that fixes that. It never looks up a program by our name,
// since another project's program may have that name. Its shell code before a hook is in hook-guard.ts, and for a session without a daemon in
// stand-in.ts.

import { chmodSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellQuote, splitCommandLine } from '@agent-relay/sdk/internal/command-words'
import { dataDir, type Env, readForeignFile } from '@agent-relay/sdk/internal/discover'
import { hookGuardCode } from './hook-guard.ts'
import { replacingReason, standInCode } from './stand-in.ts'

/** A command that an MCP host runs. */
export interface ServerCommand {
  command: string
  args: string[]
}

export interface LauncherTarget {
  /** The path of Node.js, used as long as that file exists. */
  node: string
  script: string
}

const isWindows = process.platform === 'win32'
/** Maximum size of the launcher, which has a few kilobytes: a larger file is not the launcher. */
const bytesMax = 64 * 1024
/**
 * Exit code if the target is missing (EX_CONFIG: the configuration is wrong, and not the call). A hook never exits with it: its shell code ends it
 * before.
 */
const missingTargetExit = 78
/** The script that the launcher starts: the command `agent-relay-mcp` of this installation. */
export const launcherScript = fileURLToPath(new URL('../../bin/agent-relay-mcp.cjs', import.meta.url))
/** Where the script of `agent-relay` is, relative to this file: in a checkout, and in an installed archive. It is never looked up by its name. */
const relayScripts = ['../../../relay/bin/agent-relay.cjs', '../../../../../bin/agent-relay.cjs']

/** The command with which a person can start `agent-relay`, wherever they are. */
export function relayCommand(): string {
  const path = relayScripts
    .map((each) => fileURLToPath(new URL(each, import.meta.url)))
    .find((each) => existsSync(each))
  return path === undefined ? 'agent-relay' : shellQuote(path)
}

const ownTarget: LauncherTarget = { node: process.execPath, script: launcherScript }

export function launcherPath(env: Env): string {
  return join(dataDir(env), 'bin', isWindows ? 'agent-relay-mcp.cmd' : 'agent-relay-mcp')
}

/** The command with which a host starts the launcher; absolute, because editors have another PATH than shells. */
export function launcherCommand(args: string[], env: Env): ServerCommand {
  const path = launcherPath(env)
  return isWindows ? { command: 'cmd', args: ['/c', path, ...args] } : { command: path, args }
}

/** Whether a command, as a list of words, starts the launcher with `serve`. */
export function isServeCommand(command: readonly string[], env: Env): boolean {
  const { command: program, args } = launcherCommand(['serve'], env)
  return isLauncherCommand(command, env) && [program, ...args].every((word, i) => word === command[i])
}

/** Whether a command, as a list of words, starts the launcher of this data directory. */
export function isLauncherCommand([command, ...args]: readonly string[], env: Env): boolean {
  const ours = launcherCommand([], env)
  return command === ours.command && ours.args.every((arg, i) => arg === args[i])
}

/** Makes the launcher start this installation. Returns its path; throws the error of the system. */
export function refreshLauncher(env: Env, target = ownTarget): string {
  const path = launcherPath(env)
  const text = launcherText(target)
  if (readLauncher(env) === text) return path
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is not a directory`)
  const draft = join(folder, `.${basename(path)}.${process.pid}.tmp`)
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, text, { flag: 'wx', mode: 0o755 })
    // Sets the mode whatever the umask says.
    chmodSync(draft, 0o755)
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  return path
}

/** The launcher's state. 'other': it starts another installation, or another Node. */
export function launcherState(env: Env): 'current' | 'other' | 'missing' {
  const text = readLauncher(env)
  return text === undefined ? 'missing' : text === launcherText(ownTarget) ? 'current' : 'other'
}

/** The path of Node.js in the launcher; undefined if the launcher does not contain one. */
export function launcherNode(env: Env): string | undefined {
  const [node] = splitCommandLine(/^node=(.+)$/m.exec(readLauncher(env) ?? '')?.[1] ?? '')
  return node
}

/** The launcher's text; undefined if it is missing or cannot be run. */
function readLauncher(env: Env): string | undefined {
  try {
    const found = readForeignFile(launcherPath(env), { bytesMax })
    const isRunnable = isWindows || ((found?.stats.mode ?? 0) & 0o777) === 0o755
    return isRunnable ? found?.bytes.toString() : undefined
  } catch {
    return undefined
  }
}

function launcherText(target: LauncherTarget): string {
  return isWindows ? batchText(target) : shellText(target)
}

const missingTargetLines = [
  'Agent Relay is not there any more: it was moved or removed. To connect this program again:',
  '  from a checkout:      npm run setup, then: ./agent-relay mcp install',
  '  from an archive:      npm install -g ./FILE, then: agent-relay mcp install',
]

/** The text for the MCP host if Node.js is not found. It names no paths; those are on stderr. */
const noNodeText =
  'Agent Relay cannot start: no Node 20.19 or newer was found. Install Node, then: agent-relay mcp install'

/** The launcher as a shell script. Node replaces the shell, so process ids and signals are as without it; the shell costs a millisecond or two. */
function shellText({ node, script }: LauncherTarget): string {
  return `#!/bin/sh
# The launcher of Agent Relay: editors and CLIs start this file. \`agent-relay daemon start\`, \`up\` and \`mcp install\` write it again.
node=${shellQuote(node)}
script=${shellQuote(script)}
${hookGuardCode}
${standInCode}
# Only a pipe to another machine needs certificates; reading them takes longer than all of Node's start.
[ -n "$RELAY_BASE_URL" ] || unset NODE_EXTRA_CA_CERTS
if [ -f "$script" ]; then
  if [ -x "$node" ]; then exec "$node" "$script" "$@"; fi
  # Node was updated: take the one on the PATH, another version of yours beside the former one, or one where it usually is.
  versions="\${node%/*/bin/node}"
  for found in "$(command -v node)" "\${versions:-$node}"/*/bin/node /usr/local/bin/node /opt/homebrew/bin/node /usr/bin/node; do
    [ -x "$found" ] || continue
    # A version beside it must be yours: where Node was /usr/bin/node, another user's /tmp/bin/node would stand beside it.
    # A relative entry of the PATH would run a program of the current directory.
    case "$found" in "\${versions:-$node}"/*) [ -O "\${found%/node}" ] || continue ;; /*) ;; *) continue ;; esac
    "$found" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \\
      < /dev/null > /dev/null 2>&1 || continue
    exec "$found" "$script" "$@"
  done
  [ "$1" != hook ] || exit 0
  echo "ERROR: $node is not there any more, and no other Node 20.19 or newer was found." >&2
  echo "Install Node. If your shell has it already, run there: node '$script' install" >&2
  ${replacingReason(noNodeText)}
else
  echo "ERROR: $script is missing." >&2
${missingTargetLines.map((line) => `  echo '${line}' >&2`).join('\n')}
  ${replacingReason(missingTargetLines.join('\n'))}
fi
while [ "$1" = serve ] && stand_in; do :; done
exit ${missingTargetExit}
`
}

/** The launcher for Windows; untested, like all of Windows. */
function batchText({ node, script }: LauncherTarget): string {
  const escaped = (text: string) => text.replaceAll('%', '%%')
  return [
    '@echo off',
    'rem The launcher of Agent Relay: editors and CLIs start this file.',
    `if not exist "${escaped(script)}" goto gone`,
    `set "relay_node=${escaped(node)}"`,
    'if not exist "%relay_node%" set "relay_node=node"',
    `"%relay_node%" "${escaped(script)}" %*`,
    'exit /b %errorlevel%',
    ':gone',
    `echo ERROR: ${escaped(script)} is missing. 1>&2`,
    ...missingTargetLines.map((line) => `echo ${line} 1>&2`),
    `exit /b ${missingTargetExit}`,
    '',
  ].join('\r\n')
}
