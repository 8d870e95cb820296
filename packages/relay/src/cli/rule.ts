// What the catalog says of one command, as `--help` shows it. No command is described here.

import type { Run } from './command.ts'

export interface OptionRule {
  flags: string
  text: string
  /** A whole number, with its least and greatest value. */
  number?: [number, number]
  choices?: string[]
  /** What shells offer for it; other values are taken too. */
  words?: readonly string[]
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
  /** What shells offer for its first argument. */
  words?: readonly string[]
  /** Its first argument is an agent: shells complete it. */
  takesAgent?: boolean
  /** Acts for nobody, so `--as` is taken and not shown. */
  isNobody?: boolean
  isHidden?: boolean
  /** What its group means by itself. */
  isDefault?: boolean
  commands?: CommandRule[]
}
