// The rules of this repository that a machine can check, as one list of findings. Text and regular expressions only: TypeScript 7 has no stable API
// to ask, and Biome's formatting (one statement's end stands at its own indentation) makes text reliable enough.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { changesDisk, fileReaders, readsFiles } from './tidy-files.ts'
import { cycles, folderCircles, repeatedLimits, strayVariables, strayVendors, typedLists } from './tidy-rooms.ts'
import { measuredTime } from './tidy-time.ts'
import { oddWords, wordsTwice, wordsWithoutFile } from './tidy-words.ts'

const [fileLinesMax, functionLinesMax] = [600, 60]

/** Old offenders: `path` or `path#function`, with their lines. An entry may only shrink, and goes when the limit is met. */
const oldOffenders: Record<string, number> = {}

const clients = ['sdk', 'protocol', 'discover']
/** The zones that each zone may import: downward only, and the store through the broker. */
const mayImport: Record<string, string[]> = {
  // The zone `text` has the cleaner, the tables of CLIs and of waits, and the limits of the pipe: it imports nothing, and every zone may import it.
  text: [],
  protocol: [],
  discover: [],
  sdk: ['protocol', 'discover'],
  mcp: ['sdk', 'protocol', 'discover'],
  // The zones of the page: views are made of parts, parts show what the store holds, and the store asks the SDK.
  'dashboard/store': ['sdk'],
  'dashboard/parts': ['dashboard/store', 'sdk'],
  'dashboard/views': ['dashboard/parts', 'dashboard/store', 'sdk'],
  dashboard: ['dashboard/views', 'dashboard/parts', 'dashboard/store', 'dashboard/style', 'sdk'],
  core: ['protocol'],
  machine: ['core', 'protocol', 'discover'],
  store: ['core', 'machine', 'protocol'],
  broker: ['store', 'core', 'machine', 'protocol'],
  cluster: ['broker', 'store', 'core', 'machine', 'protocol'],
  work: ['broker', 'core', 'machine', 'protocol', 'discover'],
  wires: ['broker', 'core', 'machine', 'mcp', 'sdk', 'protocol', 'discover'],
  supervisor: ['broker', 'core', 'machine', 'sdk', 'protocol', 'discover'],
  runs: ['broker', 'core', 'machine', 'mcp', 'sdk', 'protocol', 'discover'],
  daemon: ['cluster', 'wires', 'supervisor', 'runs', 'work', 'broker', 'store', 'core', 'machine', 'mcp', ...clients],
  // It starts daemons as programs: the command gives it whatever it must know of them.
  prove: ['sdk', 'protocol', 'discover'],
  // The command line starts the pipe, which is the MCP package's, and a lift's panes as the supervisor's harnesses say.
  cli: ['daemon', 'prove', 'cluster', 'supervisor', 'work', 'store', 'core', 'machine', 'mcp', ...clients],
}

/** The only files that a room may import of another room: the contract that was made for it. */
const at = (room: string, ...names: string[]) => names.map((name) => `packages/relay/src/${room}/${name}.ts`)
const contracts: Record<string, string[]> = {
  'supervisor → broker': at(
    'broker',
    'workers/worker-runtime',
    'waking/user-session-runtime',
    'approvals/approval-runtime',
    'claims/claim-runtime',
  ),
  'runs → broker': at('broker', 'runs/run-runtime'),
  'work → broker': at('broker', 'workers/worker-runtime', 'claims/claim-runtime'),
  'cluster → broker': at('broker', 'engine', 'hub', 'local-engine', 'sharing'),
  'daemon → cluster': at('cluster', 'shared-workspaces'),
  // What `agent-relay prove` reads of a database after a trial.
  'cli → store': at('store', 'database'),
  'cli → cluster': at('cluster/postgres', 'connection', 'faults', 'joining', 'machines', 'schema', 'status'),
}

/** Libraries that one file alone may name. */
const oneHome = { SQLite: /node:sqlite|@photostructure\/sqlite/, 'the PTY library': /@lydell\/node-pty/ }

/**
 * Names that one folder or file alone may use: libraries that an idle daemon must not load, the package that `agent-relay prove` alone
 * loads, the errors of SQLite, and the tables of the cluster.
 */
const oneRoom = {
  'packages/relay/src/runs/': /['"](?:ai|@ai-sdk\/[\w-]+|@modelcontextprotocol\/client(?:\/\w+)?)['"]/,
  'packages/relay/src/cli/commands/prove.ts': /@agent-relay\/prove/,
  'packages/relay/src/cluster/postgres/': /['"]pg['"]|\b(?:from|into|join|update) relay\.\w/i,
  'packages/relay/src/store/': /\bisSqliteError\b|\b(?:ERR_)?SQLITE_[A-Z]+|\berrcode\b/,
}

const coreBans =
  /\b(?:await|async|Date|Math\.random)\b|(?<![.\w])(?:process|console|performance|crypto|set(?:Timeout|Interval|Immediate))\s*[.[(]/
const writesRows =
  /\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|update(?=\s+(?!relay\.)\S+\s+set)|delete\s+from)\b(?!\s+relay\.)/i
/** The files that write rows, and which rows. All others change something by a command. */
const rowWriters: Record<string, string> = {
  'packages/relay/src/store/fact-applier.ts': 'what facts say',
  ...Object.fromEntries(
    ['action', 'approval', 'claim', 'need', 'notice', 'run', 'spend', 'worker'].map((noun) => [
      `packages/relay/src/store/${noun}-rows.ts`,
      `the same, of facts about a ${noun}`,
    ]),
  ),
  'packages/relay/src/store/appliers.ts': 'the same: bodies',
  'packages/relay/src/store/noted-receipts.ts': 'the same, of notes',
  'packages/relay/src/store/awaited-receipts.ts': 'receipts of messages that are not here yet',
  'packages/relay/src/store/concerns.ts': 'whom an entry concerns, from its facts',
  'packages/relay/src/store/journal.ts': 'entries, and how their commands were answered',
  'packages/relay/src/store/local-journal.ts': 'entries of one machine alone',
  'packages/relay/src/store/outbox-rows.ts': 'sends that wait on this machine',
  'packages/relay/src/store/pruning.ts': 'what is old and over, taken out',
  'packages/relay/src/store/migrating.ts': 'all rows of another file, when a workspace is restored',
  'packages/relay/src/store/migrations.ts': 'a database of an older version',
  'packages/relay/src/store/search.ts': 'the index of search, a database of its own',
  'packages/relay/src/store/search-parts.ts': 'the same: which words its parts have',
}
const protocol = 'packages/sdk/src/protocol'
/** A table of the protocol is one file, or that file and a folder of its name. */
const isPart = ({ path }: Source, table: string) => new RegExp(`^${protocol}/${table}(\\.ts$|/)`).test(path)
const tableKey = /^\s*'([\w-]+(?:\.[\w-]+)+)':/gm
const factType = /\btype: (?:z\.literal\()?'([\w.-]+)'/g

/** The only files that make a session's standing: it is decided where the session opens, and nobody writes to it afterwards. */
const standingMakers = ['sessions/standing', 'admission', 'sessions/sessions'].map(
  (name) => `packages/relay/src/broker/${name}.ts`,
)
const makesStanding = /\bstandingOf\(|\bsessions\.open\(|\brank: /
/**
 * Matches a question for a session's rank. Who may see and do what is decided in core/ (sight.ts above all) and where a session opens: nobody else
 * asks whether the key was shown.
 */
const asksRank = /\bisHolder\b|\.rank\b|[{,]\s*rank\b/
const writesSession = /\b(?:session|standing)\.\w+\s*=(?!=)|\bObject\.assign\((?:session|standing)\b/

/** Matches what puts something else in the place of a module or an object of ours. Spies, fake timers and stubbed variables of the environment may stay. */
const mocks = /\bvi\.(?:mock|doMock|hoisted|fn)\(/

interface Source {
  path: string // from the root
  text: string
  code: string // without comments
  bare: string // without the insides of strings too, except what stands in a template's ${}
}
type Size = { name: string; lines: number; max: number }

const comment = String.raw`\/\*[\s\S]*?\*\/|\/\/[^\n]*`
const quoted = String.raw`'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\`(?:\\[\s\S]|[^\`\\])*\``
const regex = String.raw`(?<=[=(,:[!&|?{};>]\s*|return\s+)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+\/`
const tokens = new RegExp(`(${comment})|(${quoted}|${regex})`, 'g')
const blank = (text: string): string => text.replace(/\$\{[^{}]*\}|[^\n]/g, (all) => (all.length > 1 ? all : ' '))

function read(root: string, path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const code = text.replace(tokens, (all, isComment) => (isComment ? blank(all) : all))
  const bare = code.replace(tokens, (all) => `'${blank(all.slice(1, -1))}'`)
  return { path, text, code, bare }
}

function sources(root: string, folder: string): Source[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return /^(node_modules|dist)$/.test(entry.name) ? [] : sources(root, path)
    return /\.[cm]?[jt]sx?$/.test(entry.name) ? [read(root, path)] : []
  })
}

function zoneOf(path: string): string {
  if (
    /^packages\/sdk\/src\/internal\/(?:clean|clis|command-words|mentions|opencode-permission-text|parse-json|permission-text|pipe-limits|printed|settings|unreachable-text|waits|wire-client)\.ts$/.test(
      path,
    )
  )
    return 'text'
  if (
    /^packages\/sdk\/src\/(?:errors|internal\/(?:discover|paths|foreign-file|injection|test-relays|worktree))\.ts$/.test(
      path,
    )
  )
    return 'discover'
  if (path.startsWith(`${protocol}/`)) return 'protocol'
  const [, name, , room, file] = path.split('/')
  if (name === 'dashboard' && file !== undefined) return `${name}/${room}`
  return (name === 'relay' ? room : name) ?? ''
}

/** The files and packages that a source imports; our own as paths. */
function importsOf({ path, code }: Source): string[] {
  const statement =
    /^(?:import|export|\})[^'"\n]*\bfrom\s*['"]([^'"]+)|^import\s*['"]([^'"]+)|\b(?:import|require)\(\s*['"]([^'"]+)/gm
  return [...code.matchAll(statement)].map(([, a, b, c]) => {
    const name = a ?? b ?? c ?? ''
    if (name.startsWith('.')) return posix.join(posix.dirname(path), name).replace(/\.([cm]?)js$/, '.$1ts')
    const [, own, part = 'index'] = /^@agent-relay\/(sdk|protocol|mcp|prove)(?:\/([\w/-]+))?$/.exec(name) ?? []
    return own ? `packages/${own}/src/${part === 'protocol' ? 'protocol/index' : part}.ts` : name
  })
}

function wrongImports(source: Source): string[] {
  const zone = zoneOf(source.path)
  const allowed = mayImport[zone]
  if (!allowed) return [`${source.path}: the folder "${zone}" has no place in the table of imports`]
  // The pipe loads discovery and must load nothing else, zod least of all; types load nothing.
  const loads = zone === 'discover' ? source.code.replace(/^import type [^'"]*['"][^'"]+/gm, '') : source.code
  return importsOf({ ...source, code: loads }).flatMap((target) => {
    const other = target.startsWith('packages/') ? zoneOf(target) : 'elsewhere'
    const fine =
      other === zone || other === 'text' || allowed.includes(other) || (other === 'elsewhere' && zone !== 'core')
    if (!fine) return [`${source.path}: ${zone} may not import ${other} (${target})`]
    const known = contracts[`${zone} → ${other}`] ?? [target]
    return known.includes(target)
      ? []
      : [`${source.path}: ${zone} may know ${known.join(', ')} of ${other}, not ${target}`]
  })
}

/** Every function whose body spans lines, with its length. The line that ends in `{` and its `}` share one indentation. */
function functionsOf({ path, bare }: Source): Size[] {
  const lines = bare.split('\n')
  const indent = (line = '') => line.length - line.trimStart().length
  return lines.flatMap((line, at): Size[] => {
    const endsHead = /^\s*(?:\}.*)?\).* \{$/.test(line)
    const isHead = /=> \{$|\bfunction\b.*\{$|^\s*(?:[\w#]+ )*[\w#$*]+(?:<.*>)?\(.*\)(?:: .*)? \{$/.test(line)
    if (!endsHead && !isHead) return []
    const outside = (l: string) => l.trim() !== '' && indent(l) <= indent(line)
    const start = endsHead ? lines.findLastIndex((l, i) => i < at && outside(l)) : at
    const head = lines[start]?.trim() ?? ''
    if (/^(?:\} )?(?:if|for|while|switch|catch|else|do|try)\b/.test(head) && !line.endsWith('=> {')) return []
    const end = lines.findIndex((l, i) => i > at && indent(l) === indent(line) && /^\s*\}(?!.*\{$)/.test(l))
    const name = /(?:function\*?|const|let)\s+(\w+)|^(?:\w+ )*([\w#$]+)(?:<.*>)?[(:]/.exec(head)
    const label = name?.[1] ?? name?.[2] ?? `line ${start + 1}`
    return [{ name: `${path}#${label}`, lines: end - start + 1, max: functionLinesMax }]
  })
}

function tooLong(all: Source[], offenders: Record<string, number>): string[] {
  const sizes = all.flatMap((source) => {
    const lines = source.text.trimEnd().split('\n').length
    return [{ name: source.path, lines, max: fileLinesMax }, ...functionsOf(source)]
  })
  const long = sizes.filter(({ name, lines, max }) => lines > max && lines !== offenders[name])
  const gone = Object.keys(offenders).filter((name) => !sizes.some((s) => s.name === name && s.lines > s.max))
  return [
    ...long.map(({ name, lines, max }) =>
      lines < (offenders[name] ?? 0)
        ? `${name}: has shrunk; lower its entry to ${lines}`
        : `${name}: ${lines} lines, at most ${offenders[name] ?? max}`,
    ),
    ...gone.map((name) => `${name}: within the limit now; take it off the list of old offenders`),
  ]
}

/** Finds names in a table of the protocol that stand, quoted, in none of `users`. */
function uncited(all: Source[], table: string, pattern: RegExp, users: Source[], complaint: string): string[] {
  const found = all.filter((s) => isPart(s, table)).flatMap(({ code }) => [...code.matchAll(pattern)])
  const names = new Set(found.map((match) => match[1] ?? ''))
  if (names.size === 0) return [`${protocol}/${table}.ts: missing, or nothing in it that tidy can read`]
  const cited = (name: string) => users.some(({ code }) => ["'", '"', '`'].some((q) => code.includes(q + name + q)))
  return [...names].filter((name) => !cited(name)).map((name) => `${protocol}/${table}: ${name} ${complaint}`)
}

function standingFaults({ path, bare }: Source): string[] {
  const isElsewhere = !path.includes('/relay/src/core/') && !standingMakers.includes(path)
  const made = makesStanding.test(bare) && isElsewhere
  return [
    ...(made ? [`${path}: makes a standing; a session is opened in broker/admission.ts`] : []),
    ...(asksRank.test(bare) && isElsewhere ? [`${path}: asks for a session's rank; ask sees() of core/sight.ts`] : []),
    ...(writesSession.test(bare) ? [`${path}: writes to a session or its standing after it has opened`] : []),
  ]
}

function faultsOf(source: Source): string[] {
  const { path, text, code, bare } = source
  const banned = path.includes('/relay/src/core/') ? coreBans.exec(bare) : null
  const findings = wrongImports(source)
  if (banned) findings.push(`${path}: ${banned[0]} is banned in core/`)
  if (readsFiles.test(bare) !== path in fileReaders)
    findings.push(
      path in fileReaders
        ? `${path}: reads no file any more; take it off the list of file readers`
        : `${path}: reads a file by itself; use readForeignFile, or say in tidy why the file is ours`,
    )
  findings.push(...changesDisk(source))
  if (path.startsWith('packages/relay/')) findings.push(...standingFaults(source))
  for (const [room, name] of Object.entries(oneRoom))
    if (name.test(code) && !path.startsWith(room)) findings.push(`${path}: names what belongs to ${room}`)
  if (writesRows.test(code) && !(path in rowWriters))
    findings.push(`${path}: writes rows, which only the store's rowWriters may`)
  if (!/^(?:#!.*\n)?\/[/*]+ (?!biome-)\S+ \S+ \S+/.test(text))
    findings.push(`${path}: must open with a sentence that says what lives here`)
  return findings
}

/** All findings in the tree at `root`; a good tree has no findings. */
export function tidy(root: string, offenders = oldOffenders): string[] {
  const packages = readdirSync(join(root, 'packages'))
  const inPackages = (part: string) => packages.flatMap((name) => sources(root, `packages/${name}/${part}`))
  const all = inPackages('src')
  const graph = new Map(all.map((source) => [source.path, importsOf(source)]))
  const plays = [...sources(root, 'test'), ...inPackages('tests')].filter(({ path }) => path !== 'test/tidy.test.ts')
  const appliers = all.filter(({ path }) => path in rowWriters)
  const users = all.filter((s) => !isPart(s, 'operations') && !isPart(s, 'refusals'))
  const homes = Object.entries(oneHome).map(([what, name]) => ({ what, files: all.filter((s) => name.test(s.code)) }))
  return [
    ...all.flatMap(faultsOf),
    ...cycles(graph),
    ...folderCircles(graph),
    ...typedLists(all),
    ...strayVariables(all),
    ...strayVendors(all),
    ...repeatedLimits(all),
    ...homes
      .filter(({ files }) => files.length > 1)
      .map(({ what, files }) => `${what} is named in ${files.map((s) => s.path).join(' and ')}; one file may`),
    ...tooLong([...all, ...sources(root, 'scripts')], offenders),
    ...uncited(all, 'operations', tableKey, plays, 'is cited by no test'),
    ...uncited(all, 'facts', factType, appliers, 'is applied by no file of the store'),
    ...uncited(all, 'refusals', tableKey, users, 'is used nowhere'),
    ...measuredTime(plays),
    ...plays.filter(({ bare }) => mocks.test(bare)).map(({ path }) => `${path}: mocks something; run the real thing`),
    ...oddWords(root),
    ...wordsWithoutFile(root),
    ...wordsTwice(root, all),
  ]
}
