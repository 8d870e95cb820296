// Generated configuration files for the careful edit: hostile but valid ones, and broken ones, each from a seed. No tests.

import { Random } from '@agent-relay/prove/harness/random'

export class Dice extends Random {
  isHit(share: number): boolean {
    return this.next() < share
  }
}

const words = [
  'alpha',
  'beta',
  'ünï',
  'with space',
  'a.b',
  'agent-relay-old',
  '//no comment',
  '/* nor this */',
  '#x',
  '{',
  '"quoted"',
  '',
]

/** JSON with comments, trailing commas, duplicate keys, tabs, CRLF, BOM, other servers with empty args, in any layout. */
export function jsonFile(dice: Dice, keyPath: readonly string[]): string {
  const end = dice.pick(['\n', '\n', '\r\n'])
  const unit = dice.pick(['  ', '    ', '\t', ''])
  if (dice.isHit(0.05)) return dice.pick(['', end, `${end}${end}`, '  ', `// nothing yet${end}`, '\ufeff', `/* a */`])
  const style = { end, unit, isLoose: dice.isHit(0.6), isFlat: dice.isHit(0.15) }
  const text = container(dice, style, '', keyPath, dice.isHit(0.8))
  const head = style.isLoose && dice.isHit(0.3) ? `// a file${end}` : ''
  return `${dice.isHit(0.1) ? '\ufeff' : ''}${head}${text}${dice.pick([end, end, '', `${end}${end}`])}`
}

interface Style {
  end: string
  unit: string
  /** With comments and trailing commas. */
  isLoose: boolean
  /** All on one line. */
  isFlat: boolean
}

function container(dice: Dice, style: Style, indent: string, path: readonly string[], hasPath: boolean): string {
  const entries: string[] = []
  const inner = indent + style.unit
  for (let i = dice.below(4); i > 0; i--)
    entries.push(`${key(dice)}:${dice.pick(['', ' ', '  '])}${value(dice, style, inner, 2)}`)
  if (hasPath && path.length > 0) {
    // Two of one name: readers take the last.
    for (let i = dice.isHit(0.1) ? 2 : 1; i > 0; i--) {
      const nested = container(dice, style, inner, path.slice(1), dice.isHit(0.8))
      entries.splice(dice.below(entries.length + 1), 0, `${JSON.stringify(path[0])}: ${nested}`)
    }
  } else if (path.length === 0 && dice.isHit(0.3)) {
    entries.push(`"other": {"command": "x", "args": []}`)
  }
  return bracketed(dice, style, indent, '{', entries, '}')
}

function bracketed(dice: Dice, style: Style, indent: string, open: string, entries: string[], close: string): string {
  const { end, isLoose, isFlat, unit } = style
  const remark = (share: number) => {
    if (!isLoose || !dice.isHit(share)) return ''
    return isFlat ? ' /* r */' : dice.pick([' // remark, with a comma', ' /* { */', ` /* two${end} lines */`])
  }
  if (entries.length === 0)
    return dice.pick([
      `${open}${close}`,
      `${open} ${close}`,
      isFlat ? `${open}${close}` : `${open}${remark(0.5)}${end}${indent}${close}`,
    ])
  const last = isLoose && dice.isHit(0.4) ? ',' : ''
  const isInline = isFlat || dice.isHit(0.15)
  if (isInline)
    return `${open}${dice.pick(['', ' '])}${entries.map((entry) => entry.replace(/ \/\/.*/g, '')).join(', ')}${last}${dice.pick(['', ' '])}${close}`
  const lines = entries.map((entry, i) => {
    const above = isLoose && dice.isHit(0.25) ? `${indent}${unit}// about the next${end}` : ''
    return `${above}${indent}${unit}${entry}${i < entries.length - 1 ? ',' : last}${remark(0.25)}`
  })
  return `${open}${remark(0.3)}${end}${lines.join(end)}${end}${indent}${close}`
}

function key(dice: Dice): string {
  return JSON.stringify(dice.pick(words) + dice.below(50))
}

function value(dice: Dice, style: Style, indent: string, depth: number): string {
  const kind = depth === 0 ? dice.below(4) : dice.below(7)
  if (kind === 0) return JSON.stringify(dice.pick(words))
  if (kind === 1) return dice.pick(['0', '-1.50', '1e10', '12345678901234567890'])
  if (kind === 2) return dice.pick(['true', 'false', 'null'])
  if (kind === 3) return dice.pick(['[]', '{}', '"\\u00e9\\n"'])
  const items = Array.from({ length: dice.below(3) }, () => value(dice, style, indent + style.unit, depth - 1))
  if (kind === 4) return bracketed(dice, style, indent, '[', items, ']')
  return bracketed(
    dice,
    style,
    indent,
    '{',
    items.map((item, i) => `"k${i}": ${item}`),
    '}',
  )
}

/** TOML 1.0 with comments, dotted and quoted keys, arrays of tables, multi-line strings and arrays, CRLF, BOM, other servers. */
export function tomlFile(dice: Dice): string {
  const end = dice.pick(['\n', '\n', '\r\n'])
  if (dice.isHit(0.05)) return dice.pick(['', end, '\ufeff', `# only a remark${end}`, '# no end'])
  const lines: string[] = []
  const blank = () => lines.push(...dice.pick([[], [''], ['', '# a remark [not.a.table]'], ['    # indented']]))
  const pairs = (count: number) => {
    for (let i = 0; i < count; i++)
      lines.push(
        `${dice.pick(['', '  ', '\t'])}${tomlKey(dice, i)} ${dice.pick(['=', ' = '])} ${tomlValue(dice, end)}${dice.pick(['', ' # why'])}`,
      )
  }
  pairs(dice.below(4))
  if (dice.isHit(0.15)) lines.push(`mcp_servers.dotted.command = "x"`)
  for (let i = dice.below(5); i > 0; i--) {
    blank()
    const name = dice.pick([
      `mcp_servers.s${i}`,
      `mcp_servers."s p ${i}"`,
      `projects."/a.b/${i}"`,
      `t${i}.'lit'`,
      `"agent-relay".x${i}`,
    ])
    if (dice.isHit(0.2)) lines.push(`[[list${i}]]`, `a = ${i}`, `[[list${i}]]`)
    else lines.push(`${dice.pick(['', ' '])}[${dice.isHit(0.1) ? ` ${name} ` : name}]${dice.pick(['', ' # of it'])}`)
    pairs(1 + dice.below(3))
    if (dice.isHit(0.2)) lines.push(`args = []`)
  }
  blank()
  return `${dice.isHit(0.1) ? '\ufeff' : ''}${lines.join(end)}${dice.pick([end, end, '', `${end}${end}`])}`
}

function tomlKey(dice: Dice, i: number): string {
  return dice.pick([`key${i}`, `"q ${i}"`, `'l.${i}'`, `d${i}.in`, `k-${i}_x`])
}

function tomlValue(dice: Dice, end: string): string {
  return dice.pick([
    '"text # no remark"',
    "'C:\\dir'",
    `"""${end}[mcp_servers.agent-relay]${end}command = "in a string" """`,
    `'''${end}[a.b]${end}'''`,
    '1_000',
    '0xff',
    'true',
    '1979-05-27T07:32:00Z',
    '1979-05-27',
    `[${end}  1,${end}  2, # two${end}]`,
    '[["x"], [1.5, inf]]',
    '{ a = 1, b = { c = [] } }',
    '[]',
  ])
}
