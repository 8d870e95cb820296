// An entry named agent-relay that starts another program: shown, and replaced or removed only after a yes.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runInstall, runUninstall } from '../src/install/index.ts'
import { bin, Home, word } from './install-world.ts'

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.close())

const stranger = { command: 'npx', args: ['-y', 'somebody-elses-package\u001b[2J', 'serve'] }
const text = `${JSON.stringify({ mcpServers: { 'agent-relay': stranger } }, null, 2)}\n`
const shown = 'npx -y somebody-elses-package serve'
const entry = () => JSON.parse(home.read('.cursor/mcp.json')).mcpServers['agent-relay']
const around = () => ({ HOME: home.path, PATH: '/nowhere', RELAY_DATA_DIR: join(home.root, 'data') })

describe('install', () => {
  it('leaves it alone where nobody can say yes, and names the command that replaces it', async () => {
    const file = home.write('.cursor/mcp.json', text)
    const { code, stdout } = await home.run(['install', '-e', 'cursor'])
    expect(code).toBe(1)
    expect(stdout).toContain(
      `✗ Cursor: ~/.cursor/mcp.json: the entry "agent-relay" starts another program: ${shown}. Nothing was changed.\n`,
    )
    expect(stdout).toContain(`To replace it: ${word(bin)} install --editor cursor --yes\n`)
    expect(home.read('.cursor/mcp.json')).toBe(text)
    expect(await home.report('install', '-e', 'cursor')).toMatchObject({
      exit: 1,
      editors: [{ status: 'failed', foreign: shown, file }],
    })
  })

  it('replaces it with --yes, says so, and uninstall gives it back', async () => {
    home.write('.cursor/mcp.json', text)
    const { code, stdout } = await home.run(['install', '-e', 'cursor', '--yes'])
    expect([code, entry().command]).toEqual([0, home.launcher])
    expect(stdout).toContain(
      `✓ Cursor configured (~/.cursor/mcp.json)\n      In place of another program of that name: ${shown}\n`,
    )
    expect((await home.run(['install', '-e', 'cursor'])).stdout).toContain('✓ Cursor configured already')
    expect((await home.run(['uninstall'])).code).toBe(0)
    expect(home.read('.cursor/mcp.json')).toBe(text)
  })

  it('asks a person, who sees what it starts', async () => {
    home.write('.cursor/mcp.json', text)
    const asked: string[] = []
    const answer = (yes: boolean) => async (question: string) => {
      asked.push(question)
      return yes
    }
    const options = { editor: 'cursor', env: around(), cwd: home.project, say: () => {} }
    const before = process.exitCode
    expect((await runInstall({ ...options, confirm: answer(false) })).exit).toBe(1)
    process.exitCode = before
    expect(entry()).toEqual(stranger)
    expect((await runInstall({ ...options, confirm: answer(true) })).exit).toBe(0)
    expect(entry().command).toBe(home.launcher)
    expect(asked).toEqual([expect.stringContaining(shown), expect.stringContaining(shown)])
    await runInstall({ ...options, confirm: answer(false) })
    expect(asked).toHaveLength(2)
  })

  it('shows it in a dry run', async () => {
    home.write('.cursor/mcp.json', text)
    const { code, stdout } = await home.run(['install', '-e', 'cursor', '--dry-run'])
    expect([code, home.read('.cursor/mcp.json'), existsSync(join(home.root, 'data'))]).toEqual([0, text, false])
    expect(stdout).toContain(`In place of another program of that name: ${shown}`)
  })

  it('asks nothing about an entry of its own, also where the editor has rewritten its file', async () => {
    await home.run(['install', '-e', 'cursor'])
    const ours = entry()
    home.write('.cursor/mcp.json', JSON.stringify({ other: 1, mcpServers: { 'agent-relay': { ...ours, args: [] } } }))
    expect((await home.run(['install', '-e', 'cursor'])).code).toBe(0)
    expect(entry()).toEqual(ours)
  })
})

describe('uninstall', () => {
  it('leaves it alone, and removes it with --yes', async () => {
    home.write('.cursor/mcp.json', text)
    const { code, stdout } = await home.run(['uninstall'])
    expect([code, home.read('.cursor/mcp.json')]).toEqual([0, text])
    expect(stdout).toContain(`the entry starts another program: ${shown}. --yes removes it`)
    await runUninstall({ yes: true, env: around(), cwd: home.project, say: () => {} })
    expect(JSON.parse(home.read('.cursor/mcp.json'))).toEqual({ mcpServers: {} })
  })
})
