// Installs the real CLIs from npm. clis.ts has the settings of their homes.

import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { installTool } from '../../scripts/install-tool.mjs'
import type { Cli } from './clis.ts'

/** A folder with nothing in it but the CLI's program, or why there is none. */
export function install({ name, npmPackage, native }: Cli): { folder: string } | { reason: string } {
  try {
    const modules = installTool(npmPackage)
    const program = native === undefined ? join(modules, '.bin', name) : join(modules, native)
    if (!existsSync(program)) return { reason: `${npmPackage} has no ${native ?? name}` }
    const folder = join(dirname(modules), 'bin')
    mkdirSync(folder, { recursive: true })
    if (!existsSync(join(folder, name))) symlinkSync(program, join(folder, name))
    return { folder }
  } catch (error) {
    return { reason: (error as Error).message.split('\n').slice(0, 3).join(' ') }
  }
}
