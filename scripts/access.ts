// The table of who may ask which operation, for docs/reference/access.md: made from the columns `who` and `network` of the operations, and from nothing else.
// packages/relay/tests/broker/access.test.ts asks a daemon every operation as every one of these callers, and compares.
import { type OperationName, type OperationRule, operations } from '../packages/sdk/src/protocol/index.ts'

export const callers = {
  open: 'nobody, open port',
  lift: "a lift's port",
  token: 'agent token, TCP',
  agent: 'agent, socket',
  key: 'key holder',
  page: 'page',
  owner: 'owner, control socket',
} as const
export type Caller = keyof typeof callers

/** `policy`: where policy.spawn allows it. `program`: yes, unless it starts a program. `loop`: yes, and to start a program where policy.spawn allows it. */
export type Access = 'yes' | 'no' | 'policy' | 'program' | 'loop'

const words: Record<Access, string> = {
  yes: 'yes',
  no: '–',
  policy: 'as policy.spawn says',
  program: 'yes, but no program',
  loop: 'yes; programs as policy.spawn says',
}

export function accessOf(operation: OperationName, caller: Caller): Access {
  const { who, network } = operations[operation] as OperationRule
  if (who === 'owner' || caller === 'owner') return who === caller ? 'yes' : 'no'
  if (caller === 'key' || caller === 'page') return 'yes'
  if (who === 'holder') return 'no'
  if (caller === 'agent' || network === 'lift') return 'yes'
  if (caller === 'lift') return 'no'
  if (network === 'open') return 'yes'
  if (network === 'run') return caller === 'open' ? 'program' : 'loop'
  if (caller === 'open' || network === 'key') return 'no'
  return network === 'spawn' ? 'policy' : 'yes'
}

/** The table as Markdown. Operations that the same callers may ask share a row. */
export function accessTable(): string {
  const all = Object.keys(callers) as Caller[]
  const rows = new Map<string, OperationName[]>()
  for (const operation of Object.keys(operations) as OperationName[]) {
    const cells = all.map((caller) => words[accessOf(operation, caller)]).join(' | ')
    rows.set(cells, [...(rows.get(cells) ?? []), operation])
  }
  const lines = [...rows].map(([cells, names]) => `| ${names.map((name) => `\`${name}\``).join(', ')} | ${cells} |`)
  const heads = ['operations', ...Object.values(callers)]
  return [`| ${heads.join(' | ')} |`, `|${heads.map(() => '---').join('|')}|`, ...lines].join('\n')
}
