// A real CLI, configured by `mcp install --hooks` alone and run under the most permissive mode it has: a write to a file that another agent has
// claimed is denied before it happens, in words that name the holder; after the claim's end it goes through.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Cli, hosts } from './clis.ts'
import { install } from './installing.ts'
import { OwnWorld } from './own-world.ts'

interface Writer {
  cli: string
  /** How it is run once, with a prompt that it is given. */
  args(prompt: string): string[]
  /** The tools that may write, the first that the CLI offers is used, with these arguments. */
  tools: Record<string, (path: string) => object>
}

const codexArgs = (prompt: string) => [
  ...['exec', '--dangerously-bypass-approvals-and-sandbox', '--dangerously-bypass-hook-trust'],
  ...['--skip-git-repo-check', prompt],
]
const patch = (path: string) =>
  ['*** Begin Patch', `*** Update File: ${path}`, '@@', '-as it was', '+changed', '*** End Patch', ''].join('\n')
const shell = (key: string) => (path: string) => ({ [key]: `echo changed > ${path}` })
const writers: Writer[] = [
  {
    cli: 'claude',
    args: (prompt) => ['-p', prompt, '--dangerously-skip-permissions'],
    tools: { Write: (file_path) => ({ file_path, content: 'changed' }) },
  },
  {
    cli: 'claude',
    args: (prompt) => ['-p', prompt, '--dangerously-skip-permissions'],
    tools: { Bash: shell('command') },
  },
  {
    cli: 'codex',
    args: codexArgs,
    tools: {
      exec_command: shell('cmd'),
      shell_command: shell('command'),
      shell: (path) => ({ command: ['bash', '-lc', `echo changed > ${path}`] }),
    },
  },
  {
    cli: 'codex',
    args: codexArgs,
    // Where it does not offer the tool itself, it takes the command for it.
    tools: {
      apply_patch: (path) => ({ input: patch(path) }),
      exec_command: (path) => ({ cmd: `apply_patch <<'EOF'\n${patch(path)}EOF` }),
      shell_command: (path) => ({ command: `apply_patch <<'EOF'\n${patch(path)}EOF` }),
    },
  },
  {
    cli: 'opencode',
    args: (prompt) => ['run', prompt],
    tools: { write: (filePath) => ({ filePath, content: 'changed' }) },
  },
  {
    cli: 'opencode',
    args: (prompt) => ['run', prompt],
    tools: { bash: (path) => ({ command: `echo changed > ${path}`, description: 'write' }) },
  },
  {
    cli: 'copilot',
    args: (prompt) => ['-p', prompt, '--allow-all-tools', '--allow-all-paths'],
    tools: { bash: (path) => ({ command: `echo changed > ${path}`, description: 'write', mode: 'sync' }) },
  },
  {
    cli: 'copilot',
    args: (prompt) => ['-p', prompt, '--allow-all-tools', '--allow-all-paths'],
    tools: { edit: (path) => ({ path, old_str: 'as it was', new_str: 'changed' }) },
  },
  {
    cli: 'gemini',
    args: (prompt) => ['--yolo', '--skip-trust', '-p', prompt],
    tools: { write_file: (file_path) => ({ file_path, content: 'changed' }) },
  },
]

for (const { cli, args, tools } of writers)
  test(`${cli}, ${Object.keys(tools)[0]}`, async ({ skip }) => {
    const known = hosts.find((each) => each.name === cli) as Cli
    const installed = install(known)
    if ('reason' in installed) return skip(installed.reason)
    const world = await OwnWorld.withoutUs(known, installed.folder)
    // Claude Code refuses this mode to root elsewhere than in a sandbox.
    world.env.IS_SANDBOX = '1'
    const path = join(world.work, 'locked.txt')
    const text = () => readFileSync(path, 'utf8').trim()
    writeFileSync(path, 'as it was\n')
    try {
      world.install('--hooks')
      await world.peer.connect()
      const attempt = async () => {
        world.asked.length = 0
        // Which tools it has is known from its first request.
        await world.run(...args('hello'))
        const offered = world.asked.flatMap(({ heard }) => heard?.tools.map(({ name }) => name) ?? [])
        const tool = Object.keys(tools).find((name) => offered.includes(name)) as string
        expect(offered).toContain(tool)
        await world.run(...args(`use ${tool} ${JSON.stringify(tools[tool]?.(path))}`))
      }
      const heard = () => world.asked.map(({ body }) => JSON.stringify(body)).join('\n')
      const claim = { cwd: world.work, files: ['locked.txt'] }
      // On a loaded machine the daemon may answer too late, and then the write goes through.
      for (let tries = 0; tries < 4; tries++) {
        writeFileSync(path, 'as it was\n')
        await world.peer.call('claim.add', claim)
        await attempt()
        if (text() === 'as it was') break
      }
      expect(text()).toBe('as it was')
      expect(heard()).toContain('Peer is editing locked.txt (since ')
      expect(heard()).toContain('relay_send(to=')
      await world.peer.call('claim.drop', claim)
      await attempt()
      expect(text()).toBe('changed')
    } finally {
      await world.close()
    }
  })
