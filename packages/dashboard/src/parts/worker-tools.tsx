// Buttons that interrupt, pause, resume, release, retry or archive an agent, in its row and in its own view. An action that cannot be undone asks once
// more in the same place.

import type { Agent } from '@agent-relay/sdk/internal/page'
import { useEffect, useState } from 'react'
import type { ListedWorker } from '../store/fleet.ts'
import { useWorkplace } from '../store/shown-workplace.ts'
import { runWorkerCommand, type WorkerCommand, workerCommands } from '../store/worker-commands.ts'
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
  const [asked, setAsked] = useState<WorkerCommand>()
  useEffect(() => {
    if (!asked) return
    const timer = setTimeout(() => setAsked(undefined), sureMs)
    return () => clearTimeout(timer)
  }, [asked])
  const workplace = useWorkplace()
  const press = (command: WorkerCommand): void => {
    if (command.isFinal && asked !== command) return setAsked(command)
    setAsked(undefined)
    onFailure(undefined)
    runWorkerCommand(command, agent.name, workplace).catch((error) => onFailure(error.message))
  }
  return (
    <span className="program-tools">
      {workerCommands(agent, worker).map((command) => (
        <Button
          key={command.name}
          className={`quiet ${command.isFinal ? 'danger' : ''}`}
          onClick={() => press(command)}
        >
          {asked === command ? `Really ${command.name.toLowerCase()}?` : command.name}
        </Button>
      ))}
    </span>
  )
}
