// docs/reference as text, made from the tables themselves: operations, tools, commands, refusals and limits. test/docs keeps the files true.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { type Tool, toolsets } from '../packages/mcp/src/index.ts'
import { allCommands } from '../packages/relay/src/cli/catalog.ts'
import { type CliOption, exitCodes, type NamedCommand } from '../packages/relay/src/cli/command.ts'
import { ownOptions } from '../packages/relay/src/cli/options.ts'
import { settings } from '../packages/sdk/src/internal/settings.ts'
import { waitLimits } from '../packages/sdk/src/internal/waits.ts'
import { clientLimits, welcomeTimeoutMs } from '../packages/sdk/src/limits.ts'
import { limits, operations, refusals } from '../packages/sdk/src/protocol/index.ts'
import { type Fixes, fixes, fixFor } from '../packages/sdk/src/protocol/refusals/fixes.ts'
import { accessTable } from './access.ts'

const note = 'Made from the sources by `npm run reference`; do not edit it by hand.'

/** The contents of the files in docs/reference, by file name. */
export async function reference(): Promise<Record<string, string>> {
  const commands = await allCommands()
  return {
    'cli.md': page(
      'The command line',
      cliIntroduction,
      commands.filter(isShown).flatMap((command) => commandText(command)),
    ),
    'operations.md': page('Operations', operationsIntroduction, operationTexts()),
    'access.md': page('Who may ask what', accessIntroduction, [accessTable()]),
    'tools.md': page('MCP tools', toolsIntroduction, toolTexts()),
    'refusals.md': page('Refusals and exit codes', refusalsIntroduction, [refusalTable(), exitTable()]),
    'limits.md': page('Limits', 'Both ends of a wire agree on these. The unit stands last in the name.', [
      limitTable(),
      waitText(),
    ]),
    'settings.md': page('Settings', settingsIntroduction, [settingTable(false), settingTable(true)]),
    'hosts.md': page('What the models of hosts receive', hostsIntroduction, [hostTable(), queueText(), ownText()]),
  }
}

const cliIntroduction =
  'Data goes to stdout, talk to stderr. Every command takes `--json` and `--project NAME`; those that act as an agent take `--as NAME`.\n\n' +
  'A command that fails with `--json` prints one line on stdout, `{"error":{"code","message"}}`, with `details` where there are some: `code` is ' +
  'that of the [refusal](refusals.md), else the name of the exit code. Where the answer itself tells of the failure (`actions invoke`, `runs`, ' +
  '`mcp install`, `doctor`) it stands alone. The exit code is the same as without `--json`.'
const operationsIntroduction =
  'Everything that can be asked of the relay: by `client.call(name, input)` in the SDK, and by `POST /api/<name>` with the input as JSON body. ' +
  'A command changes something and runs once for each id; a query reads; a watch keeps sending (sockets only). *Who* is who may ask: ' +
  'anyone with a session, an agent, the holder of the workspace key, or the owner on the daemon’s own socket. *Network* is the least that must be shown ' +
  'over HTTP and WebSocket: nothing, even on a lift’s port (`lift`) or on an open port (`open`; `run` where nothing is started but a loop), an agent’s ' +
  '`token`, the key or a token where the policy lets it start programs (`spawn`), or the `key`. [Who may ask what](access.md) is the table by callers.'
const accessIntroduction =
  'The operations that each caller may ask, from the columns *who* and *network* of [the operations](operations.md). ' +
  '[Security](../SECURITY.md#who-may-ask-what) says what the callers are.'
const toolsIntroduction =
  'What agents see. `agent-relay-mcp serve` offers the toolset `relay`; others are asked for with `--tools relay,workspace` or `RELAY_TOOLS`.'
const hostsIntroduction =
  'Our tools answer text alone, without structured content and output schemas: with those, some hosts show their model nothing of the text, and ' +
  'others show everything twice. This table is made from the last run of `npm run test:real`, which compares what the model of each CLI was sent, ' +
  'byte by byte, with what it should be; the numbers say how often each stands in the result.'
const refusalsIntroduction =
  'An expected “no” has a code and a text that says how to fix it. *Again*: the same call may succeed later without being changed.'

function page(title: string, introduction: string, parts: string[]): string {
  return `# ${title}\n\n${note}\n\n${introduction}\n\n${parts.join('\n\n')}\n`
}

const settingsIntroduction =
  'Environment variables. An option of a command goes before its variable. A variable that is empty, or arrives unexpanded (`$RELAY_…`), counts as not set. ' +
  'What a workspace is allowed to do is its policy (`agent-relay workspace policy`), and what belongs to a project stands in `.relay/config.json`.'

function settingTable(isInternal: boolean): string {
  const head = isInternal
    ? 'Programs of ours say these to each other; they are not for people to set.\n\n| name | meaning | when it is not set | read by |'
    : '| name | meaning | when it is not set | read by |'
  const rows = Object.entries(settings).filter(([, row]) => (row.isInternal ?? false) === isInternal)
  const lines = rows.map(
    ([name, { what, otherwise, readBy }]) => `| \`${name}\` | ${what} | ${otherwise} | ${readBy} |`,
  )
  return [head, '|---|---|---|---|', ...lines].join('\n')
}

const isShown = ({ isHidden }: { isHidden?: boolean }) => !isHidden

function commandText(command: NamedCommand, path = 'agent-relay'): string[] {
  const name = `${path} ${command.name}`
  const usage = command.commands ? '' : `\n\n    ${[name, command.args].filter(Boolean).join(' ')}`
  const options = ownOptions(command).filter(isShown).map(optionLine)
  const examples = command.commands ? [] : (command.examples ?? []).map((example) => `    ${example}`)
  const text = [
    `${path === 'agent-relay' ? '##' : '###'} ${name}${usage}\n\n${sentence(command.text)}`,
    ...(options.length > 0 ? [options.join('\n')] : []),
    ...(examples.length > 0 ? [`Examples:\n\n${examples.join('\n')}`] : []),
  ].join('\n\n')
  return [text, ...(command.commands ?? []).filter(isShown).flatMap((sub) => commandText(sub, name))]
}

function optionLine({ flags, text, choices, isList }: CliOption): string {
  const more = [...(choices ? [`one of ${choices.join(', ')}`] : []), ...(isList ? ['may be given several times'] : [])]
  return `* \`${flags}\`: ${[text, ...more].join('; ')}`
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function operationTexts(): string[] {
  return Object.entries(operations).map(([name, { kind, who, network, summary, input, output }]) =>
    [
      `## ${name}`,
      `*${kind}, ${who}, network: ${network}.* ${summary}`,
      `* input: ${code(shapeOf(input, 'input'))}\n* ${kind === 'watch' ? 'each item' : 'output'}: ${code(shapeOf(output, 'output'))}`,
    ].join('\n\n'),
  )
}

function toolTexts(): string[] {
  return Object.entries(toolsets).map(([set, tools]) => [`## Toolset ${set}`, ...tools.map(toolText)].join('\n\n'))
}

function toolText({ name, description, input, hints }: Tool): string {
  const facts = Object.entries(hints).flatMap(([hint, isSo]) => (isSo ? [hint] : []))
  return [
    `### ${name}`,
    description,
    `* input: ${code(shapeOf(input, 'input'))}${facts.length > 0 ? `\n* hints: ${facts.join(', ')}` : ''}`,
  ].join('\n\n')
}

type Schema = z.core.JSONSchema.BaseSchema

function shapeOf(schema: z.ZodType, io: 'input' | 'output'): string {
  return shape(z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Schema)
}

/** A schema written as a type; a part that is used twice stands where it is used. */
function shape(schema: Schema | boolean, root: Schema = schema as Schema): string {
  if (typeof schema === 'boolean') return 'any'
  if (schema.$ref) return named(schema.$ref, root)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const parts = schema.anyOf ?? schema.oneOf
  if (parts) return [...new Set(parts.map((part) => shape(part as Schema, root)))].join(' | ')
  if (schema.type === 'array') return arrayOf(shape((schema.items ?? {}) as Schema, root))
  if (schema.type === 'object') return objectShape(schema, root)
  return typeof schema.type === 'string' ? schema.type : 'any'
}

function named(ref: string, root: Schema): string {
  const target = root.$defs?.[ref.split('/').at(-1) as string]
  return target === undefined ? 'any' : shape(target as Schema, root)
}

function arrayOf(item: string): string {
  return item.includes(' | ') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
}

function objectShape({ properties, required = [], additionalProperties }: Schema, root: Schema): string {
  if (!properties || Object.keys(properties).length === 0) {
    const isMap = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
    return isMap ? `{ [name]: ${shape(additionalProperties as Schema, root)} }` : '{}'
  }
  const fields = Object.entries(properties).map(
    ([name, part]) => `${name}${required.includes(name) ? '' : '?'}: ${shape(part as Schema, root)}`,
  )
  return `{ ${fields.join(', ')} }`
}

function code(text: string): string {
  return `\`${text}\``
}

function table(heads: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

/** The details of a refusal, each as its own name. */
const details = new Proxy({}, { get: (_, name) => `‹${String(name)}›` })

function refusalTable(): string {
  const rows = Object.entries(refusals).map(([name, { text, http, exit, retry }]) => [
    code(name),
    [text(details), ...fixTexts(name)].join(' ').replaceAll('\n', ' '),
    String(http),
    String(exit),
    retry ? 'yes' : '',
  ])
  return table(['code', 'text', 'HTTP', 'exit', 'again'], rows)
}

function fixTexts(name: string): string[] {
  if (!Object.hasOwn(fixes, name)) return []
  const { agent } = fixes[name as keyof typeof fixes] as Fixes
  const tools = typeof agent === 'object' ? Object.keys(agent) : ['']
  const readers = tools.map((tool) => ({ hasTool: (name: string) => name === tool }))
  const told = [readers, ['person'] as const, ['program'] as const]
  const words = told.map((readers) => readers.map((reader) => fixFor(name, details, reader)).join(' / '))
  return ['agents', 'people', 'programs'].flatMap((who, i) => (words[i] === '' ? [] : [`*To ${who}:* ${words[i]}`]))
}

function exitTable(): string {
  const meanings: Record<keyof typeof exitCodes, string> = {
    refused: 'refused, or something went wrong',
    usage: 'a mistake in the command line',
    notRunning: 'no daemon runs',
    busy: 'busy: the port, the lock or the disk; try again',
    lostRace: 'between a daemon and its starter only',
    denied: 'not allowed',
    config: 'a file or variable is not as it must be',
  }
  const rows = Object.entries(exitCodes).map(([name, exit]) => [
    String(exit),
    code(name),
    meanings[name as keyof typeof exitCodes],
  ])
  return `## Exit codes\n\n${table(['code', 'name', 'meaning'], [['0', '', 'done'], ...rows])}`
}

function limitTable(): string {
  return table(
    ['limit', 'value'],
    Object.entries(limits).map(([name, value]) => [code(name), value.toLocaleString('en-US')]),
  )
}

const waitsIntroduction =
  'How long our programs wait for each other. Each limit is many times what is usual on two slow cores, so that a busy machine meets none of them; ' +
  'whatever takes longer than a second says what it waits for. On a machine that is slower still, `RELAY_PATIENCE=3` in the environment makes all that ' +
  'it sets three times as long (1 to 100; it never makes one shorter, and keeps a hook within the time that its CLI allows).'

function waitText(): string {
  const seconds = (ms: number) => `${ms / 1_000} s`
  const ours = Object.values(waitLimits).map(({ what, usualMs, limitMs, afterwards }) => [
    ...[what, seconds(usualMs), seconds(limitMs), code('RELAY_PATIENCE'), afterwards],
  ])
  const { callAwayMs } = clientLimits
  const programs = [
    [
      'a daemon that is away while a program calls it',
      '1 s',
      seconds(callAwayMs),
      '`limits.callAwayMs` of `RelayClient`',
      'the call fails, and says how to start it',
    ],
    [
      'the first answer on a new connection',
      '0.02 s',
      seconds(welcomeTimeoutMs),
      '',
      'the connection counts as lost, and another one is made',
    ],
  ]
  const heads = ['for', 'usual', 'limit', 'setting', 'then']
  return `## Waits\n\n${waitsIntroduction}\n\n${table(heads, [...ours, ...programs])}`
}

/** A row that test/real/shown.test.ts has found. */
interface ShownRow {
  host: string
  shows: string
  unread: number
  away: number
  message: number
  tags: number
  action: number
  largeBytes: number
  large: string
}

/** The rows that the last run of a suite of `npm run test:real` has written. */
function found<T>(file: string): T[] {
  return JSON.parse(readFileSync(new URL(`../test/real/${file}`, import.meta.url), 'utf8'))
}

function hostTable(): string {
  const rows = found<ShownRow>('shown.json')
  const head = [
    ...[
      'Host',
      'Its model receives',
      'Unread line',
      'Away line',
      'Message',
      'Raw `</system-reminder>`',
      'Result of an action',
    ],
    'Of a message of 255 KiB',
  ]
  const cells = rows.map(({ host, shows, unread, away, message, tags, action, largeBytes, large }) => [
    ...[`\`${host}\``, shows, unread, away, message, tags, action],
    `${largeBytes.toLocaleString('en')} bytes: ${large}`,
  ])
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

const queueIntroduction =
  'What each CLI asks leave for, from its dialog to the queue of approvals and back: hired by the relay, and started by hand after ' +
  '`mcp install --yes`. Made from the last run of `npm run test:real`. *Whole*: a long command and a file of 60 lines are shown as they would ' +
  'run and be written. *Words*: how the words of who says no reach the model. *Restart*: what becomes of an open question when the daemon is ' +
  'killed and comes back. Where it says that it is not seen, the dialog is at the CLI’s own terminal alone.'

/** The versions of Codex with which the tests of sessions that people start have passed. */
function ownText(): string {
  const versions = found<string>('own.json')
  const text =
    'The tests of a Codex that a person started (`test/real/own-codex.test.ts`) have passed with these versions. Others are used too, ' +
    'where they answer as expected.'
  return `## Codex, started by hand\n\n${text}\n\n${versions.map((version) => `* \`${version}\``).join('\n')}`
}

/** A row that test/real/queue.test.ts has found, by its columns. */
type QueueRow = Record<'host' | 'how' | 'seen', string> & Record<string, string | undefined>

function queueText(): string {
  const heads = ['Host', 'Started', 'Seen', 'Whole', 'Allow reaches', 'Deny reaches', 'Words', 'Restart']
  const rows = found<QueueRow>('queue.json').map(({ host, how, seen, whole, allow, deny, words, restart }) => [
    ...[`\`${host}\``, how, seen],
    ...[whole, allow, deny, words, restart].map((cell = '–') => cell),
  ])
  return `## The queue of approvals\n\n${queueIntroduction}\n\n${table(heads, rows)}`
}
