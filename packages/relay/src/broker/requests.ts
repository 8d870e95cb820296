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
export type AnswerTextDelivery = Pick<OutputOf<'approval.answer'>, 'wordsReach' | 'wordsAs'>

/** The answer of a machine that has carried out another machine's request. */
interface RequestResult extends AnswerTextDelivery {
  /** For an interrupt: whether the worker's turn is over. */
  isOver: boolean
}

type MachineRequestName = keyof typeof permissionKinds
export type WorkerRequestName = Exclude<MachineRequestName, 'approval.answer'>
export type WorkerWishName = Exclude<WorkerRequestName, 'worker.interrupt'>

/** The codes of refusals by a rule that leaves the decision to another machine. */
const elsewhereCodes: readonly RefusalCode[] = ['approval.elsewhere', 'worker.runs-elsewhere']

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
export type MachineRequest = z.infer<typeof MachineRequest>

/** A request of another machine, as this machine carries it out. */
export interface ReceivedRequest {
  asker: RemoteCaller
  standing: Standing
  surface?: MachineRequest['surface']
  cause: string
  digest: () => string
}

/** The parts of a workspace that carry out requests of other machines. */
interface RequestCarriers {
  approvals: {
    answerForMachine(asked: ReceivedRequest, input: ParsedInputOf<'approval.answer'>): Promise<AnswerTextDelivery>
  }
  wishes: {
    submitForMachine(
      rule: WorkerRequestName,
      asked: ReceivedRequest,
      input: ParsedInputOf<'worker.release'>,
    ): Promise<Partial<RequestResult>>
  }
}

/** Carries out another machine's request and returns the answer. A refusal goes back only as its code; the asking machine writes the text. */
export async function carryOutRequest(
  { approvals, wishes }: RequestCarriers,
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
    const done =
      op === 'approval.answer'
        ? approvals.answerForMachine(asked, parseInput(op, input))
        : wishes.submitForMachine(op, asked, parseInput(op, input))
    return { done: true, ...(await done) }
  } catch (error) {
    return { refused: toRefusal(error).code }
  }
}

/** A call of this machine that another one has to carry out, and who asks. */
export interface RequestedCall extends Pick<MachineRequest, 'op' | 'id' | 'surface' | 'input'> {
  by: string
  standing: Standing
}

export class MachineRequests {
  readonly #otherMachines: OtherMachines
  readonly #machine: string | undefined

  constructor(otherMachines: OtherMachines, machine: string | undefined) {
    this.#otherMachines = otherMachines
    this.#machine = machine
  }

  /**
   * Asks another machine for a command that a rule refused here because that machine has to decide it; throws any other refusal. Resolves once that machine
   * says that the command is done. Of the machine's answer only refusal codes that we know are trusted: deciding `again` finds the reason of a refusal in the journal.
   */
  async ask(
    refused: Refusal,
    { by, standing, ...call }: RequestedCall,
    again: () => Promise<CommandReply>,
  ): Promise<RequestResult> {
    if (!elsewhereCodes.includes(refused.code)) throw new RefusalError(refused)
    const asker = { ...(by === daemonName ? {} : { name: by }), ...(seesAll({ standing }) ? { seesAll: true } : {}) }
    const request: MachineRequest = { ...call, ...asker }
    const machine = refused.details.machine as string
    const otherMachines = this.#otherMachines
    if (!otherMachines.isReached(machine)) throw new RefusalError('machine.away', awayDetails(otherMachines, machine))
    const answer = (await otherMachines.ask(machine, request).catch(() => undefined)) as
      | Record<string, unknown>
      | undefined
    if (!answer) throw new RefusalError('request.unanswered', { machine })
    if (answer.done === true) return { ...answerTextDeliveryOf(answer), isOver: answer.isOver === true }
    const code: RefusalCode = isRefusalCode(answer.refused) ? answer.refused : 'fault'
    // An older daemon on the other machine does not know the request, so the rule's own refusal is thrown.
    if (code === 'operation.unknown') throw new RefusalError(refused)
    if (code === 'request.denied')
      throw new RefusalError(code, { machine, from: this.#machine, kind: permissionKinds[call.op] })
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

function answerTextDeliveryOf({ wordsReach, wordsAs }: Record<string, unknown>): AnswerTextDelivery {
  const isKnown = wordsAs === 'answer' || wordsAs === 'message'
  return { wordsReach: wordsReach === true, ...(isKnown ? { wordsAs } : {}) }
}
