// `lift --kitty`: the commands for kitty, argument by argument. kitty itself needs a screen, so a recorder that obeys them stands in for it.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { launcher, World } from './cli-world.ts'

const agent = fileURLToPath(new URL('lift-agent.mjs', import.meta.url))
const world = new World()
afterAll(() => world.close())

const recorder = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync } = require('node:fs')
const { spawn } = require('node:child_process')
const args = process.argv.slice(2)
const log = process.env.RECORD
const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\\n').slice(0, -1).map((line) => JSON.parse(line)) : []
const entry = { args, input: args.includes('--stdin') ? readFileSync(0, 'utf8') : undefined }
if (args[1] === 'launch') {
  const [program, ...rest] = args.slice(args.indexOf('--') + 1)
  const id = String(lines.filter(({ pid }) => pid).length + 1)
  const child = spawn(program, rest, { detached: true, stdio: 'ignore', env: { ...process.env, KITTY_WINDOW_ID: id } })
  Object.assign(entry, { id, pid: child.pid })
  child.unref()
  console.log(id)
}
if (args[1] === 'close-window') {
  const id = args[2].split(':')[1]
  process.kill(lines.find((line) => line.id === id).pid, 'SIGHUP')
}
appendFileSync(log, JSON.stringify(entry) + '\\n')
`

interface Asked {
  args: string[]
  input?: string
  id?: string
  pid?: number
}

test('a tab with the relay and a window for each role, told their kickoff and closed', async () => {
  const bin = world.directory('bin')
  writeFileSync(join(bin, 'kitty'), recorder, { mode: 0o755 })
  const record = join(world.root, 'record.jsonl')
  const asked = () =>
    readFileSync(record, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Asked)
  const env = { PATH: `${bin}${delimiter}${process.env.PATH}`, RECORD: record }
  const { code, stdout } = await world.launch(['lift', '--kitty', '--port', '0', '--cli', agent], { env })
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^The lift of pm, dev-a and dev-b runs at http:\/\/localhost:\d+\.\nIts page: http:\S+ +once, .*\nTo end it: Ctrl-C/,
  )
  const keys = () => asked().filter(({ args }) => args[1] === 'send-key')
  await until(() => keys().length === 3)
  const relay = asked().find(({ id }) => id === '1') as Asked
  process.kill(relay.pid as number, 'SIGINT')
  await until(() => asked().filter(({ args }) => args[1] === 'close-window').length === 3)

  const directory = relay.args.at(-1) as string
  await until(() => !existsSync(directory))
  const plain = (text: string) =>
    text
      .replace(directory, 'DIRECTORY')
      .replace(process.execPath, 'NODE')
      .replace(launcher, 'LAUNCHER')
      .replace(world.cwd, 'CWD')
  const shown = asked().map(({ args }) => args.map(plain))
  const of = (command: string) => shown.filter((args) => args[1] === command)
  const order = (role: string) => ['NODE', 'LAUNCHER', 'lift', 'pane', `DIRECTORY/panes/${role}/order.json`]
  const window = (role: string) => [
    ...['@', 'launch', '--self', '--type=window', '--keep-focus', `--title=${role}`, '--cwd=CWD', '--'],
    ...order(role),
  ]
  expect(shown[0]).toEqual(['--version'])
  expect(of('launch')).toEqual([
    [
      '@',
      'launch',
      '--type=tab',
      '--tab-title=lift',
      '--title=relay',
      '--cwd=CWD',
      '--',
      'NODE',
      'LAUNCHER',
      'lift',
      'relay',
      'DIRECTORY',
    ],
    window('pm'),
    window('dev-a'),
    window('dev-b'),
  ])
  expect(of('goto-layout')).toEqual([['@', 'goto-layout', '--match=window_id:1', 'grid']])
  expect(of('send-text').sort()).toEqual(
    ['2', '3', '4'].map((id) => ['@', 'send-text', `--match=id:${id}`, '--bracketed-paste=enable', '--stdin']),
  )
  expect(of('send-key').sort()).toEqual(['2', '3', '4'].map((id) => ['@', 'send-key', `--match=id:${id}`, 'enter']))
  expect(of('close-window').sort()).toEqual(
    ['2', '3', '4'].map((id) => ['@', 'close-window', `--match=id:${id}`, '--ignore-no-match']),
  )
  const prompt = asked().find(({ args }) => args[1] === 'send-text' && args[2] === '--match=id:3')?.input
  expect(prompt).toMatch(/^You are dev-a in a multi-agent lift/)
})
