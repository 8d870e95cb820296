// Removes what an earlier build made of sources that are gone. tsc does not, and `npm run pack` would ship it.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, sep } from 'node:path'

/** What is made of one source, by the ending that is replaced. */
const made = /(?:\.d\.ts|\.js(?:\.map)?|\.d\.cts|\.cjs)$/
/** These folders are made as a whole by other steps. */
const others = ['joined', 'page', 'completion']

export function removeLeftovers(root) {
  for (const name of readdirSync(join(root, 'packages'))) {
    for (const folder of ['dist', 'cjs']) {
      const built = join(root, 'packages', name, folder)
      if (!existsSync(built)) continue
      for (const path of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
        if (!made.test(path) || others.includes(path.split(sep)[0])) continue
        const source = join(root, 'packages', name, 'src', path.replace(made, ''))
        if (!['.ts', '.tsx', '.cts'].some((ending) => existsSync(source + ending))) rmSync(join(built, path))
      }
    }
  }
}
