// Checks edits of workers that a protocol such as ACP reports, against the same claims (files that an agent is editing) as edits that a hook reports. Such a
// protocol can deny an edit but not say why, so the reason is sent as a message.

import { createHash } from 'node:crypto'
import type { WorkspaceCore } from '../call.ts'
import { tellAgent } from '../commands.ts'
import type { EditChecker, EditedFiles } from './claim-runtime.ts'
import type { Claims } from './claims.ts'

/** Time after which a worker's edit goes ahead if its claims are still not checked. It may be long, because the agent waits for a person anyway. */
const verdictMs = 10_000

type EditWorkspace = Pick<WorkspaceCore, 'engine' | 'clock' | 'ids'> & { claims: Claims }

export class WorkerEdits implements EditChecker {
  readonly editsOf: EditChecker['editsOf']
  readonly #workspace: EditWorkspace
  readonly #socketPath: string

  constructor(workspace: EditWorkspace, socketPath: string, editsOf: EditChecker['editsOf']) {
    this.#workspace = workspace
    this.#socketPath = socketPath
    this.editsOf = editsOf
  }

  async check(agent: string, edit: EditedFiles): Promise<string | undefined> {
    const { claims, clock, ids } = this.#workspace
    let isLate = false
    const decided = claims.edit({ by: agent, id: ids('d') }, edit, this.#socketPath).then(async (verdict) => {
      if (!verdict.isDenied) return undefined
      if (isLate) await this.recordEdit(agent, edit)
      else this.#tell(agent, verdict.text as string)
      return verdict.text
    })
    const late = new Promise<undefined>((resolve) => {
      const alarm = clock.after(verdictMs, () => {
        isLate = true
        resolve(undefined)
      })
      void decided.finally(() => alarm.cancel()).catch(() => {})
    })
    // Lets the edit go ahead if the workspace cannot decide, for example while it is being closed.
    return Promise.race([decided, late]).catch(() => undefined)
  }

  recordEdit(agent: string, edit: EditedFiles): Promise<void> {
    return this.#workspace.claims.recordEdit(agent, edit)
  }

  /** Sends the agent the reason why its edit was denied. The same text is stored only once. */
  #tell(agent: string, body: string): void {
    const cause = `claim/${agent}/denied/${createHash('sha256').update(body).digest('hex')}`
    void tellAgent(this.#workspace, agent, body, cause)
  }
}
