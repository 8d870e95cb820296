// The pages name the CLIs that the table of CLIs has, in its order.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { clisWith, listText } from '../../packages/sdk/src/internal/clis.ts'

/** With single spaces: a page may break its lines anywhere. */
function page(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8').replace(/[ \n]+/g, ' ')
}

const quoted = (names: readonly string[]) => names.map((name) => `\`${name}\``)
const editors = clisWith('editor')
const workers = clisWith('worker')
const titles = listText(
  editors.map(({ title }) => title),
  'and',
)

test.each([
  ['README.md', `${titles}. One entry is added`],
  ['packages/mcp/README.md', `\`install\` writes to ${titles}.`],
  [
    'docs/how-to/hire-a-worker.md',
    `\`--cli\` is ${listText(quoted(workers.map(({ name }) => name)), 'or')}; the CLI itself must be on PATH.`,
  ],
  [
    'docs/how-to/give-a-contract.md',
    `With \`--cli\` ${listText(quoted(clisWith('run').map(({ name }) => name)), 'or')} a worker does it`,
  ],
])('%s', (path, sentence) => {
  expect(page(path)).toContain(sentence)
})

test('the table of editors in docs/how-to/install.md has a row for each', () => {
  const rows = page('docs/how-to/install.md').match(/(?<=\| )`[a-z-]+`(?= \| [`C])/g)
  expect(rows).toEqual(quoted(editors.map(({ name }) => name)))
})

test('the table of arguments in docs/contributing/add-a-cli.md has a row for each worker with MCP', () => {
  const table = page('docs/contributing/add-a-cli.md')
    .split('brings its own when the arguments have |')[1]
    ?.split('##')[0]
  const rows = table?.match(/(?<=\| )[a-z]+(?= \| `)/g)
  expect(rows).toEqual(workers.filter(({ worker }) => worker === 'mcp').map(({ name }) => name))
})
