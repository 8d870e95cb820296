// The contract between the broker, which keeps what is wished of workers, and what runs their programs.

import type { WorkerReport } from '../core/workers.ts'
import type { Sink, Watch } from './sink.ts'

export interface WorkerRequest {
  name: string
  parent: string
  cli: string
  command?: string[]
  args?: string[]
  task?: string
  model?: string
  cwd?: string
}

export interface Checked {
  cwd: string
  /** The caller's, and before them what the project's configuration adds. */
  args: string[]
  isInjected: boolean
  note?: string
}

export interface WorkerRuntime {
  /** Refuses what cannot be started before anything is written: a CLI that is not there, a directory that is none. */
  check(request: WorkerRequest): Promise<Checked>
  /** Rows have changed: compare what is wished with what runs. A hint; a lost one is made good by the next. */
  wake(): void
  /** Undefined where its program does not run. */
  terminal(id: string): WorkerTerminal | undefined
}

export interface WorkerTerminal {
  /** As far as the screen tells just now. */
  activity(): 'busy' | 'idle' | undefined
  screen(lines?: number): Promise<string>
  /** All that is kept of what it printed ({data, isPast: true}), then what it prints ({data}); ends with `worker.exited` when it exits. */
  follow(sink: Sink): Pick<Watch, 'drained' | 'stop'>
  type(data: string): void
  resize(cols: number, rows: number): void
}

/** What the daemon tells a worker's parent. */
export function reportText(name: string, { status, reason, screen }: Omit<WorkerReport, 'id'>): string | undefined {
  const why = reason === undefined ? '' : `: ${reason}`
  switch (status) {
    case 'ready':
      return `Worker "${name}" is ready.`
    case 'blocked':
      return `Worker "${name}" is blocked${why}. Somebody must look: agent-relay attach ${name}${shown(screen)}`
    case 'exited':
      return `Worker "${name}" exited${why}.${shown(screen)}`
    default:
      return undefined
  }
}

export function notReadyText(name: string, ms: number, screen: string): string {
  return `Worker "${name}" is not ready after ${ms / 1000} s. To look: agent-relay attach ${name}${shown(screen)}`
}

function shown(screen: string | undefined): string {
  return screen === undefined || screen.trim() === '' ? '' : `\nIts last screen:\n${screen}`
}
