// The rules about structure: folders do not import each other in circles, and lists and numbers stand once. tidy.ts runs them.

/** A source as these rules see it: its path from the root, and its text without comments. */
interface Source {
  path: string
  code: string
}

/** Files of this folder are there for their address in the package's exports, not as a layer: each counts as a file of the folder above. */
const doors = 'packages/sdk/src/internal/'

/** Finds circles of files that import each other. */
export function cycles(graph: ReadonlyMap<string, string[]>): string[] {
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

/**
 * Finds circles between the entries of a folder. An entry is one of its files, or one of its folders with all that is in it: `tools/` and
 * `action-tools.ts` beside it may not import each other. Circles of files alone are found by `cycles`.
 */
export function folderCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  return [...entryGraphs(imports)].flatMap(([folder, graph]) => circlesIn(folder, graph))
}

type Graph = Map<string, Set<string>>

/** The imports between the entries of each folder. */
function entryGraphs(imports: ReadonlyMap<string, readonly string[]>): Map<string, Graph> {
  const graphs = new Map<string, Graph>()
  for (const [path, targets] of imports) {
    for (const target of targets.filter((each) => imports.has(each) && each !== path)) {
      const [from, to] = [partsOf(path), partsOf(target)]
      const at = from.findIndex((part, i) => part !== to[i])
      const folder = from.slice(0, at).join('/')
      const graph = graphs.get(folder) ?? new Map<string, Set<string>>()
      graphs.set(folder, graph)
      const entry = from[at] as string
      graph.set(entry, (graph.get(entry) ?? new Set()).add(to[at] as string))
    }
  }
  return graphs
}

function partsOf(path: string): string[] {
  return path.replace(doors, 'packages/sdk/src/internal-').split('/')
}

function circlesIn(folder: string, graph: Graph): string[] {
  const done = new Set<string>()
  const found: string[] = []
  const visit = (entry: string, trail: string[]): void => {
    const circle = [...trail.slice(trail.indexOf(entry)), entry]
    const isNew = trail.includes(entry) && circle.some((each) => !each.includes('.'))
    if (isNew) found.push(`${folder}: a folder points back: ${circle.join(' → ')}`)
    if (trail.includes(entry) || done.has(entry)) return
    for (const next of graph.get(entry) ?? []) visit(next, [...trail, entry])
    done.add(entry)
  }
  for (const entry of graph.keys()) visit(entry, [])
  return found
}

/** Its text is a program of its own, which opencode runs without anything of ours to import. */
const plugin = 'packages/mcp/src/hooks/opencode-plugin.ts'
const settingTable = 'packages/sdk/src/internal/settings.ts'

/** Finds environment variables of ours that are missing in the table of settings, or are read without it. */
export function strayVariables(all: readonly Source[]): string[] {
  const table = all.find(({ path }) => path === settingTable)?.code ?? ''
  const product = all.filter(
    ({ path }) => /^packages\/[^/]+\/src\//.test(path) && path !== settingTable && path !== plugin,
  )
  return product.flatMap(({ path, code }) => {
    const unknown = [...code.matchAll(/(?<![\w$])RELAY_[A-Z_]*[A-Z]\b/g)].filter(
      ([name]) => !table.includes(`  ${name}: {`),
    )
    const read = [
      ...code.matchAll(/\benv(?:\.|\[')(RELAY_\w+)(?!\w*\s*=[^=])|\{[^{}]*(RELAY_\w+)[^{}]*\} = process\.env/g),
    ]
    return [
      ...unknown.map(([name]) => `${path}: ${name} does not stand in ${settingTable}`),
      ...read.map(([, one, other]) => `${path}: ${one ?? other} is read by setting() or rawSetting()`),
    ]
  })
}

const cliTable = 'packages/sdk/src/internal/clis.ts'
/** A list of this many names or fewer is an example; `zed` and `cursor` are also plain words. */
const typedNamesMax = 3

function cliNames(all: readonly Source[]): string[] {
  const table = all.find(({ path }) => path === cliTable)?.code ?? ''
  return [...table.matchAll(/\bname: '([\w-]+)'/g)].map((match) => match[1] as string)
}

/** Matches a comparison with the quoted text in group 1 or 2, or a choice of it where there is no other. */
const comparison = /(?:[=!]==?|\bcase|\?\?|\.(?:includes|has)\()\s*'([\w-]+)'|'([\w-]+)'\s*[=!]==?/g

/** Finds files that ask for one CLI by its name, although neither they nor a folder around them bears that name: `codex/`, `claude-list.ts`. */
export function strayVendors(all: readonly Source[]): string[] {
  const names = cliNames(all)
  return all.flatMap(({ path, code }) => {
    const asked = [...code.matchAll(comparison)].map(([, after, before]) => after ?? before ?? '')
    return [...new Set(asked)]
      .filter((name) => names.includes(name) && !new RegExp(`/${name}[./-]`).test(path))
      .map((name) => `${path}: asks for ${name}; make it a column of ${cliTable}, or a part of a file of that name`)
  })
}

/** Finds arrays and texts that list the names of CLIs again, instead of being made from the table of CLIs. */
export function typedLists(all: readonly Source[]): string[] {
  const names = cliNames(all)
  const counted = (text: string) => names.filter((name) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text)).length
  return all
    .filter(({ path }) => path !== cliTable)
    .flatMap(({ path, code }) => {
      const lists = code.match(/\[[^[\]]*\]|'[^'\n]*'|`[^`]*`/g) ?? []
      const typed = lists.find((text) => counted(text) > typedNamesMax)
      return typed === undefined ? [] : [`${path}: lists CLIs again; make it from ${cliTable}: ${typed.slice(0, 60)}`]
    })
}

/** Matches a constant with its unit last, as every limit has it. */
const limit = /^(?:export )?const (?!minuteMs|hourMs|dayMs)(\w+(?:Ms|Max|Min|Default|Factor|PerStep)) = ([\d(].*)$/gm

/** Finds limits that stand twice: under one name in two files of a room, or under one name and with one value anywhere. */
export function repeatedLimits(all: readonly Source[]): string[] {
  const homes = new Map<string, string>()
  return all.flatMap(({ path, code }) =>
    [...code.matchAll(limit)].flatMap(([, name = '', value = '']) => {
      const keys = [`${name} = ${value.trim()}`, `${name} in ${roomOf(path)}`]
      const first = keys.map((key) => homes.get(key)).find((home) => home !== undefined)
      for (const key of keys) homes.set(key, first ?? path)
      return first === undefined ? [] : [`${name} stands in ${first} and ${path}: use one, or give each its own name`]
    }),
  )
}

/** The folder of the daemon that a file belongs to, or its package. */
function roomOf(path: string): string {
  return path.split('/', path.startsWith('packages/relay/') ? 4 : 2).join('/')
}
