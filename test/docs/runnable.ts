// The blocks of a page that are marked `run`, and what they should say. How they are run is commands.test.ts's affair.

export interface Step {
  line: number
  /** A command as a person types it, or a program. */
  kind: 'command' | 'program'
  text: string
  /** Lines of the output, in this order; `…` stands for anything, and times for any time. */
  expected: string[]
}

const fence = /^```(\w+) run$/

/** ```console run: `$ ` starts a command, what follows is its output. ```js run: a program of its own. */
export function stepsOf(page: string): Step[] {
  const lines = page.split('\n')
  const steps: Step[] = []
  for (let at = 0; at < lines.length; at++) {
    const language = fence.exec(lines[at] as string)?.[1]
    if (language === undefined) continue
    const end = lines.indexOf('```', at + 1)
    const block = lines.slice(at + 1, end)
    if (language === 'js') steps.push({ line: at + 1, kind: 'program', text: block.join('\n'), expected: [] })
    else steps.push(...commandsOf(block, at + 2))
    at = end
  }
  return steps
}

function commandsOf(block: string[], first: number): Step[] {
  const steps: Step[] = []
  for (const [at, line] of block.entries()) {
    if (line.startsWith('$ ')) steps.push({ line: first + at, kind: 'command', text: line.slice(2), expected: [] })
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
