// The installer with obstacles: other users, read-only files, links, directories, many writers at once, and the packed package.

import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sized } from '../../../test/size.ts'
import { replaceFile } from '../src/careful/file.ts'
import { folderForAll, Home, libraries, libraryFolder } from './install-world.ts'

const processes = sized(3, 10)

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.close())

const isRoot = process.getuid?.() === 0
const nobody = 65534
const text = '{"mcpServers": {"a": {"args": []}}}'

/** Nothing is there that was not there before, least of all a draft. */
function expectUntouched(file: string, bytes = text): void {
  expect(readFileSync(file, 'utf8')).toBe(bytes)
  expect(readdirSync(dirname(file)).filter((name) => name.includes('tmp'))).toEqual([])
}

describe('left alone, with a clear word', () => {
  it('a read-only file', async () => {
    const file = home.write('.cursor/mcp.json', text)
    chmodSync(file, 0o444)
    const { code, stdout } = await home.run(['install', '-e', 'cursor'])
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining('✗ Cursor: ~/.cursor/mcp.json: the file is read-only. Nothing was changed.'),
    ])
    expectUntouched(file)
  })

  it('a file that an uninstall cannot read, which it names', async () => {
    const broken = '{"mcpServers": {"agent-relay": {"command": "x"}, broken'
    const file = home.write('.cursor/mcp.json', broken)
    const { code, stdout } = await home.run(['uninstall'])
    expect([code, stdout]).toEqual([78, expect.stringContaining('✗ Cursor: ~/.cursor/mcp.json')])
    expect(stdout).not.toContain('Nothing of Agent Relay')
    expectUntouched(file, broken)
  })

  it.runIf(isRoot && folderForAll())("another user's file, and a directory that may not be written to", async () => {
    home.close()
    home = new Home(folderForAll())
    const file = home.write('.cursor/mcp.json', text)
    home.write('.codex/config.toml', 'a = 1\n')
    chmodSync(home.root, 0o755)
    chmodSync(join(home.path, '.cursor'), 0o777)
    chownSync(join(home.path, '.codex/config.toml'), nobody, nobody)
    const env = { RELAY_DATA_DIR: join(home.path, '.cursor', 'data') }
    const { code, stdout } = await home.run(['install', '-e', 'cursor,codex'], { uid: nobody, env })
    expect(code).toBe(1)
    expect(stdout).toContain('✗ Cursor: ~/.cursor/mcp.json: the file belongs to another user. Nothing was changed.')
    expect(stdout).toContain('✗ Codex: ~/.codex/config.toml: you may not write there. Nothing was changed.')
    expectUntouched(file)
    expectUntouched(join(home.path, '.codex/config.toml'), 'a = 1\n')
  })

  it('a directory, a pipe and a dangling link in place of the file', async () => {
    mkdirSync(join(home.path, '.cursor/mcp.json'), { recursive: true })
    mkdirSync(join(home.path, '.codex'))
    execFileSync('mkfifo', [join(home.path, '.codex/config.toml')])
    mkdirSync(join(home.path, '.gemini'))
    symlinkSync('/nowhere/at/all', join(home.path, '.gemini/settings.json'))
    home.write('.copilot', 'a file')
    const { code, stdout } = await home.run(['install', '-e', 'cursor,codex,gemini,copilot'])
    expect(code).toBe(1)
    expect(stdout).toContain('this is a directory, not a file. Nothing was changed.')
    expect(stdout).toContain('this is a FIFO, not a file. Nothing was changed.')
    expect(stdout).toContain('this is a link to /nowhere/at/all, which is not there. Nothing was changed.')
    expect(stdout).toContain('a file stands where its directory should be. Nothing was changed.')
  })

  it('in a project, what links lead out of it', async () => {
    const file = home.write('outside.json', text)
    mkdirSync(join(home.project, '.cursor'))
    symlinkSync(file, join(home.project, '.cursor/mcp.json'))
    symlinkSync(home.path, join(home.project, '.vscode'))
    const { code, stdout } = await home.run(['install', '-e', 'cursor,vscode', '--project'])
    expect([code, stdout.match(/a link leads out of the project/g)]).toEqual([
      1,
      expect.objectContaining({ length: 2 }),
    ])
    expectUntouched(file)
    expect(existsSync(join(home.path, 'mcp.json'))).toBe(false)
  })
})

describe('kept', () => {
  it('a link to a dotfile elsewhere, with the mode and the owner of its target', async () => {
    const target = home.write('dotfiles/cursor.json', text)
    chmodSync(target, 0o640)
    if (isRoot) chownSync(target, 1234, 1235)
    mkdirSync(join(home.path, '.cursor'))
    symlinkSync('../dotfiles/cursor.json', join(home.path, '.cursor/mcp.json'))
    await home.run(['install', '-e', 'cursor'])
    expect(readlinkSync(join(home.path, '.cursor/mcp.json'))).toBe('../dotfiles/cursor.json')
    expect(readFileSync(target, 'utf8')).toContain('agent-relay')
    const { mode, uid, gid } = statSync(target)
    expect(mode & 0o777).toBe(0o640)
    if (isRoot) expect([uid, gid]).toEqual([1234, 1235])
    await home.run(['uninstall'])
    expectUntouched(target)
    expect(lstatSync(join(home.path, '.cursor/mcp.json')).isSymbolicLink()).toBe(true)
  })

  it('a backup of the first state, readable by its owner alone', async () => {
    home.write('.cursor/mcp.json', text)
    const { editors } = await home.report('install', '-e', 'cursor')
    const backup = editors[0]?.backup as string
    expect(readFileSync(backup, 'utf8')).toBe(text)
    expect(statSync(backup).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(backup)).mode & 0o777).toBe(0o700)
  })
})

describe('many writers', () => {
  it(`${10 * processes} at once lose no entry`, async () => {
    const file = home.write('many.json', '{\n  "mine": 1 // keep\n}\n')
    const careful = pathToFileURL(fileURLToPath(new URL('../dist/careful/index.js', import.meta.url))).href
    const env = { RELAY_DATA_DIR: join(home.root, 'data'), PATH: process.env.PATH }
    // Processes of ten threads each, all of which start at the same instant.
    const write = `const { putEntry } = await import(${JSON.stringify(careful)})
      import { workerData } from 'node:worker_threads'
      const { file, name, at } = workerData
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(0, at - Date.now()))
      putEntry(file, ['servers'], name, { args: [name] })`
    const script = `import { Worker } from 'node:worker_threads'
      const [file, number, at, write] = process.argv.slice(1)
      const url = new URL('data:text/javascript,' + encodeURIComponent(write))
      for (let i = 0; i < 10; i++) new Worker(url, { workerData: { file, name: number + '-' + i, at: Number(at) } })`
    const at = Date.now() + 3_000
    const codes = await Promise.all(
      Array.from({ length: processes }, (_, i) => {
        const args = ['--input-type=module', '-e', script, file, String(i), String(at), write]
        const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
        return new Promise((resolve) => child.once('close', resolve))
      }),
    )
    expect(codes).toEqual(Array(processes).fill(0))
    const result = readFileSync(file, 'utf8')
    expect(Object.keys(JSON.parse(result.replace(' // keep', '')).servers)).toHaveLength(10 * processes)
    expect(result).toContain('"mine": 1 // keep')
    expect(readdirSync(home.path)).toEqual(['many.json'])
  })

  it('what another program writes at the last moment is not lost', () => {
    const file = home.write('other.json', 'a')
    let times = 0
    replaceFile(
      file,
      {},
      ({ text }) => `${text?.replaceAll('!', '')}!`,
      () => {
        if (times++ === 0) writeFileSync(file, 'a and theirs')
      },
    )
    expect([readFileSync(file, 'utf8'), times]).toEqual(['a and theirs!', 2])
    expect(readdirSync(home.path)).toEqual(['other.json'])
  })

  it('a draft that a killed writer left is no obstacle for long', async () => {
    const file = home.write('.cursor/mcp.json', text)
    const draft = join(dirname(file), '.mcp.json.agent-relay.tmp')
    writeFileSync(draft, 'half')
    execFileSync('touch', ['-d', '1 minute ago', draft])
    expect((await home.run(['install', '-e', 'cursor'])).code).toBe(0)
    expect(existsSync(draft)).toBe(false)
  })
})

describe('the packed package', () => {
  it('has runInstall, and the server it installs is its own', async () => {
    const packages = fileURLToPath(new URL('../../', import.meta.url))
    const modules = join(home.project, 'node_modules')
    mkdirSync(join(modules, '@agent-relay'), { recursive: true })
    for (const name of ['sdk', 'mcp']) {
      const [{ filename }] = JSON.parse(
        execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', home.root], {
          cwd: join(packages, name),
          encoding: 'utf8',
        }),
      )
      execFileSync('tar', ['xzf', join(home.root, filename), '-C', home.root])
      cpSync(join(home.root, 'package'), join(modules, '@agent-relay', name), { recursive: true })
      execFileSync('rm', ['-rf', join(home.root, 'package')])
    }
    for (const name of libraries) symlinkSync(libraryFolder(name), join(modules, name))
    const script = `const { runInstall } = await import('@agent-relay/mcp/install')
      await runInstall({ editor: 'cursor', global: true })`
    const env = { HOME: home.path, PATH: '/nowhere', RELAY_DATA_DIR: join(home.root, 'data') }
    const stdout = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: home.project,
      env,
      encoding: 'utf8',
    })
    expect(stdout).toContain('✓ Cursor configured')
    expect(JSON.parse(home.read('.cursor/mcp.json')).mcpServers['agent-relay']).toEqual({
      command: home.launcher,
      args: ['serve'],
    })
    expect(readFileSync(home.launcher, 'utf8')).toContain(join(modules, '@agent-relay/mcp/bin/agent-relay-mcp.cjs'))
    expect(existsSync(join(modules, '@agent-relay/mcp/dist/bin.cjs'))).toBe(true)
  })
})
