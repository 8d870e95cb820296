// Requests between the machines of a shared workspace. Only the machine where an agent runs may answer its approval or release its worker, so another machine
// asks that machine to. The asked machine first checks its own file of permissions, whose default is no, and then decides by the same rule as for its own
// people.

import { lastHeardText } from '@agent-relay/sdk/internal/unreachable-text'
import {
  daemonName,
  isRefusalCode,
  type OutputOf,
  type ParsedInputOf,
  type Refusal,
  type RefusalCode,
  type RequestKind,
} from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'
import type { RemoteCaller } from '../core/requests.ts'
import { seesAll } from '../core/sight.ts'
import { inputDigest } from '../store/call-digest.ts'
import type { CommandReply } from './engine.ts'
import { parseInput } from './operation-input.ts'
import { daemonStanding, type Standing, tokenStanding } from './sessions/standing.ts'
import type { OtherMachines } from './sharing.ts'

/** The operations that one machine may request of another, each with the permission that it needs. */
const permissionKinds = {
  'approval.answer': 'approve',
  'worker.release': 'release',
  'worker.pause': 'release',
  'worker.resume': 'release',
  'worker.interrupt': 'release',
} as const satisfies Record<string, RequestKind>

/** Whether and how the text that a person adds to an answer reaches the agent's model. */
export type WordsDelivery = Pick<OutputOf<'approval.answer'>, 'wordsReach' | 'wordsAs'>

/** The answer of a machine that has carried out another machine's request. */
interface RequestResult extends WordsDelivery {
  /** For an interrupt: whether the worker's turn is over. */
  isOver: boolean
}

export type MachineRequestName = keyof typeof permissionKinds
export type WorkerWishName = Exclude<MachineRequestName, 'approval.answer' | 'worker.interrupt'>

const nameCharsMax = 200

const MachineRequest = z.object({
  op: z.enum(Object.keys(permissionKinds) as [MachineRequestName, ...MachineRequestName[]]),
  /** The id of the call, so that a repeated request is carried out once. */
  id: z.string().min(1).max(nameCharsMax),
  /** The asker's name; unset for a person without one. */
  name: z.string().min(1).max(nameCharsMax).optional(),
  /** Whether the asker holds the workspace key on the asking machine. */
  seesAll: z.boolean().optional(),
  /** Where the asking person is; unset if no person asks. */
  surface: z.enum(['page', 'terminal']).optional(),
  input: z.record(z.string(), z.unknown()),
})
export type Request = z.infer<typeof MachineRequest>

/** A request of another machine, as this machine carries it out. */
export interface ReceivedRequest {
  asker: RemoteCaller
  standing: Standing
  surface?: Request['surface']
  cause: string
  digest: () => string
}

/** The parts of a workspace that carry out requests of other machines. */
interface RequestCarriers {
  approvals: {
    answerForMachine(asked: ReceivedRequest, input: ParsedInputOf<'approval.answer'>): Promise<WordsDelivery>
  }
  wishes: {
    submitForMachine(
      rule: WorkerWishName,
      asked: ReceivedRequest,
      input: ParsedInputOf<'worker.release'>,
    ): Promise<void>
  }
  interrupts: {
    submitForMachine(asked: ReceivedRequest, input: ParsedInputOf<'worker.interrupt'>): Promise<boolean>
  }
}

/** Carries out another machine's request and returns the answer. A refusal goes back only as its code; the asking machine writes the text. */
export async function carryOutRequest(
  { approvals, wishes, interrupts }: RequestCarriers,
  allows: (machine: string, kind: RequestKind) => Promise<boolean>,
  machine: string,
  question: unknown,
): Promise<({ done: true } & Partial<RequestResult>) | { refused: RefusalCode }> {
  const read = MachineRequest.safeParse(question)
  if (!read.success) return { refused: 'operation.unknown' }
  const { op, id, name, surface, input, seesAll: isAll } = read.data
  if (!(await allows(machine, permissionKinds[op]))) return { refused: 'request.denied' }
  const asker = { machine, ...(name === undefined ? {} : { name }) }
  const standing = name === undefined || isAll ? daemonStanding : tokenStanding
  const cause = `request/${machine}/${name ?? ''}/${id}`
  const asked = { asker, standing, surface, cause, digest: () => inputDigest(op, input) }
  try {
    if (op === 'approval.answer')
      return { done: true, ...(await approvals.answerForMachine(asked, parseInput(op, input))) }
    if (op === 'worker.interrupt')
      return { done: true, isOver: await interrupts.submitForMachine(asked, parseInput(op, input)) }
    await wishes.submitForMachine(op, asked, parseInput(op, input))
    return { done: true }
  } catch (error) {
    return { refused: toRefusal(error).code }
  }
}

/** Describes the asker to another machine: its name, and whether it sees everything. */
export function askerFields(by: string, standing: Standing): Pick<Request, 'name' | 'seesAll'> {
  return { ...(by === daemonName ? {} : { name: by }), ...(seesAll({ standing }) ? { seesAll: true } : {}) }
}

export class MachineRequests {
  readonly #otherMachines: OtherMachines
  readonly #machine: string | undefined

  constructor(otherMachines: OtherMachines, machine: string | undefined) {
    this.#otherMachines = otherMachines
    this.#machine = machine
  }

  /**
   * Sends a command to the machine that has to decide it, after a rule here has refused it for that reason (`refused`). Resolves once that machine says that it
   * is done. If that machine refuses, the command is decided here once more (`again`) to find the reason in the journal: of the other machine's answer only
   * known refusal codes are trusted.
   */
  async ask(refused: Refusal, request: Request, again: () => Promise<CommandReply>): Promise<RequestResult> {
    const machine = refused.details.machine as string
    const otherMachines = this.#otherMachines
    if (!otherMachines.isReached(machine)) throw new RefusalError('machine.away', awayDetails(otherMachines, machine))
    const answer = (await otherMachines.ask(machine, request).catch(() => undefined)) as
      | Record<string, unknown>
      | undefined
    if (!answer) throw new RefusalError('request.unanswered', { machine })
    if (answer.done === true) return { ...wordsDeliveryOf(answer), isOver: answer.isOver === true }
    const code = codeOf(answer.refused)
    // An older daemon on the other machine does not know the request, so the rule's own refusal is thrown.
    if (code === 'operation.unknown') throw new RefusalError(refused)
    if (code === 'request.denied')
      throw new RefusalError(code, { machine, from: this.#machine, kind: permissionKinds[request.op] })
    const reply = await again()
    // If the other machine was removed from the cluster meanwhile, this machine has now decided the command.
    if (!('refusal' in reply)) return { wordsReach: false, isOver: false }
    if (reply.refusal.code !== refused.code) throw new RefusalError(reply.refusal)
    throw new RefusalError('request.refused', { machine, code })
  }
}

function awayDetails(otherMachines: OtherMachines, machine: string) {
  const lost = otherMachines.unreachable(machine)
  return lost ? { machine, lastHeard: lastHeardText(lost.since) } : { machine }
}

function wordsDeliveryOf({ wordsReach, wordsAs }: Record<string, unknown>): WordsDelivery {
  const isKnown = wordsAs === 'answer' || wordsAs === 'message'
  return { wordsReach: wordsReach === true, ...(isKnown ? { wordsAs } : {}) }
}

function codeOf(told: unknown): RefusalCode {
  return isRefusalCode(told) ? told : 'fault'
}
