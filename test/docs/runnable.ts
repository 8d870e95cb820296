// The blocks of a page: runnable ones with their expected output, and others with what they need. reader.ts runs
// them.

export interface Step {
  line: number
  /** A command as a person types it, or a program. */
  kind: 'command' | 'program'
  text: string
  /** Lines of the output, in this order; `…` stands for anything, and times for any time. */
  expected: string[]
  /** It goes on until it is ended: what follows happens while it runs. */
  stays: boolean
}

export interface Block {
  line: number
  steps: Step[]
  /** What it needs that a test does not have: the first line says so, `# needs …`. */
  needs?: string
  /** What is wrong with it, if it is neither. */
  fault?: string
}

const fence = /^```(.*)$/
/** They run until Ctrl-C. */
const lasting = /^(?:npm start|(?:\.\/)?agent-relay up)\b/

/**
 * ```console run: `$ ` starts a command, what follows is its output. ```js run, ```ts run: a program of its own; `run stays`: one that does
 * not end by itself. ```json is read, ```text is a picture. Every other block says what it needs. Indented blocks are not allowed: nobody could tell
 * what they are.
 */
export function blocksOf(page: string): Block[] {
  const lines = page.split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at++) {
    const info = fence.exec(lines[at] as string)?.[1]
    if (info === undefined) {
      const isIndented = /^ {4}\S/.test(lines[at] as string) && lines[at - 1] === ''
      if (isIndented) blocks.push({ line: at + 1, steps: [], fault: 'an indented block: give it a fence' })
      continue
    }
    const end = lines.indexOf('```', at + 1)
    blocks.push(blockOf(info, lines.slice(at + 1, end), at + 2))
    at = end
  }
  return blocks
}

function blockOf(info: string, lines: string[], line: number): Block {
  const [language = '', isRun, stays] = info.split(' ')
  const text = lines.join('\n')
  if (isRun === 'run' && language === 'console') return { line, steps: commandsOf(lines, line) }
  if (isRun === 'run' && (language === 'js' || language === 'ts'))
    return { line, steps: [{ line, kind: 'program', text, expected: [], stays: stays === 'stays' }] }
  if (language === 'text') return { line, steps: [] }
  if (language === 'json') return { line, steps: [], ...(isJson(text) ? {} : { fault: 'not JSON' }) }
  const needs = /^# needs (.+)$/.exec(lines[0] ?? '')?.[1]
  return needs === undefined ? { line, steps: [], fault: `not run: ${info}` } : { line, steps: [], needs }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function commandsOf(block: string[], first: number): Step[] {
  const steps: Step[] = []
  for (const [at, line] of block.entries()) {
    const text = line.slice(2)
    if (line.startsWith('$ '))
      steps.push({ line: first + at, kind: 'command', text, expected: [], stays: lasting.test(text) })
    else if (line !== '') steps.at(-1)?.expected.push(line)
  }
  return steps
}

/** The expected lines that were not found, each looked for after the one before. */
export function missingFrom(output: string, expected: string[]): string[] {
  const lines = output.split('\n').map((line) => line.trimEnd())
  let from = 0
  return expected.filter((text) => {
    const found = lines.findIndex((line, at) => at >= from && patternOf(text).test(line))
    if (found >= 0) from = found + 1
    return found < 0
  })
}

function patternOf(text: string): RegExp {
  const escaped = text.trimEnd().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('…', '.*').replace(/\d\d:\d\d:\d\d/g, '\\d\\d:\\d\\d:\\d\\d')}$`)
}
