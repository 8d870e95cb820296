// Buttons that interrupt, pause, resume, release, retry or archive an agent, in its row and in its own view. An action that cannot be undone asks once
// more in the same place.

import type { Agent } from '@agent-relay/sdk/internal/page'
import { useEffect, useState } from 'react'
import type { ListedWorker } from '../store/fleet.ts'
import { useWorkplace } from '../store/shown-workplace.ts'
import { actsOn, perform, type WorkerAct } from '../store/worker-acts.ts'
import { Button } from './bits.tsx'
import './worker-tools.css'

/** How long the question "really?" is shown, so that a later click does not count as an answer to it. */
const sureMs = 4_000

interface WorkerToolsProps {
  agent: Agent
  worker: ListedWorker | undefined
  onFailure(why: string | undefined): void
}

export function WorkerTools({ agent, worker, onFailure }: WorkerToolsProps) {
  const [asked, setAsked] = useState<WorkerAct>()
  useEffect(() => {
    if (!asked) return
    const timer = setTimeout(() => setAsked(undefined), sureMs)
    return () => clearTimeout(timer)
  }, [asked])
  const workplace = useWorkplace()
  const press = (act: WorkerAct): void => {
    if (act.isFinal && asked !== act) return setAsked(act)
    setAsked(undefined)
    onFailure(undefined)
    perform(act, agent.name, workplace).catch((error) => onFailure(error.message))
  }
  return (
    <span className="program-tools">
      {actsOn(agent, worker).map((act) => (
        <Button key={act.name} className={`quiet ${act.isFinal ? 'danger' : ''}`} onClick={() => press(act)}>
          {asked === act ? `Really ${act.name.toLowerCase()}?` : act.name}
        </Button>
      ))}
    </span>
  )
}
