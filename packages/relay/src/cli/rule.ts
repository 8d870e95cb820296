// What the catalog says of one command, as `--help` shows it. No command is described here.

import type { Run } from './command.ts'

export interface OptionRule {
  flags: string
  text: string
  /** A whole number, with its least and greatest value. */
  number?: [number, number]
  choices?: string[]
  /** May be given several times. */
  isList?: boolean
  isHidden?: boolean
}

export interface CommandRule {
  name: string
  /** As commander writes them: `<to> <message>`. */
  args?: string
  text: string
  options?: OptionRule[]
  examples?: string[]
  load?: () => Promise<Run>
  /** Acts for nobody, so `--as` is taken and not shown. */
  isNobody?: boolean
  isHidden?: boolean
  commands?: CommandRule[]
}
