// The house rules that a machine can check, as one list of findings. Text and regular expressions only: TypeScript 7 has no
// stable API to ask, and Biome's formatting (one statement's end stands at its own indentation) makes text reliable enough.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const [fileLinesMax, functionLinesMax] = [300, 60]

/** Old offenders, `path` or `path#function` to lines. An entry may only shrink, and goes when the limit is met. */
const oldOffenders: Record<string, number> = {}

/** Which zone may import which others: downward only, and the store through the broker. `base` is the other files of relay/src. */
const mayImport: Record<string, string[]> = {
  protocol: [],
  discover: [],
  sdk: ['protocol', 'discover'],
  mcp: ['sdk', 'protocol', 'discover'],
  dashboard: ['sdk'],
  core: ['protocol'],
  base: ['protocol', 'discover'],
  store: ['core', 'base', 'protocol'],
  broker: ['store', 'core', 'base', 'protocol'],
  wires: ['broker', 'core', 'base', 'mcp', 'sdk', 'protocol', 'discover'],
  supervisor: ['broker', 'core', 'base', 'sdk', 'protocol', 'discover'],
  runs: ['broker', 'core', 'base', 'mcp', 'sdk', 'protocol', 'discover'],
  daemon: ['wires', 'supervisor', 'runs', 'broker', 'store', 'core', 'base', 'mcp', 'sdk', 'protocol', 'discover'],
  // The command line starts the pipe, which is the MCP package's, and a lift's panes as the supervisor's harnesses say.
  cli: ['daemon', 'supervisor', 'base', 'mcp', 'sdk', 'protocol', 'discover'],
}

/** Libraries that one file alone may name. */
const oneHome = { SQLite: /node:sqlite|@photostructure\/sqlite/, 'the PTY library': /@lydell\/node-pty/ }

/** Libraries that one folder alone may name: heavy ones, which an idle daemon must not load. */
const oneRoom = { 'packages/relay/src/runs/': /['"](?:ai|@ai-sdk\/[\w-]+|@modelcontextprotocol\/client(?:\/\w+)?)['"]/ }

const coreBans =
  /\b(?:await|async|Date|Math\.random)\b|(?<![.\w])(?:process|console|performance|crypto|set(?:Timeout|Interval|Immediate))\s*[.[(]/
const writesRows = /\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|update\s+\S+\s+set|delete\s+from)\b/i
const rowWriters = ['evolve', 'journal', 'migrations', 'search'].map((name) => `packages/relay/src/store/${name}.ts`)
const protocol = 'packages/sdk/src/protocol'
/** A table is one file, or that file and a folder of its name. */
const isPart = ({ path }: Source, table: string) => new RegExp(`^${protocol}/${table}(\\.ts$|/)`).test(path)
const tableKey = /^\s*'([\w-]+(?:\.[\w-]+)+)':/gm
const factType = /\btype: (?:z\.literal\()?'([\w.-]+)'/g

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

/** The composition root, and what it is made of. */
const daemonFiles = new Set(['daemon.ts', 'from-outside.ts', 'open-workspace.ts', 'owner-controls.ts'])

function zoneOf(path: string): string {
  if (/^packages\/sdk\/src\/(?:discover|paths|errors|injection)\.ts$/.test(path)) return 'discover'
  if (path.startsWith(`${protocol}/`)) return 'protocol'
  const [, name, , folder, deeper] = path.split('/')
  if (name !== 'relay') return name ?? ''
  if (deeper) return folder ?? ''
  return daemonFiles.has(folder ?? '') ? 'daemon' : 'base'
}

/** The files and packages that a source imports; those of this house as paths. */
function importsOf({ path, code }: Source): string[] {
  const statement =
    /^(?:import|export|\})[^'"\n]*\bfrom\s*['"]([^'"]+)|^import\s*['"]([^'"]+)|\b(?:import|require)\(\s*['"]([^'"]+)/gm
  return [...code.matchAll(statement)].map(([, a, b, c]) => {
    const name = a ?? b ?? c ?? ''
    if (name.startsWith('.')) return posix.join(posix.dirname(path), name).replace(/\.([cm]?)js$/, '.$1ts')
    const [, own, part] = /^@agent-relay\/(sdk|mcp)(?:\/(\w+))?$/.exec(name) ?? []
    const folders: Record<string, string> = { protocol: 'protocol/index', refusals: 'protocol/refusals' }
    const file = folders[part ?? ''] ?? part ?? 'index'
    return own ? `packages/${own}/src/${file}.ts` : name
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
    const fine = other === zone || allowed.includes(other) || (other === 'elsewhere' && zone !== 'core')
    return fine ? [] : [`${source.path}: ${zone} may not import ${other} (${target})`]
  })
}

function cycles(all: Source[]): string[] {
  const graph = new Map(all.map((source) => [source.path, importsOf(source)]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: string[]): void => {
    if (trail.includes(path)) found.push(`import cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`)
    if (trail.includes(path) || done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return found
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

/** Each name that `pattern` finds in a table of the protocol must stand, quoted, in one of `users`. */
function uncited(all: Source[], table: string, pattern: RegExp, users: Source[], complaint: string): string[] {
  const found = all.filter((s) => isPart(s, table)).flatMap(({ code }) => [...code.matchAll(pattern)])
  const names = new Set(found.map((match) => match[1] ?? ''))
  if (names.size === 0) return [`${protocol}/${table}.ts: missing, or nothing in it that tidy can read`]
  const cited = (name: string) => users.some(({ code }) => ["'", '"', '`'].some((q) => code.includes(q + name + q)))
  return [...names].filter((name) => !cited(name)).map((name) => `${protocol}/${table}: ${name} ${complaint}`)
}

function faultsOf(source: Source): string[] {
  const { path, text, code, bare } = source
  const banned = path.includes('/relay/src/core/') ? coreBans.exec(bare) : null
  const findings = wrongImports(source)
  if (banned) findings.push(`${path}: ${banned[0]} is banned in core/`)
  for (const [room, name] of Object.entries(oneRoom))
    if (name.test(code) && !path.startsWith(room)) findings.push(`${path}: names a library that belongs to ${room}`)
  if (writesRows.test(code) && !rowWriters.includes(path))
    findings.push(`${path}: writes rows, which only the store's rowWriters may`)
  if (!/^(?:#!.*\n)?\/[/*]+ (?!biome-)\S+ \S+ \S+/.test(text))
    findings.push(`${path}: must open with a sentence that says what lives here`)
  return findings
}

/** All findings in the tree at `root`; none is the only good answer. */
export function tidy(root: string, offenders = oldOffenders): string[] {
  const packages = readdirSync(join(root, 'packages'))
  const inPackages = (part: string) => packages.flatMap((name) => sources(root, `packages/${name}/${part}`))
  const all = inPackages('src')
  const plays = [...sources(root, 'test'), ...inPackages('tests')].filter(({ path }) => path !== 'test/tidy.test.ts')
  const evolve = all.filter(({ path }) => path === rowWriters[0])
  const users = all.filter((s) => !isPart(s, 'operations') && !isPart(s, 'refusals'))
  const homes = Object.entries(oneHome).map(([what, name]) => ({ what, files: all.filter((s) => name.test(s.code)) }))
  return [
    ...all.flatMap(faultsOf),
    ...cycles(all),
    ...homes
      .filter(({ files }) => files.length > 1)
      .map(({ what, files }) => `${what} is named in ${files.map((s) => s.path).join(' and ')}; one file may`),
    ...tooLong([...all, ...sources(root, 'scripts')], offenders),
    ...uncited(all, 'operations', tableKey, plays, 'is cited by no test'),
    ...uncited(all, 'facts', factType, evolve, 'is not handled by store/evolve.ts'),
    ...uncited(all, 'refusals', tableKey, users, 'is used nowhere'),
  ]
}
