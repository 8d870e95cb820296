// Answers an ACP agent's requests for permission. Requests for our own tools are granted automatically; every other one goes into the queue of
// approvals and is shown in the transcript, and the first answer counts. What a choice means is taken from its kind, never from its label alone. An
// edit of a file that another agent is editing is denied before a person is asked, and also if such an edit has begun by the time of the answer.

import { cleanLine } from '@agent-relay/sdk/internal/clean'
import { permissionPhrase } from '@agent-relay/sdk/internal/permission-text'
import type { ApprovalChoice } from '@agent-relay/sdk/protocol'
import { type ApprovalEnd, type ApprovalQueue, copyBeginning } from '../../broker/approvals/approval-runtime.ts'
import type { EditedFiles } from '../../broker/claims/claim-runtime.ts'
import type { AcpHarness } from '../harness/harness.ts'
import type { RpcReply } from '../json-rpc.ts'
import { AcpToolCalls } from './acp-calls.ts'
import { AcpEdits, type AcpEditsOptions } from './acp-edits.ts'
import { type PermissionOptionKind, PermissionRequest, rpcErrorCodes, type ToolCall } from './acp-schemas.ts'
import type { Transcript } from './transcript.ts'

export interface AcpPermissionsOptions extends AcpEditsOptions {
  harness: AcpHarness
  approvals: ApprovalQueue
}

/** Maximum number of requests that wait at the same time; further ones are denied. */
export const waitingPermissionsMax = 100
/** Maximum number of characters shown in the transcript of the action that needs permission. */
const shownCharsMax = 300

interface AskedPermission {
  source: string
  tool: string
  /** The beginning of the action's text; the whole text may have megabytes. */
  input: string
  options: PermissionRequest['options']
  edit: EditedFiles | undefined
  reply: RpcReply
}

export class AcpPermissions {
  readonly #options: AcpPermissionsOptions
  readonly #transcript: Transcript
  /** Requests that wait for an answer; the first is the one that a person is shown. */
  readonly #asked: AskedPermission[] = []
  /** Requests for which it is still being checked whether another agent is editing their files. */
  readonly #checking = new Set<AskedPermission>()
  readonly edits: AcpEdits
  readonly #calls: AcpToolCalls
  #count = 0

  constructor(options: AcpPermissionsOptions, transcript: Transcript) {
    this.#options = options
    this.edits = new AcpEdits(options)
    this.#calls = new AcpToolCalls(options.row.cwd)
    this.#transcript = transcript
  }

  /** Why the agent waits; undefined if it does not wait. */
  get waitReason(): string | undefined {
    const [first] = this.#asked
    return first && `it ${shownText(first)}`
  }

  ask(params: unknown, reply: RpcReply): void {
    const request = PermissionRequest.safeParse(params)
    if (!request.success) return reply.error(rpcErrorCodes.params, 'this is not a permission that can be answered')
    const { toolCall, options } = request.data
    const { id, title, kind, input } = this.#calls.merge(toolCall)
    const source = `${this.#options.row.id}/acp/${++this.#count}`
    const shown = copyBeginning(input, shownCharsMax)
    const asked = {
      source,
      tool: kind || 'tool',
      input: shown,
      options,
      edit: this.edits.editOfRequest(toolCall),
      reply,
    }
    const isOwn = this.#options.harness.isOwnTool({ id, title, kind })
    const allowed = isOwn && (optionIdOf(asked, 'allow_once') ?? optionIdOf(asked, 'allow_always'))
    if (allowed) return choose(asked, allowed)
    if (this.#asked.length + this.#checking.size >= waitingPermissionsMax) return deny(asked)
    this.#unlessClaimed(asked, () => {
      this.#asked.push(asked)
      if (this.#asked.length === 1) this.#show(asked)
      this.#queue(asked, input)
      this.#options.listener.onChange()
    })
  }

  /** Keeps what is said of a tool call: a later request for permission may say less about it. */
  onUpdate(toolCall: ToolCall): void {
    this.#calls.merge(toolCall)
    this.edits.onUpdate(toolCall)
  }

  onTurnEnd(): void {
    this.#calls.clear()
    this.edits.onTurnEnd()
  }

  /** Calls `goOn` unless another agent is editing the files; otherwise denies the request. */
  #unlessClaimed(asked: AskedPermission, goOn: () => void): void {
    if (!asked.edit) return goOn()
    this.#checking.add(asked)
    void this.edits.denialOf(asked.edit).then((text) => {
      // The turn may have ended during the check, which has closed the request.
      if (!this.#checking.delete(asked)) return
      if (text === undefined) return goOn()
      deny(asked)
      this.#transcript.printLines(`${shownText(asked)}: denied. ${text}`)
    })
  }

  /** Takes a number that a person typed as the choice with that number. Returns false if the text is not the number of a choice. */
  answerTyped(text: string): boolean {
    const [first] = this.#asked
    const option = first?.options[Number(/^\d{1,2}$/.exec(text)?.[0]) - 1]
    if (!first || !option) return false
    this.#options.approvals.close(first.source, 'terminal', kindOf(option))
    this.#answer(first, option)
    return true
  }

  /** Closes all requests, because their turn or the program has ended. */
  closeAll(how: 'cancelled' | 'gone'): void {
    const all = [...this.#checking, ...this.#asked.splice(0)]
    this.#checking.clear()
    for (const { source, reply } of all) {
      this.cancel(reply)
      this.#options.approvals.close(source, how)
    }
  }

  /** Answers a request with `cancelled`, because its turn is over and nobody will decide. */
  cancel(reply: RpcReply): void {
    reply.result({ outcome: { outcome: 'cancelled' } })
  }

  #queue(asked: AskedPermission, input: string): void {
    const { row, approvals } = this.#options
    const { source, tool, options } = asked
    const choices = options.map((option, at): ApprovalChoice => {
      return { id: String(at + 1), kind: kindOf(option), label: option.name }
    })
    const about = { source, agent: row.name, vendor: row.cli, tool, input, directory: row.cwd, choices }
    void approvals.open(about).then((end) => this.#onEnd(asked, end))
  }

  #onEnd(asked: AskedPermission, end: ApprovalEnd): void {
    const { options } = asked
    if (!this.#asked.includes(asked)) return
    const option = end.how === 'answered' ? options[Number(end.choice) - 1] : undefined
    this.#answer(asked, option)
  }

  /** Answers a request with one of its choices. Without a choice the request is denied: it could not be put into the queue, or was closed there. */
  #answer(asked: AskedPermission, option?: PermissionRequest['options'][number]): void {
    const at = this.#asked.indexOf(asked)
    this.#asked.splice(at, 1)
    this.#transcript.printLines(`${shownText(asked)}: ${cleanLine(option?.name ?? 'denied')}`)
    if (!option) deny(asked)
    else if (!option.kind.startsWith('allow')) choose(asked, option.optionId)
    // The files are checked again, since the agent's claim on them may have expired before the answer.
    else this.#unlessClaimed(asked, () => choose(asked, option.optionId))
    if (at === 0 && this.#asked[0]) this.#show(this.#asked[0])
    this.#options.listener.onChange()
  }

  #show(asked: AskedPermission): void {
    const choices = asked.options.map(({ name }, at) => `  ${at + 1}  ${cleanLine(name)}`)
    const more = this.#asked.length > 1 ? ` (${this.#asked.length - 1} more wait)` : ''
    this.#transcript.printLines([`It ${shownText(asked)}${more}`, ...choices].join('\n'), 'strong')
    this.#transcript.printLines('Type a number and press Enter.')
  }
}

/**
 * Returns the kind of a choice. A permission that lasts longer than the session is not `always` but `other`, since the program would write it into a
 * file.
 */
function kindOf({ kind, name }: PermissionRequest['options'][number]): ApprovalChoice['kind'] {
  if (kind === 'allow_once') return 'allow'
  if (kind === 'reject_once') return 'deny'
  return kind === 'allow_always' && /\bsession\b/i.test(name) ? 'always' : 'other'
}

function shownText(asked: AskedPermission): string {
  const { wants, rest } = permissionPhrase(asked)
  return cleanLine(rest === asked.input ? `${wants}: ${rest}` : wants)
}

function optionIdOf({ options }: AskedPermission, kind: PermissionOptionKind): string | undefined {
  return options.find((option) => option.kind === kind)?.optionId
}

function choose({ reply }: AskedPermission, optionId: string): void {
  reply.result({ outcome: { outcome: 'selected', optionId } })
}

function deny(asked: AskedPermission): void {
  const denied = optionIdOf(asked, 'reject_once')
  if (denied === undefined) asked.reply.error(rpcErrorCodes.failed, 'nobody has allowed it')
  else choose(asked, denied)
}
