// The careful edit on generated files: every other byte stays, a repeated edit changes nothing, and unreadable files are not touched.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type EditOptions, FileUntouchedError, putEntry, readEntry, removeEntry } from '../src/careful/index.ts'
import { Dice, jsonFile, tomlFile } from './careful-files.ts'

const root = mkdtempSync(join(tmpdir(), 'careful-'))
const options: EditOptions = { env: { RELAY_DATA_DIR: join(root, 'data') } }
const entry = { command: '/usr/bin/node', args: ['/opt/a "b"/bin.cjs', 'serve'], env: { A: '\u007f$X' } }
const count = 200
/** Of those that somebody else changes in between. */
const changedCount = 60

afterAll(() => rmSync(root, { recursive: true, force: true }))

let files = 0
function fileOf(text: string | Buffer, name = 'config.json'): string {
  const folder = join(root, String(files++))
  mkdirSync(folder)
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** What stood before the entry and after it, if the edit was one insertion. */
function isInsertion(before: string, after: string): boolean {
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  return after.endsWith(before.slice(start)) && after.length >= before.length
}

function roundTrip(text: string, name: string, keyPath: string[]): { installed: string } {
  const file = fileOf(text, name)
  expect(putEntry(file, keyPath, 'agent-relay', entry, options).status).toBe('changed')
  const installed = readFileSync(file, 'utf8')
  expect(isInsertion(text, installed), installed).toBe(true)
  expect(readEntry(file, keyPath, 'agent-relay')).toEqual(entry)
  expect(putEntry(file, keyPath, 'agent-relay', entry, options).status).toBe('unchanged')
  expect(readFileSync(file, 'utf8')).toBe(installed)
  removeEntry(file, keyPath, 'agent-relay', options)
  expect(readFileSync(file, 'utf8')).toBe(text)
  return { installed }
}

/** The same, but somebody has written to the file in between, so that its bytes are not those that were left. */
function editedBetween(text: string, name: string, keyPath: string[], add: (text: string) => string): void {
  const file = fileOf(text, name)
  putEntry(file, keyPath, 'agent-relay', entry, options)
  writeFileSync(file, add(readFileSync(file, 'utf8')))
  removeEntry(file, keyPath, 'agent-relay', options)
  expect(readFileSync(file, 'utf8')).toBe(add(text))
}

describe('JSON with comments', () => {
  const keyPaths = [['mcpServers'], ['mcp', 'servers'], ['context_servers']]

  it(`keeps every other byte of ${count} files`, () => {
    for (let seed = 0; seed < count; seed++) {
      const dice = new Dice(seed)
      const keyPath = dice.pick(keyPaths)
      roundTrip(jsonFile(dice, keyPath), 'config.json', keyPath)
    }
  })

  it('takes out its entry alone where somebody wrote to the file since', () => {
    for (let seed = 0; seed < changedCount; seed++) {
      const dice = new Dice(seed)
      const keyPath = dice.pick(keyPaths)
      editedBetween(jsonFile(dice, keyPath), 'config.json', keyPath, (text) => `${text}\n// a remark of mine\n`)
    }
  })

  it('takes it out of a file that was written again, with everything else as it was', () => {
    for (let seed = 0; seed < changedCount; seed++) {
      const dice = new Dice(seed)
      const keyPath = dice.pick(keyPaths)
      const file = fileOf(jsonFile(dice, keyPath))
      const before = readEntry(file, [], keyPath[0] as string)
      putEntry(file, keyPath, 'agent-relay', entry, options)
      const whole = Object.fromEntries(
        [...new Set(Object.keys(parsed(file)))].map((key) => [key, readEntry(file, [], key)]).reverse(),
      )
      writeFileSync(file, JSON.stringify(whole, null, dice.pick([0, 1, 3])))
      removeEntry(file, keyPath, 'agent-relay', options)
      expect(JSON.stringify(readEntry(file, [], keyPath[0] as string)) ?? 'none').toBe(JSON.stringify(before) ?? 'none')
    }
  })

  it('leaves a heading above its entry, and a comment with what it is about', () => {
    for (const [text, expected] of [
      ['{\n  // mine\n\n  // about a\n  "a": 1\n}\n', '{\n  // mine\n\n  ours,\n  // about a\n  "a": 1\n}\n'],
      [
        '{\n  /* one\n     two */\n  // three\n\n\n  "a": 1\n}',
        '{\n  /* one\n     two */\n  // three\n\n\n  ours,\n  "a": 1\n}',
      ],
      ['{ // beside\r\n  // mine\r\n\r\n  "a": 1\r\n}', '{ // beside\r\n  // mine\r\n\r\n  ours,\r\n  "a": 1\r\n}'],
      ['{\n  // nothing yet\n  // really\n}\n', '{\n  // nothing yet\n  // really\n  ours\n}\n'],
      ['{\n  // about a\n  "a": 1\n}\n', '{\n  ours,\n  // about a\n  "a": 1\n}\n'],
      ['{\n\n  "a": 1 // not a heading\n\n}\n', '{\n  ours,\n\n  "a": 1 // not a heading\n\n}\n'],
    ] as const) {
      const file = fileOf(text)
      putEntry(file, [], 'agent-relay', 1, options)
      expect(readFileSync(file, 'utf8').replace('"agent-relay": 1', 'ours')).toBe(expected)
      removeEntry(file, [], 'agent-relay', options)
      expect(readFileSync(file, 'utf8')).toBe(text)
    }
  })

  it('edits the last of two keys of one name, which is the one that is read', () => {
    const file = fileOf('{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}')
    putEntry(file, ['mcpServers'], 'agent-relay', entry, options)
    expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')).mcpServers)).toEqual(['agent-relay', 'b'])
  })

  it('puts items into lists and knows its own by a mark', () => {
    const text = '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"command": "mine"}]} // keep\n    ]\n  }\n}\n'
    const file = fileOf(text)
    const item = { hooks: [{ type: 'command', command: 'node x hook Stop' }] }
    for (const event of ['Stop', 'Start']) putEntry(file, ['hooks', event], { mark: ' hook Stop' }, item, options)
    const { hooks } = JSON.parse(readFileSync(file, 'utf8').replace(' // keep', ''))
    expect(hooks).toEqual({ Start: [item], Stop: [item, { hooks: [{ command: 'mine' }] }] })
    for (const event of ['Stop', 'Start']) removeEntry(file, ['hooks', event], { mark: ' hook Stop' }, options)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('changes an entry of its own name to what it should be, and back', () => {
    const text = '{\n  "mcpServers": {\n    "a": 1,\n    "agent-relay": {"command": "old"} // by hand\n  }\n}\n'
    const file = fileOf(text)
    putEntry(file, ['mcpServers'], 'agent-relay', entry, options)
    putEntry(file, ['mcpServers'], 'agent-relay', { ...entry, args: [] }, options)
    expect(readEntry(file, ['mcpServers'], 'agent-relay')).toEqual({ ...entry, args: [] })
    removeEntry(file, ['mcpServers'], 'agent-relay', options)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('refuses a container of another kind', () => {
    for (const value of ['[]', 'null', '"x"', '1']) {
      const text = `{"mcpServers": ${value}}`
      const file = fileOf(text)
      expect(() => putEntry(file, ['mcpServers'], 'agent-relay', entry, options)).toThrow(
        '"mcpServers" is not an object',
      )
      expect(readFileSync(file, 'utf8')).toBe(text)
    }
  })
})

function parsed(file: string): Record<string, unknown> {
  const text = readFileSync(file, 'utf8')
  const keys = [...text.matchAll(/"((?:[^"\\]|\\.)*)"\s*:/g)].map(([, key]) => JSON.parse(`"${key}"`) as string)
  return Object.fromEntries(keys.filter((key) => readEntry(file, [], key) !== undefined).map((key) => [key, true]))
}

describe('TOML', () => {
  it(`keeps every other byte of ${count} files, and writes what Python reads too`, ({ skip }) => {
    const installed: string[] = []
    for (let seed = 0; seed < count; seed++)
      installed.push(roundTrip(tomlFile(new Dice(seed)), 'config.toml', ['mcp_servers']).installed)
    const judge = pythonJudge(installed)
    if (judge === undefined) return skip('there is no Python with tomllib here to read them')
    expect(judge).toEqual(Array(count).fill(entry))
  })

  it('takes out its entry alone where somebody wrote to the file since', () => {
    for (let seed = 0; seed < changedCount; seed++) {
      const add = (text: string) => `${text}${text.endsWith('\n') ? '' : '\n'}[later]\nb = 1\n`
      const text = tomlFile(new Dice(seed))
      const file = fileOf(text, 'config.toml')
      putEntry(file, ['mcp_servers'], 'agent-relay', entry, options)
      writeFileSync(file, add(readFileSync(file, 'utf8')))
      removeEntry(file, ['mcp_servers'], 'agent-relay', options)
      expect(readFileSync(file, 'utf8').replace(/\s/g, '')).toBe(add(text).replace(/\s/g, ''))
    }
  })

  it('takes out an entry that another program wrote, with its tables, and leaves the remark after it', () => {
    const text =
      'a = 1\n\n["mcp_servers".agent-relay] # theirs\ncommand = "x"\n[mcp_servers.agent-relay.env]\nB = "c"\n\n# about z\n[z]\ny = 2\n'
    const file = fileOf(text, 'config.toml')
    removeEntry(file, ['mcp_servers'], 'agent-relay', options)
    expect(readFileSync(file, 'utf8')).toBe('a = 1\n\n\n# about z\n[z]\ny = 2\n')
  })

  it('leaves alone what a block cannot be added to', () => {
    for (const text of [
      'mcp_servers = { a = { command = "x" } }\n',
      'mcp_servers = 1\n',
      'mcp_servers = []\n',
      '[[mcp_servers]]\na = 1\n',
    ]) {
      const file = fileOf(text, 'config.toml')
      expect(() => putEntry(file, ['mcp_servers'], 'agent-relay', entry, options), text).toThrow(FileUntouchedError)
      expect(readFileSync(file, 'utf8')).toBe(text)
    }
  })
})

/** Python reads TOML 1.0 and nothing newer; undefined where there is no Python. */
function pythonJudge(texts: string[]): unknown[] | undefined {
  const script = `import sys, json
try:
    import tomllib
except ImportError:
    print("null"); sys.exit()
print(json.dumps([tomllib.loads(text.lstrip("\\ufeff"))["mcp_servers"]["agent-relay"] for text in json.load(sys.stdin)]))`
  try {
    return (
      JSON.parse(execFileSync('python3', ['-c', script], { input: JSON.stringify(texts), encoding: 'utf8' })) ??
      undefined
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

describe('broken files', () => {
  it('are left untouched, 500 of them', () => {
    let broken = 0
    for (let seed = 0; broken < 500; seed++) {
      const dice = new Dice(seed)
      const isToml = dice.isHit(0.4)
      const text = isToml ? tomlFile(dice) : jsonFile(dice, ['mcpServers'])
      const bytes = isToml ? brokenToml(dice, text) : brokenJson(dice, text)
      if (bytes === undefined) continue
      broken++
      const file = fileOf(bytes, isToml ? 'config.toml' : 'config.json')
      const keyPath = isToml ? ['mcp_servers'] : ['mcpServers']
      expect(() => putEntry(file, keyPath, 'agent-relay', entry, options), bytes.toString()).toThrow(FileUntouchedError)
      expect(() => removeEntry(file, keyPath, 'agent-relay', options), bytes.toString()).toThrow(FileUntouchedError)
      expect(readFileSync(file).equals(bytes)).toBe(true)
    }
  })
})

/** Only what no reader could take for whole. */
function brokenJson(dice: Dice, text: string): Buffer | undefined {
  const end = text.lastIndexOf('}')
  if (end < 0 || text.startsWith('/')) return undefined
  return dice.pick([
    () => Buffer.from(text.slice(0, text.indexOf('{') + 1 + dice.below(end - text.indexOf('{')))),
    () => Buffer.from(`${text}\n}`),
    () => Buffer.from(`<<<<<<< HEAD\n${text}\n=======\n{}\n>>>>>>> other\n`),
    () => Buffer.from(text.replace('{', '{ "a" 1, ')),
    () => Buffer.from(text.replace('{', '{ "a": , ')),
    () => Buffer.from(text.replace('{', '{ "open: 1\n, ')),
    () => Buffer.from(`${text}${text.replace('\ufeff', '')}`),
    () =>
      Buffer.concat([Buffer.from(text.slice(0, end)), Buffer.from([0xff, 0xfe, 0x80]), Buffer.from(text.slice(end))]),
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.from(`[${text.replace('\ufeff', '')}\n]`),
    () => Buffer.from(text.replace('{', "{ 'single': 1, ")),
  ])()
}

function brokenToml(dice: Dice, text: string): Buffer {
  const line = dice.pick([
    '[open',
    'a = ',
    '= 1',
    'x = "open',
    '[a]]',
    'k = {a = 1',
    'v = [1,',
    'two words = 1',
    '<<<<<<< HEAD',
    'd = 2020-13-45',
    'e = 1__0',
  ])
  const end = text.endsWith('\n') || text === '' || text === '\ufeff' ? '' : '\n'
  return dice.isHit(0.1)
    ? Buffer.concat([Buffer.from(`${text}${end}a = "`), Buffer.from([0xc3, 0x28]), Buffer.from('"\n')])
    : Buffer.from(`${text}${end}${line}\n`)
}
