// The rules about files: which sources may read a file by themselves, and which file of work/ alone changes anything on a disk. tidy.ts runs them.

/**
 * Matches code that reads a file by itself. Only the sources below may, for the reason given; all others use sdk/src/internal/foreign-file.ts, which
 * neither waits nor reads without end.
 */
export const readsFiles =
  /\b(?:readFile(?:Sync)?|copyFile(?:Sync)?|cp(?:Sync)?|createReadStream|readSync|open(?:Sync|AsBlob))\(|\bfs(?:Promises)?\.(?:open|read)\w*\(/
export const fileReaders: Record<string, string> = {
  'packages/sdk/src/internal/foreign-file.ts': 'the careful reader itself',
  'packages/mcp/src/version.cts': 'its own package',
  'packages/relay/src/machine/version.ts': 'its own package and the id of its build',
  'packages/relay/src/machine/metrics-key.ts': 'the data directory',
  'packages/relay/src/wires/page.ts': 'its own package',
  'packages/mcp/src/hooks/later-brief.cts': 'the data directory',
  'packages/mcp/src/hooks/identity.cts': "the kernel's files about a process",
  'packages/relay/src/machine/port-owner.ts': "the kernel's files about a process",
  'packages/relay/src/machine/descriptors.ts': "the kernel's file about this process",
  'packages/relay/src/supervisor/processes.ts': "the kernel's files about a process",
  'packages/relay/src/machine/process-tree.ts': "the kernel's files about a process",
  'packages/mcp/src/hooks/claude-terminal-answer.cts':
    'the same, and the end of a transcript, of which no more is read',
  'packages/relay/src/supervisor/claude/transcript.ts':
    'a transcript from where it was read before, a megabyte at a time',
  'packages/mcp/src/careful/file.ts': 'opens what it has just made, exclusively',
  'packages/mcp/src/careful/records.ts': 'the data directory',
  'packages/mcp/src/install/workspace-key.ts': 'the data directory',
  'packages/relay/src/machine/cluster-file.ts': 'opens what it has just made, exclusively',
  'packages/relay/src/machine/config.ts': 'the data directory',
  'packages/relay/src/daemon/recovering.ts': 'the data directory',
  'packages/relay/src/machine/data-directory.ts': 'the data directory',
  'packages/relay/src/daemon/agent-hosts.ts': 'written by the daemon alone, into the data directory',
  'packages/relay/src/machine/trust.ts': 'the data directory',
  'packages/relay/src/broker/waking/hook-waiters.ts': 'the data directory; writes into fifos, without waiting',
  'packages/relay/src/cli/commands/daemon/log-file.ts': 'the data directory',
  'packages/relay/src/supervisor/launching.ts': 'the data directory',
  'packages/relay/src/wires/page-login.ts': 'the data directory',
  'packages/relay/src/store/file-header.ts': 'the header of a database',
  'packages/relay/src/store/journal-end.ts': 'the data directory',
  'packages/relay/src/store/integrity.ts': 'the data directory',
  'packages/relay/src/cli/commands/lift/role-panes.ts': "a lift's private directory",
  'packages/relay/src/cli/commands/lift/pane.ts': "a lift's private directory",
  'packages/relay/src/cli/commands/lift/window.ts': "a lift's private directory",
  'packages/relay/src/cli/stdin.ts': 'what the person named, bounded',
  'packages/relay/src/daemon/archive.ts': 'the archive, which the daemon wrote, a chunk at a time',
  'packages/relay/src/daemon/backup-file.ts': 'a backup that the person named, a part at a time',
  'packages/relay/src/daemon/backup.ts': 'opens what it has just made, exclusively',
  'packages/relay/src/daemon/importing.ts': 'what the person named, a line at a time',
  'packages/prove/src/harness/processes.ts': "the kernel's files about a process, and what a trial's own daemon wrote",
  'packages/prove/src/scenarios/full-disk.ts': "what a trial's own daemon wrote",
  'packages/prove/src/harness/postgres.ts': "the kernel's files about a process, and what a trial's own server wrote",
  'packages/prove/src/harness/strace.ts': 'what strace wrote in a directory of the trial',
  'packages/relay/src/work/own-files.ts': 'opens folders alone, to hold them',
  'packages/relay/src/machine/sync.ts': 'reads nothing: what was just written is synced',
}

const work = 'packages/relay/src/work/'
/** The functions of `node:fs` that any file of work/ may use: they look, and change nothing. */
const looking = [
  'accessSync',
  'constants',
  'existsSync',
  'lstatSync',
  'readdirSync',
  'readlinkSync',
  'realpathSync',
  'statSync',
]
const fromFs =
  /\bimport\s+([^'"]*?)\s*\bfrom\s*['"](?:node:)?fs(?:\/promises)?['"]|\b(?:import|require)\(\s*['"](?:node:)?fs\b/g

/**
 * The functions of `node:fs` in a file of work/ that could remove, move or write something. In a repository of somebody else's only own-files.ts does that.
 */
export function changesDisk({ path, code }: { path: string; code: string }): string[] {
  if (!path.startsWith(work) || path === `${work}own-files.ts`) return []
  const taken = [...code.matchAll(fromFs)].flatMap(([all, names]) => (names ?? all).replace(/[{}]/g, '').split(','))
  const changing = taken
    .map((name) => name.trim())
    .filter((name) => name !== '' && !/^type\s/.test(name) && !looking.includes(name))
  return changing.map((name) => `${path}: takes ${name} of node:fs; only work/own-files.ts changes anything on a disk`)
}
