// The hook before an edit: the files that a tool call shows, and the hook as a CLI runs it, on a real daemon and without one.

import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findEdits } from '@agent-relay/mcp/edits'
import { RelayClient } from '@agent-relay/sdk'
import { spoolName } from '@agent-relay/sdk/internal/discover'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../test/until.ts'
import { refreshLauncher } from '../src/launcher/index.ts'
import { type Env, outcomeOf, PipeWorld, pipeLauncher } from './pipe-world.ts'

describe('what a tool call is about to write', () => {
  const patch = '*** Begin Patch\n*** Update File: a.ts\n@@\n-x\n+y\n*** Add File: b/c.ts\n+z\n*** End Patch'
  test.each([
    ['Write', { file_path: '/w/a.ts', content: 'x' }, ['/w/a.ts']],
    ['Edit', { file_path: 'a.ts', old_string: '', new_string: '' }, ['/w/a.ts']],
    ['NotebookEdit', { notebook_path: 'n.ipynb' }, ['/w/n.ipynb']],
    ['write_file', { file_path: 'a.ts' }, ['/w/a.ts']],
    ['edit', { filePath: 'a.ts' }, ['/w/a.ts']],
    ['create', { path: 'a.ts' }, ['/w/a.ts']],
    ['str_replace_editor', { command: 'view', path: 'a.ts' }, []],
    ['apply_patch', { input: patch }, ['/w/a.ts', '/w/b/c.ts']],
    ['Bash', { command: `apply_patch <<'EOF'\n${patch}\nEOF` }, ['/w/a.ts', '/w/b/c.ts']],
    ['Read', { file_path: 'a.ts' }, []],
    ['Bash', { command: 'echo x > a.ts && cat b >> "c d.ts" 2>/dev/null' }, ['/w/a.ts', '/w/c d.ts', '/dev/null']],
    ['Bash', { command: 'cd sub; sed -i s/a/b/ x.ts | tee -a log' }, ['/w/sub/x.ts', '/w/sub/log']],
    [
      'Bash',
      { command: 'rm -f a.ts; mv b.ts c.ts; cp d.ts e.ts; dd if=q of=f' },
      ['a.ts', 'b.ts', 'c.ts', 'e.ts', 'f'].map((name) => `/w/${name}`),
    ],
    ['Bash', { command: "bash -lc 'echo x > a.ts'" }, ['/w/a.ts']],
    ['run_shell_command', { command: 'echo x > a', dir_path: 'sub' }, ['/w/sub/a']],
    ['shell', { command: ['bash', '-lc', 'echo x > a'] }, ['/w/a']],
    ['Bash', { command: 'cat <<EOF\necho x > not-this\nEOF\necho y > this' }, ['/w/this']],
    ['Bash', { command: 'echo "a > b" \'c > d\' 2>&1; echo $X > $Y; ls *.ts' }, []],
    ['Bash', { command: 'git checkout -- a.ts && git rm b.ts && git restore c.ts' }, ['/w/a.ts', '/w/b.ts', '/w/c.ts']],
    ['Bash', { command: 'FOO=1 sudo rm a.ts # rm b.ts' }, ['/w/a.ts']],
  ] as const)('%s %j', (tool, input, files) => {
    expect(findEdits(tool, input, '/w').files).toEqual(files)
  })

  test.each([
    ['rm -rf src; rm a.ts', ['/w/src']],
    ['mv src lib', ['/w/src']],
    ['git checkout -- src && git restore lib', ['/w/src', '/w/lib']],
    ["bash -c 'cd sub && git rm -r x'", ['/w/sub/x']],
    ['cp -r a b; rm -r $X; rm -f b', undefined],
  ])('%s touches whole directories', (command, trees) => {
    expect(findEdits('Bash', { command }, '/w').trees).toEqual(trees)
  })

  test.each([
    ...['git add -A', 'git add .', 'git commit -am done', 'git stash', 'git stash pop', 'git checkout main'],
    ...[
      'git reset --hard HEAD~1',
      'git clean -fdx',
      'git restore .',
      'npm test && git -c a=b stash -u',
      'git switch dev',
    ],
  ])('%s touches files of others', (command) => {
    expect(findEdits('Bash', { command }, '/w').git?.directory).toBe('/w')
  })

  test.each([
    ...[
      'git add a.ts',
      'git commit -m "git stash"',
      'git stash list',
      'git checkout -b new',
      'git clean -n',
      'git status',
    ],
    ...['git diff', 'git switch -c new', 'git restore --staged .', 'echo git stash', 'git log --all'],
  ])('%s does not', (command) => {
    expect(findEdits('Bash', { command }, '/w').git).toBeUndefined()
  })

  test('in the directory that it names', () => {
    expect(findEdits('Bash', { command: 'cd a && git -C b stash' }, '/w').git).toEqual({
      command: 'git -C b stash',
      directory: '/w/a/b',
    })
  })
})

describe('before a Node starts for it, the launcher looks', () => {
  const data = realpathSync(mkdtempSync(join(tmpdir(), 'relay-guard-')))
  const node = join(data, 'node')
  let launcher: string
  beforeAll(() => {
    writeFileSync(node, '#!/bin/sh\necho "asked, notes in $RELAY_NOTES"\n', { mode: 0o755 })
    launcher = refreshLauncher({ RELAY_DATA_DIR: data }, { node, script: pipeLauncher })
    mkdirSync(join(data, 'hooks'))
  })
  afterAll(() => rmSync(data, { recursive: true, force: true }))
  const asks = (args: string[], env: Env = {}) =>
    execFileSync(launcher, ['hook', ...args], { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' }).trim()
  const asked = `asked, notes in ${data}/hooks/spool`
  const worker = { RELAY_WORKER: 'wk_1' }

  test('whether there is a need to ask; a worker with Claude Code asks by its own hook', () => {
    const hint = join(data, 'hooks', 'claims.home')
    expect(asks(['PreToolUse', '--cli', 'claude'])).toBe('')
    expect(asks(['PreToolUse', '--cli', 'claude', '--worker'], worker)).toBe('')
    writeFileSync(hint, '')
    for (const [event, cli] of [
      ['PreToolUse', 'claude'],
      ['PreToolUse', 'codex'],
      ['BeforeTool', 'gemini'],
      ['preToolUse', 'copilot'],
      ['tool', 'opencode'],
    ] as const) {
      expect([cli, asks([event, '--cli', cli])]).toEqual([cli, asked])
      expect([cli, asks([event, '--cli', cli], worker)]).toEqual([cli, cli === 'claude' ? '' : asked])
    }
    expect(asks(['PreToolUse', '--cli', 'claude', '--worker'], worker)).toBe(asked)
    // Without a daemon the other hooks are silent, as before.
    expect(asks(['Stop', '--cli', 'codex'])).toBe('')
    expect(asks(['Stop', '--cli', 'codex'], worker)).toBe('')
  })
})

describe('the hook', () => {
  let world: PipeWorld
  let alice: RelayClient
  let cwd: string
  let env: Env
  beforeAll(async () => {
    world = await PipeWorld.start()
    alice = await connect('Alice')
    const bob = await connect('Bob')
    env = world.env({
      ...{ RELAY_AGENT_NAME: 'Bob', RELAY_AGENT_TOKEN: bob.token as string, RELAY_SOCKET: world.socketPath },
      RELAY_NOTES: spool(),
    })
    cwd = realpathSync(mkdtempSync(join(tmpdir(), 'relay-edit-')))
    mkdirSync(join(cwd, '.git'))
  })
  afterAll(async () => {
    await alice.disconnect()
    await world.close()
    rmSync(cwd, { recursive: true, force: true })
  })
  const clients: RelayClient[] = []
  const connect = async (agentName: string) => {
    const client = new RelayClient({ agentName, socketPath: world.socketPath })
    clients.push(client)
    await client.connect()
    return client
  }
  afterAll(() => Promise.all(clients.map((client) => client.disconnect())))
  const spool = () => join(world.root, 'hooks', 'spool')
  const run = (event: string, said: object, more: Env = {}) => {
    const args = [pipeLauncher, 'hook', event, '--cli', 'claude']
    const child = spawn(process.execPath, args, { env: { ...env, ...more }, cwd, stdio: 'pipe' })
    child.stdin.end(JSON.stringify(said))
    return outcomeOf(child)
  }
  const write = (file: string) => ({ tool_name: 'Write', tool_input: { file_path: file, content: 'x' }, cwd })

  test('denies in the words of each host; on a loaded machine the daemon may be late, and then says nothing', async () => {
    await alice.call('claim.add', { cwd, files: ['a.ts'] })
    const said = async (event: string, call: object) => {
      let out = ''
      await until(async () => {
        out = (await run(event, call)).stdout
        return out !== ''
      })
      return JSON.parse(out)
    }
    const words = expect.stringMatching(/^Alice is editing a\.ts \(since \d\d:\d\d UTC\).*relay_send\(to="Alice"\)/)
    const decided = { permissionDecision: 'deny', permissionDecisionReason: words }
    expect(await said('PreToolUse', write('a.ts'))).toEqual({
      hookSpecificOutput: { hookEventName: 'PreToolUse', ...decided },
    })
    expect(await said('BeforeTool', { tool_name: 'write_file', tool_input: { file_path: 'a.ts' }, cwd })).toEqual({
      decision: 'deny',
      reason: words,
    })
    const args = JSON.stringify({ path: join(cwd, 'a.ts') })
    expect(await said('preToolUse', { toolName: 'create', toolArgs: args, cwd })).toEqual(decided)
    expect(await said('tool', { tool_name: 'bash', tool_input: { command: 'echo > a.ts' }, cwd })).toMatchObject({
      decision: 'deny',
    })
  })

  test('says nothing where nothing is in the way, whatever it is told', async () => {
    const silence = { code: 0, stdout: '', stderr: '' }
    for (const call of [write('/etc/hostname'), { tool_name: 'Bash', tool_input: { command: 'ls' } }, {}, []])
      expect(await run('PreToolUse', call)).toEqual(silence)
    expect(await run('PreToolUse', write('free.ts'))).toEqual(silence)
    const has = async () => (await alice.call('claim.list', {})).claims.some(({ file }) => file === 'free.ts')
    await until(has)
  })

  test('a directory that holds a claimed file is not removed, moved or restored', async () => {
    mkdirSync(join(cwd, 'dir/deep'), { recursive: true })
    await alice.call('claim.add', { cwd, files: ['dir/deep/x.ts'] })
    const call = (command: string) => ({ tool_name: 'Bash', tool_input: { command }, cwd })
    for (const command of ['rm -rf dir', 'mv dir other', 'git checkout -- dir'])
      await until(async () =>
        (await run('PreToolUse', call(command))).stdout.includes('Alice is editing dir/deep/x.ts'),
      )
    await alice.call('claim.drop', { cwd, files: ['dir/deep/x.ts'] })
    expect((await run('PreToolUse', call('rm -rf dir'))).stdout).toBe('')
  })

  test('a daemon that does not answer, or is gone, does not hold up the edit: a note is left, and read', async () => {
    const silent = join(world.root, 'silent.sock')
    const server = createServer(() => {}).listen(silent)
    const notes = join(spool(), spoolName(silent))
    // What a hook that was killed has left is not a note.
    mkdirSync(notes, { recursive: true })
    for (let n = 0; n < 1_000; n++) writeFileSync(join(notes, `${n}.tmp`), '')
    try {
      // It ends although nobody has answered.
      const ran = await run('PreToolUse', write('late.ts'), { RELAY_SOCKET: silent })
      expect(ran).toMatchObject({ code: 0, stdout: '' })
    } finally {
      server.close()
    }
    const [note] = readdirSync(notes).filter((name) => name.endsWith('.json'))
    const left = JSON.parse(readFileSync(join(notes, note as string), 'utf8'))
    expect(left).toMatchObject({ socket: silent, cwd, files: [join(cwd, 'late.ts')] })
    expect(JSON.stringify(left)).not.toContain(env.RELAY_AGENT_TOKEN)
    // The daemon reads what is for it, believes who has the token, and leaves what is for another.
    const ours = join(spool(), spoolName(world.socketPath))
    mkdirSync(ours, { recursive: true })
    const leave = (name: string, text: string) => writeFileSync(join(ours, name), text)
    const forged = { ...left, socket: world.socketPath, files: [join(cwd, 'forged.ts')], proof: undefined }
    leave('1.json', JSON.stringify({ ...left, socket: world.socketPath }))
    leave('2.json', JSON.stringify({ ...forged, name: 'Alice' }))
    leave('3.json', JSON.stringify({ ...forged, proof: 'f'.repeat(64) }))
    leave('4.json', '{"half')
    const { claims } = await alice.call('claim.list', {})
    const held = claims.map(({ agent, file }) => `${agent} ${file}`)
    expect(held).toContain('Bob late.ts')
    expect(held.filter((each) => each.includes('forged'))).toEqual([])
    expect(readdirSync(ours)).toEqual([])
    expect(existsSync(join(notes, note as string))).toBe(true)
  })
})
