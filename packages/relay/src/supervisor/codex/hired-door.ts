// The own door of a hired Codex: the app-server that runs beside its terminal. It tells what Codex asks leave for as a whole, where the terminal
// shows only a part.

import { realpath } from 'node:fs/promises'
import type { Dialog } from '../dialog.ts'
import type { OwnDoor } from '../doors/own-door.ts'
import { AppServer } from './app-server.ts'
import { CodexQuestions } from './questions.ts'

/** `cwd`: where the worker is. */
export function codexDoor(socket: string, cwd: string): OwnDoor {
  const door = new CodexDoor(socket, cwd)
  return { asked: () => door.asked() }
}

class CodexDoor {
  readonly #socket: string
  readonly #cwd: string
  readonly #questions = new CodexQuestions()
  #server: AppServer | undefined

  constructor(socket: string, cwd: string) {
    this.#socket = socket
    this.#cwd = cwd
  }

  /** Of the conversation that waits for an answer. */
  async asked(): Promise<Dialog | undefined> {
    const server = this.#server ?? (await this.#connect())
    const thread = this.#questions.asking ?? (await waitingIn(server))
    return thread === undefined ? undefined : this.#questions.dialog(server, thread, this.#cwd)
  }

  async #connect(): Promise<AppServer> {
    this.#server = await AppServer.connect(await realpath(this.#socket), {
      ...this.#questions.listener,
      onClose: () => {
        this.#server = undefined
        this.#questions.clear()
      },
    })
    return this.#server
  }
}

async function waitingIn(server: AppServer): Promise<string | undefined> {
  for (const id of await server.loaded()) {
    const { status } = await server.read(id)
    if (status.activeFlags?.includes('waitingOnApproval')) return id
  }
  return undefined
}
