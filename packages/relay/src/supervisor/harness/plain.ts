// Any program without MCP: nothing is injected, messages are typed, and a quiet screen is all that tells its state.

import { ctrlC, type Harness, known } from './harness.ts'

/** What all of them have in common. `args`: what makes the program a conversation. */
function typed(args: readonly string[] = []): Omit<Harness, 'name' | 'program' | 'install'> {
  return {
    hasMcp: false,
    typing: { enterDelayMs: 100 },
    exitKeys: [ctrlC, ctrlC],
    toolPrefix: '',
    bringsOwnMcp: () => false,
    read: () => undefined,
    launch: (context) => ({ args: [...args, ...context.args], env: {} }),
  }
}

/** Its command is the user's. */
export const plain: Harness = { name: 'plain', program: undefined, install: '', ...typed() }

export const goose: Harness = {
  ...typed(['session']),
  ...known('goose'),
  install: 'brew install block-goose-cli',
}

export const aider: Harness = { ...typed(), ...known('aider'), install: 'python -m pip install aider-chat' }
